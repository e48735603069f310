/* Each rank sends a message of the given size in bytes to each other one: in round k of n - 1, rank
   r sends to r + k and receives from r - k. Prints how long the slowest rank took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) { /* smpi_all_pairs SIZE */
  int rank, ranks, size = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *out = calloc(size + 1, 1), *in = calloc(size + 1, 1);
  double begin = MPI_Wtime();
  for (int round = 1; round < ranks; ++round) {
    int to = (rank + round) % ranks, from = (rank - round + ranks) % ranks;
    MPI_Sendrecv(out, size, MPI_BYTE, to, 0, in, size, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  double took = MPI_Wtime() - begin, longest;
  MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d bytes to each other one: %.9f s\n", ranks, size, longest);
  free(out), free(in);
  return MPI_Finalize();
}
