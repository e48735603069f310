// A clock_gettime() that counts how often CLOCK_MONOTONIC is read, and a ppoll() that counts how
// long it was asked to sleep; to be preloaded.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

namespace {
std::atomic<long> reads{0}, asked_ns{0};
}

extern "C" {

long monotonic_reads() { return reads.load(); }

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock == CLOCK_MONOTONIC) reads.fetch_add(1);
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

long asked_sleep_ns() { return asked_ns.load(); }

int ppoll(pollfd* ends, nfds_t count, const timespec* limit, const sigset_t* mask) {
  asked_ns.fetch_add(limit->tv_sec * 1'000'000'000 + limit->tv_nsec);
  timespec left = *limit;
  return static_cast<int>(::syscall(SYS_ppoll, ends, count, &left, mask, _NSIG / 8));
}
}
