// How timed code waits, and how a wait is told to end.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <limits>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "clock.hpp"
#include "errors.hpp"

namespace halftrip {

// Set once by another thread when this process has to give up; every wait looks at it that is not
// over at once. Two ranks that never wait for each other do not, so a call into timed code is kept
// shorter than what they have to come out (LONGEST_CALL_NS in sampler.py).
inline std::atomic<bool> stop_requested{false};

inline void check_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) [[unlikely]]
    throw Stopped{};
}

// What a core does between two polls. A poll that misses takes the line away from the writer, so a
// reader that polls without rest slows the very store that it waits for; and a core with many loads
// of the line in flight discards all of them when it changes.
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// How many relax() make about 35 ns, long enough for a peer to answer before its line is polled
// again. One takes from 10 ns (Zen) over 15 (Sapphire Rapids) to 45 (Skylake).
inline int rest_length() noexcept {
  constexpr Ticks kRest_ns = 35;
  constexpr int kRelaxes = 200, kRounds = 10;
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int round = 0; round < kRounds; ++round) {
    const Ticks start = MonotonicClock::now();
    for (int i = 0; i < kRelaxes; ++i) relax();
    best = std::min(best, MonotonicClock::now() - start);
  }
  return std::clamp(static_cast<int>(1 + kRest_ns * kRelaxes / std::max<Ticks>(best, 1)), 1, 16);
}

inline const int rest = rest_length();

// Polls until ready() is true. `yields` gives the core away between polls, for ranks that share
// one: a spinning rank would otherwise keep its peer waiting for a whole time slice.
template <class Ready>
[[gnu::always_inline]] inline void spin_until(bool yields, Ready ready) {
  const int polls = yields ? 32 : 4096;
  for (;;) {
    for (int i = 0; i < polls; ++i) {
      if (ready()) return;
      for (int r = 0; r < rest; ++r) relax();
    }
    check_stop();
    if (yields) sched_yield();
  }
}

}  // namespace halftrip
