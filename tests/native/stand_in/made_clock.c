/* To be preloaded: a clock that goes on by 50 ns with each reading. What a program spins for takes
 * exactly as long as was planted, whoever else has the cores.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STEP = 50 };
static _Atomic int64_t now = 1000000000;

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_RAW)
    return (int)syscall(SYS_clock_gettime, clock, time);
  const int64_t ns = atomic_fetch_add(&now, STEP);
  *time = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}
