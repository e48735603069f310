/* Windows of messages over MPI, as written by hand and in osu_bw, to compare halftrip with: all
   messages of a window lie in one place. Prints, for each given size, the size, and the median and
   the mean time of a message in microseconds: the time of a window and its acknowledgement, divided
   by 64. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WINDOW = 64 };
static MPI_Request requests[2 * WINDOW];

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

static void exchange(int sends, int receives, int peer, char* out, char* in, int size, int count) {
  for (int i = 0; i < count; ++i) {
    int begun = 0;
    for (int j = 0; receives && j < WINDOW; ++j)
      MPI_Irecv(in, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[begun++]);
    for (int j = 0; sends && j < WINDOW; ++j)
      MPI_Isend(out, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[begun++]);
    MPI_Waitall(begun, requests, MPI_STATUSES_IGNORE);
    if (receives) MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    if (sends) MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* One more message each way. MPICH over UCX keeps messages in a ring of slots; the slot at which a
   window begins changes its time by 10 %, and would otherwise be the same in a whole launch. */
static void shift(int peer, char* out, char* in) {
  MPI_Sendrecv(out, 1, MPI_BYTE, peer, 2, in, 1, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) { /* window stream|bidirectional CORE CORE SIZE... */
  int rank, both = strcmp(argv[1], "bidirectional") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(atoi(argv[2 + rank]), &core);
  sched_setaffinity(0, sizeof core, &core);
  for (int arg = 4; arg < argc; ++arg) {
    int size = atoi(argv[arg]), batch = size < 8192 ? 4 : 1,
        samples = size < 8192 ? 10000 : (64 << 20) / size + 1;
    char *out = aligned_alloc(4096, size + 4096 & ~4095),
         *in = aligned_alloc(4096, size + 4096 & ~4095);
    double* times = malloc(samples * sizeof *times);
    madvise(out, size, MADV_NOHUGEPAGE), madvise(in, size, MADV_NOHUGEPAGE);
    memset(out, 1, size), memset(in, 1, size);
    exchange(both || rank == 0, both || rank == 1, 1 - rank, out, in, size, 10 * batch);
    double last = 0;
    for (int i = 0; i < samples; ++i) {
      if (i % 64 == 0) shift(1 - rank, out, in), last = MPI_Wtime();
      exchange(both || rank == 0, both || rank == 1, 1 - rank, out, in, size, batch);
      double now = MPI_Wtime();
      times[i] = (now - last) / batch / WINDOW * 1e6, last = now;
    }
    qsort(times, samples, sizeof *times, compare);
    double sum = 0;
    for (int i = 0; i < samples; ++i) sum += times[i];
    if (rank == 0) printf("%d %.5f %.5f\n", size, times[samples / 2], sum / samples);
    free(out), free(in), free(times);
  }
  return MPI_Finalize();
}
