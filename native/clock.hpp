// The clock of timed code: how it is read, what a read costs, how fine it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace halftrip {

// Ticks count up from an arbitrary start; how long one lasts is calibrated by the caller.
using Ticks = std::int64_t;

inline Ticks nanoseconds(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<Ticks>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// CLOCK_MONOTONIC: slewed by NTP by at most 500 ppm, never stepped; one tick is one nanosecond.
struct MonotonicClock {
  static constexpr std::string_view name = "monotonic";
  static Ticks now() noexcept { return nanoseconds(CLOCK_MONOTONIC); }
};

// The processor's own counter, if it runs at one rate on every core in every power state.
struct CounterClock {
#if defined(__x86_64__)
  static constexpr std::string_view name = "tsc";

  // rdtscp waits until every earlier load has its value, so an iteration is over before its
  // timestamp is taken. Plain rdtsc is cheaper, but may be executed while the last receive is still
  // polling.
  static Ticks now() noexcept {
    unsigned core;
    return static_cast<Ticks>(__rdtscp(&core));
  }

  // CPUID leaf 0x80000007 EDX bit 8: invariant TSC; leaf 0x80000001 EDX bit 27: rdtscp
  // (Intel SDM vol. 3 ch. 17.17 and AMD APM vol. 3 appendix E).
  static bool exists() noexcept {
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8))) return false;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1u << 27));
  }
#elif defined(__aarch64__)
  static constexpr std::string_view name = "cntvct";

  static Ticks now() noexcept {
    Ticks t;
    // isb: otherwise the counter may be read ahead. It waits for earlier branches, and so for the
    // load that ended a wait, as that decides one; not for stores.
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
    return t;
  }

  // The generic timer is part of the architecture, has one rate, and does not stop.
  static bool exists() noexcept { return true; }
#else
  static constexpr std::string_view name = "none";
  static Ticks now() noexcept { return MonotonicClock::now(); }
  static bool exists() noexcept { return false; }
#endif
};

// Either of the two, chosen at run time, for all timed code. A sample takes one or two timestamps,
// so the branch does not count, and a kernel for each clock would be twice the code.
class AnyClock {
 public:
  explicit AnyClock(bool counter) noexcept : counter_(counter) {}
  Ticks now() const noexcept { return counter_ ? CounterClock::now() : MonotonicClock::now(); }

 private:
  bool counter_;
};

// One moment, read from two clocks.
struct ClockPair {
  Ticks ticks;
  Ticks raw_ns;  // CLOCK_MONOTONIC_RAW
  Ticks spread;  // ticks between the two reads around raw_ns: the pair's uncertainty
};

// The tightest of `tries` readings of CLOCK_MONOTONIC_RAW between two readings of Clock.
template <class Clock>
ClockPair clock_pair(int tries) noexcept {
  ClockPair best{0, 0, std::numeric_limits<Ticks>::max()};
  for (int i = 0; i < tries; ++i) {
    const Ticks before = Clock::now();
    const Ticks raw = nanoseconds(CLOCK_MONOTONIC_RAW);
    const Ticks after = Clock::now();
    if (after - before < best.spread) best = {before + (after - before) / 2, raw, after - before};
  }
  return best;
}

struct ClockFigures {
  double cost;       // ticks that one read takes, back to back
  Ticks resolution;  // the smallest difference between two reads that differ, ticks
};

template <class Clock>
ClockFigures clock_figures() noexcept {
  constexpr int kReads = 1000, kRounds = 20;
  ClockFigures figures{std::numeric_limits<double>::max(), std::numeric_limits<Ticks>::max()};
  for (int round = 0; round < kRounds; ++round) {
    const Ticks start = Clock::now();
    Ticks last = start;
    for (int i = 0; i < kReads; ++i) {
      const Ticks now = Clock::now();
      if (now > last) figures.resolution = std::min(figures.resolution, now - last);
      last = now;
    }
    figures.cost = std::min(figures.cost, static_cast<double>(last - start) / kReads);
  }
  return figures;
}

}  // namespace halftrip
