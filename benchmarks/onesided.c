/* Windows of one-sided messages over MPI, as in osu_put_bw and osu_get_bw: 64 messages, each in a
   place of its own at both ends, then a flush; the target waits. Prints, for each given size, the
   size, and the median and the mean time of a message in microseconds. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WINDOW = 64 };

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

static void exchange(int puts, char* own, int size, MPI_Win window, int count) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < WINDOW; ++j) {
      MPI_Aint at = (MPI_Aint)j * size;
      if (puts)
        MPI_Put(own + at, size, MPI_BYTE, 1, at, size, MPI_BYTE, window);
      else
        MPI_Get(own + at, size, MPI_BYTE, 1, at, size, MPI_BYTE, window);
    }
    MPI_Win_flush(1, window);
  }
}

int main(int argc, char** argv) { /* onesided put|get CORE CORE SIZE... */
  int rank, puts = strcmp(argv[1], "put") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(atoi(argv[2 + rank]), &core);
  sched_setaffinity(0, sizeof core, &core);
  for (int arg = 4; arg < argc; ++arg) {
    int size = atoi(argv[arg]), batch = size < 8192 ? 4 : 1,
        samples = size < 8192 ? 10000 : (256 << 20) / (size * WINDOW) + 20;
    size_t room = ((size_t)size * WINDOW + 4095) & ~4095UL;
    char *own = aligned_alloc(4096, room), *exposed;
    double* times = malloc(samples * sizeof *times);
    MPI_Win window;
    madvise(own, room, MADV_NOHUGEPAGE);
    memset(own, 1, room);
    MPI_Win_allocate(room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    memset(exposed, 1, room);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      exchange(puts, own, size, window, 10 * batch);
      double last = MPI_Wtime(), first = last;
      for (int i = 0; i < samples; ++i) {
        exchange(puts, own, size, window, batch);
        double now = MPI_Wtime();
        times[i] = (now - last) / batch / WINDOW * 1e6, last = now;
      }
      qsort(times, samples, sizeof *times, compare);
      double mean = (last - first) / samples / batch / WINDOW * 1e6;
      printf("%d %.5f %.5f\n", size, times[samples / 2], mean);
      MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(own), free(times);
  }
  return MPI_Finalize();
}
