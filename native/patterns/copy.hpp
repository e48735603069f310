// A copy within one rank: the bound on every path that has to copy.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "../clock.hpp"

namespace halftrip {

// stamps[i] is taken after `batch` copies each, as ping() does.
template <class Clock>
void copy(std::span<const std::byte> from, std::byte* to, std::int64_t batch,
          std::span<Ticks> stamps) {
  for (Ticks& stamp : stamps) {
    if (&stamp != stamps.data()) {
      for (std::int64_t i = 0; i < batch; ++i) {
        std::memcpy(to, from.data(), from.size());
        // The copies write the same bytes again; without this they could be merged into one.
        asm volatile("" ::: "memory");
      }
    }
    stamp = Clock::now();
  }
}

}  // namespace halftrip
