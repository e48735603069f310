/* Copies of a CUDA device, as written by hand, to compare halftrip with: cuMemcpyAsync between
   page-locked memory and the device's, and within the device. Each copy is timed twice: by two
   events around it, which leaves out its beginning and the wait for it, and by the host's clock
   from the call until the stream was waited for. Nothing is built against CUDA: the driver is found
   at run time. Prints, for each given size, h2d, d2h or d2d, the size, and the median times of a
   copy by events and by the clock, in nanoseconds.

   cuda_copies CORE DEVICE SIZE... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t pointer;

static void* driver;

static void* function(const char* name) {
  void* found = dlsym(driver, name);
  if (!found) fprintf(stderr, "cuda_copies: the CUDA driver has no %s\n", name), exit(1);
  return found;
}

static void check(const char* name, int code) {
  if (code) fprintf(stderr, "cuda_copies: %s: error %d\n", name, code), exit(1);
}

/* Calls a function of the driver by its name, whose arguments are of these types. */
#define CALL(name, types, ...) check(#name, ((int(*) types)function(#name))(__VA_ARGS__))

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  return (*(double*)a > *(double*)b) - (*(double*)a < *(double*)b);
}

int main(int argc, char** argv) {
  if (argc < 4) return fprintf(stderr, "usage: cuda_copies CORE DEVICE SIZE...\n"), 2;
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(atoi(argv[1]), &core);
  sched_setaffinity(0, sizeof core, &core);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return fprintf(stderr, "cuda_copies: %s\n", dlerror()), 1;

  int device;
  void *context, *stream, *start, *end;
  CALL(cuInit, (unsigned), 0);
  CALL(cuDeviceGet, (int*, int), &device, atoi(argv[2]));
  CALL(cuDevicePrimaryCtxRetain, (void**, int), &context, device);
  CALL(cuCtxSetCurrent, (void*), context);
  CALL(cuStreamCreate, (void**, unsigned), &stream, 1); /* does not wait for the default stream */
  CALL(cuEventCreate, (void**, unsigned), &start, 0);
  CALL(cuEventCreate, (void**, unsigned), &end, 0);

  /* Found before the loop, which only calls them. */
  int (*copy)(pointer, pointer, size_t, void*) = function("cuMemcpyAsync");
  int (*record)(void*, void*) = function("cuEventRecord");
  int (*synchronize)(void*) = function("cuEventSynchronize");
  int (*elapsed)(float*, void*, void*) = function("cuEventElapsedTime");
  int (*wait)(void*) = function("cuStreamSynchronize");

  for (int arg = 3; arg < argc; ++arg) {
    size_t size = strtoull(argv[arg], NULL, 10);
    int untimed = 3, samples = size < 8 << 20 ? 200 : 20;
    void* host;
    pointer one, other;
    CALL(cuMemHostAlloc, (void**, size_t, unsigned), &host, size, 0);
    CALL(cuMemAlloc_v2, (pointer*, size_t), &one, size);
    CALL(cuMemAlloc_v2, (pointer*, size_t), &other, size);
    memset(host, 1, size);
    pointer pinned = (pointer)(uintptr_t)host;
    struct {
      const char* name;
      pointer to, from;
    } kinds[] = {{"h2d", one, pinned}, {"d2h", pinned, one}, {"d2d", other, one}};
    double *by_events = malloc(samples * sizeof(double)),
           *by_clock = malloc(samples * sizeof(double));
    for (int kind = 0; kind < 3; ++kind) {
      for (int i = -untimed; i < samples; ++i) {
        double begin = now();
        check("cuMemcpyAsync", copy(kinds[kind].to, kinds[kind].from, size, stream));
        check("cuStreamSynchronize", wait(stream));
        if (i >= 0) by_clock[i] = now() - begin;
      }
      for (int i = -untimed; i < samples; ++i) {
        float ms;
        check("cuEventRecord", record(start, stream));
        check("cuMemcpyAsync", copy(kinds[kind].to, kinds[kind].from, size, stream));
        check("cuEventRecord", record(end, stream));
        check("cuEventSynchronize", synchronize(end));
        check("cuEventElapsedTime", elapsed(&ms, start, end));
        if (i >= 0) by_events[i] = ms * 1e6;
      }
      qsort(by_events, samples, sizeof(double), compare);
      qsort(by_clock, samples, sizeof(double), compare);
      printf("%s %zu %.1f %.1f\n", kinds[kind].name, size, by_events[samples / 2],
             by_clock[samples / 2]);
    }
    free(by_events);
    free(by_clock);
    CALL(cuMemFree_v2, (pointer), one);
    CALL(cuMemFree_v2, (pointer), other);
    CALL(cuMemFreeHost, (void*), host);
  }
  return 0;
}
