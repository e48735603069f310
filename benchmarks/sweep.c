/* A plain latency sweep over MPI with the counts of OSU's osu_latency: 1 B to 4 MiB, or to the size
   given, for each size 100 untimed and 10,000 timed round trips up to 8 KiB, 10 and 1,000 above.
   Prints the size and the mean of half a round trip in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, largest = argc > 1 ? atoi(argv[1]) : 4 << 20;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *out = aligned_alloc(4096, 4 << 20), *in = aligned_alloc(4096, 4 << 20);
  memset(out, 1, 4 << 20), memset(in, 1, 4 << 20);
  for (int size = 1; size <= largest; size *= 2) {
    int untimed = size <= 8192 ? 100 : 10, timed = size <= 8192 ? 10000 : 1000;
    double began = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < untimed + timed; ++i) {
      if (i == untimed) began = MPI_Wtime();
      if (rank == 0) MPI_Send(out, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(in, size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(out, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%d %.3f\n", size, (MPI_Wtime() - began) / timed / 2 * 1e6);
  }
  MPI_Finalize();
}
