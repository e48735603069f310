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

// Another thread sets it once, when this process has to give up. Every wait checks it; a polling
// wait does so every 4,096 polls (32 where ranks share a core). Two ranks that never wait for each
// other do not check it, so the caller keeps each call into timed code short (LONGEST_CALL_NS in
// sampler.py).
inline std::atomic<bool> stop_requested{false};

inline void check_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) [[unlikely]]
    throw Stopped{};
}

// The processor's own short pause. One takes from 10 ns (Zen) over 15 (Sapphire Rapids) to 45
// (Skylake).
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

inline constexpr int kMostPollPause = 16;

// How many relax() lie between two polls, from 1 to kMostPollPause. The default makes 30 to 60 ns
// on recent processors. Whoever measures sets it, to the same value at both ends, and records it:
// see calibrate_poll_pause(). Where the two cores are threads of one, a single pause suits; see
// CacheLineProbe.
inline std::atomic<int> poll_pause{3};

// How many relax() make about 35 ns: long enough for a peer to answer before its cache line is
// polled again. Pure measurement; takes up to half a millisecond. Call it on the core that will
// poll. The fastest of many short rounds counts, so that what interrupts some of them does not
// matter; a busy sibling of the core shows all the same.
inline int calibrate_poll_pause() noexcept {
  constexpr Ticks kPause_ns = 35;
  constexpr int kRelaxes = 200, kRounds = 50;
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int round = 0; round < kRounds; ++round) {
    const Ticks start = MonotonicClock::now();
    for (int i = 0; i < kRelaxes; ++i) relax();
    best = std::min(best, MonotonicClock::now() - start);
  }
  const Ticks count = 1 + kPause_ns * kRelaxes / std::max<Ticks>(best, 1);
  return static_cast<int>(std::clamp<Ticks>(count, 1, kMostPollPause));
}

// What a core does between two polls. A poll that misses takes the cache line away from the writer,
// so a reader that polls without a pause delays the very store that it waits for. And a core with
// many loads of the line in flight discards all of them when the line changes.
inline void pause_between_polls() noexcept {
  const int pause = poll_pause.load(std::memory_order_relaxed);
  for (int i = 0; i < pause; ++i) relax();
}

// Polls until ready() is true. `yields` gives the core away between polls, for ranks that share
// one: a polling rank would otherwise keep its peer waiting for a whole time slice.
template <class Ready>
[[gnu::always_inline]] inline void spin_until(bool yields, Ready ready) {
  const int polls = yields ? 32 : 4096;
  for (;;) {
    for (int i = 0; i < polls; ++i) {
      if (ready()) return;
      pause_between_polls();
    }
    check_stop();
    if (yields) sched_yield();
  }
}

}  // namespace halftrip
