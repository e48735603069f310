// What the processor, or the kernel, counts of one thread: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace halftrip {

// Counts for the thread that makes it, from then on.
class Counter {
 public:
  // In user mode alone, or everywhere, in the kernel, too, which may not be allowed.
  Counter(std::uint32_t kind, std::uint64_t config, bool everywhere) {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = kind;
    wanted.config = config;
    wanted.exclude_kernel = !everywhere;
    wanted.exclude_hv = !everywhere;
    wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long opened = ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (opened < 0) throw std::system_error(errno, std::generic_category());
    descriptor_ = static_cast<int>(opened);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { ::close(descriptor_); }

  // The count so far, for how long it was wanted, ns, and for how long of that it ran: where
  // counters are more than the processor has, each runs a part of the time.
  std::array<std::uint64_t, 3> read() const {
    std::array<std::uint64_t, 3> found{};
    const ssize_t size = ::read(descriptor_, found.data(), sizeof found);
    if (size < 0) throw std::system_error(errno, std::generic_category());
    if (size != sizeof found) throw std::system_error(EIO, std::generic_category());
    return found;
  }

 private:
  int descriptor_;
};

}  // namespace halftrip
