// A clock_gettime() that counts how often CLOCK_MONOTONIC is read; to be preloaded.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {
std::atomic<long> reads{0};
}

extern "C" {

long monotonic_reads() { return reads.load(); }

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock == CLOCK_MONOTONIC) reads.fetch_add(1);
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}
}
