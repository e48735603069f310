// What the processor or the kernel counts for one thread: perf_event_open(2).
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace halftrip {

// Counts for the thread that constructs it, from then on.
class Counter {
 public:
  // `kind` and `config` are the call's `type` and `config`. Counts in user mode only; with
  // `everywhere`, in the kernel, too, if that is allowed. Throws std::system_error.
  Counter(std::uint32_t kind, std::uint64_t config, bool everywhere) {
    perf_event_attr requested{};
    requested.size = sizeof requested;
    requested.type = kind;
    requested.config = config;
    requested.exclude_kernel = !everywhere;
    requested.exclude_hv = !everywhere;
    requested.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long opened = ::syscall(SYS_perf_event_open, &requested, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (opened < 0) throw std::system_error(errno, std::generic_category());
    descriptor_ = static_cast<int>(opened);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { ::close(descriptor_); }

  // The count so far; for how long it has been enabled, ns; and for how long it has run, ns. Where
  // there are more counters than the processor has, each runs part of the time.
  std::array<std::uint64_t, 3> read() const {
    std::array<std::uint64_t, 3> values{};
    const ssize_t size = ::read(descriptor_, values.data(), sizeof values);
    if (size < 0) throw std::system_error(errno, std::generic_category());
    if (size != sizeof values) throw std::system_error(EIO, std::generic_category());
    return values;
  }

 private:
  int descriptor_;
};

}  // namespace halftrip
