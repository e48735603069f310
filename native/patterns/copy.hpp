// A copy within one rank: the bound on every path that has to copy, by the processor or by the
// kernel.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

#include "../clock.hpp"

namespace halftrip {

struct MemoryCopy {
  void operator()(std::span<const std::byte> from, std::byte* to) const {
    std::memcpy(to, from.data(), from.size());
  }
};

// What messages are copied by from another process, without a copy in between: here from this one.
struct ProcessCopy {
  void operator()(std::span<const std::byte> from, std::byte* to) const {
    const iovec here{to, from.size()}, there{const_cast<std::byte*>(from.data()), from.size()};
    if (process_vm_readv(own, &here, 1, &there, 1, 0) < 0) [[unlikely]]
      throw std::system_error(errno, std::generic_category());
  }

  pid_t own = getpid();
};

// As in Timing: `copies` of them lie between two timestamps.
template <class Clock, class Copy>
void copy(Copy once, std::span<const std::byte> from, std::byte* to, std::int64_t copies,
          std::span<Ticks> timestamps) {
  for (Ticks& timestamp : timestamps) {
    if (&timestamp != timestamps.data()) {
      for (std::int64_t i = 0; i < copies; ++i) {
        once(from, to);
        // Every copy writes the same bytes; without this a compiler could merge them into one.
        asm volatile("" ::: "memory");
      }
    }
    timestamp = Clock::now();
  }
}

}  // namespace halftrip
