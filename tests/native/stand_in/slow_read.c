/* A preload that spins for 20 us at each read of any program but a bare loop: what an instrument
   that disturbs looks like. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static void spin(void) {
  if (strcmp(program_invocation_short_name, "bare_loops") == 0) return;
  struct timespec began, now;
  clock_gettime(CLOCK_MONOTONIC, &began);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < 20000);
}

ssize_t read(int fd, void* in, size_t size) {
  static ssize_t (*next)(int, void*, size_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "read");
  const ssize_t done = next(fd, in, size);
  spin();
  return done;
}
