/* A plain ping-pong over MPI, as written by hand, to compare halftrip with. Prints, for each given
   size, the size, and the median and the mean of half a round trip in microseconds. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

static void exchange(int rank, char* out, char* in, int size, int count) {
  for (int i = 0; i < count; ++i) {
    if (rank == 0) MPI_Send(out, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) { /* pingpong CORE CORE SIZE... */
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(atoi(argv[1 + rank]), &core);
  sched_setaffinity(0, sizeof core, &core);
  for (int arg = 3; arg < argc; ++arg) {
    int size = atoi(argv[arg]), batch = size < 8192 ? 10 : 1,
        samples = size < 262144 ? 20000 : 1000;
    char *out = aligned_alloc(4096, size + 4096 & ~4095),
         *in = aligned_alloc(4096, size + 4096 & ~4095);
    double* times = malloc(samples * sizeof *times);
    madvise(out, size, MADV_NOHUGEPAGE), madvise(in, size, MADV_NOHUGEPAGE);
    memset(out, 1, size), memset(in, 1, size);
    exchange(rank, out, in, size, 100);
    double last = MPI_Wtime();
    for (int i = 0; i < samples; ++i) {
      exchange(rank, out, in, size, batch);
      double now = MPI_Wtime();
      times[i] = (now - last) / batch / 2 * 1e6, last = now;
    }
    qsort(times, samples, sizeof *times, compare);
    double sum = 0;
    for (int i = 0; i < samples; ++i) sum += times[i];
    if (rank == 0) printf("%d %.5f %.5f\n", size, times[samples / 2], sum / samples);
    free(out), free(in), free(times);
  }
  return MPI_Finalize();
}
