// A copy within one rank: the bound on every path that has to copy.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "../clock.hpp"

namespace halftrip {

// As in Timing: `copies` of them lie between two timestamps.
template <class Clock>
void copy(std::span<const std::byte> from, std::byte* to, std::int64_t copies,
          std::span<Ticks> timestamps) {
  for (Ticks& timestamp : timestamps) {
    if (&timestamp != timestamps.data()) {
      for (std::int64_t i = 0; i < copies; ++i) {
        std::memcpy(to, from.data(), from.size());
        // Every copy writes the same bytes; without this a compiler could merge them into one.
        asm volatile("" ::: "memory");
      }
    }
    timestamp = Clock::now();
  }
}

}  // namespace halftrip
