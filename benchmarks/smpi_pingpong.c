/* A ping-pong between ranks 0 and 1. Prints, for each given size in bytes, the size and half of a
   round trip in nanoseconds. For SMPI, SimGrid's MPI, whose clock is exact. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXCHANGES = 10 };

int main(int argc, char** argv) { /* smpi_pingpong SIZE... */
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int arg = 1; arg < argc && rank < 2; ++arg) {
    int size = atoi(argv[arg]), peer = 1 - rank;
    char* buffer = calloc(size + 1, 1);
    double begin = MPI_Wtime();
    for (int i = 0; i < EXCHANGES; ++i) {
      if (rank == 0) MPI_Send(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%d %.6f\n", size, (MPI_Wtime() - begin) / EXCHANGES / 2 * 1e9);
    free(buffer);
  }
  return MPI_Finalize();
}
