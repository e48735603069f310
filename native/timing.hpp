// How a pattern is run and timed.
#pragma once

#include <cstdint>
#include <span>

#include "clock.hpp"
#include "endpoint.hpp"

namespace halftrip {

// Both ends are given the same `untimed` and `iterations`. `untimed` iterations go first, so that
// both ends are in the loop. Then timestamps[0] is taken, and after every `iterations` further ones
// the next: sample i lasts from timestamps[i] to timestamps[i + 1].
//
// receive_times[i] is the time from timestamps[i] until the sample's last receive completed. It is
// empty where nobody asks for it. It exists only in patterns in which an iteration goes on after
// its last receive, and only where a sample is one iteration.
//
// With `arrivals`, the responder of a pattern whose messages take turns takes a timestamp as soon
// as a message has arrived, before it replies: timestamps[i] that of sample i, timestamps[0] that
// of the last untimed iteration, of which there is at least one. Only where a sample is one
// iteration.
struct Timing {
  std::int64_t untimed, iterations;
  std::span<Ticks> timestamps;
  std::span<Ticks> receive_times;
  AnyClock clock;
  bool arrivals = false;
};

// How often a sample reads the clock. Its beginning is the end of the one before, so it costs one
// read, at its end; with receive times another, when its last receive has completed. With arrivals
// the responder's read is the second, as the initiator waits for it.
inline constexpr int kClockReads = 1, kClockReadsWithReceiveTimes = 2, kClockReadsWithArrivals = 2;

template <class Iteration>
void repeat(std::int64_t count, Iteration& iteration) {
  for (std::int64_t i = 0; i < count; ++i) iteration();
}

// Calls goes_on(i) when timestamps[i] has been taken, and ends where it returns false. Returns how
// many timestamps there are.
template <class Iteration, class GoesOn>
std::size_t timed_while(const Timing& timing, Iteration iteration, GoesOn goes_on) {
  // One loop for both: where the untimed iterations were copies of the timed ones, the first sample
  // would meet code that no cache and no branch predictor knows yet.
  std::int64_t count = timing.untimed;
  std::size_t taken = 0;
  while (taken < timing.timestamps.size()) {
    repeat(count, iteration);
    timing.timestamps[taken] = timing.clock.now();
    if (!goes_on(taken++)) break;
    count = timing.iterations;
  }
  return taken;
}

// Calls after(i) when timestamps[i] has been taken.
template <class Iteration, class After>
void timed(const Timing& timing, Iteration iteration, After after) {
  timed_while(timing, iteration, [&](std::size_t i) {
    after(i);
    return true;
  });
}

template <class Iteration>
void timed(const Timing& timing, Iteration iteration) {
  timed(timing, iteration, [](std::size_t) {});
}

// The same with something before and after each iteration, meanwhile the clock stands still:
// timestamps[i] is the time that all iterations up to then have taken, counted from timestamps[0].
// So the clock is read twice for each iteration, and one of these reads is part of its time.
template <class Before, class Iteration, class After>
void timed_without(const Timing& timing, Before before, Iteration iteration, After after) {
  Ticks stopped_at = timing.clock.now(), stopped_for = 0;
  auto all = [&] {
    before();
    stopped_for += timing.clock.now() - stopped_at;
    iteration();
    stopped_at = timing.clock.now();
    after();
  };
  timed(timing, all, [&](std::size_t i) {
    // The untimed iterations do not count.
    if (i == 0) stopped_for = 0;
    timing.timestamps[i] = stopped_at - stopped_for;
  });
}

// The same as timed() for patterns that call received() when the last receive of an iteration has
// completed.
template <class Pattern, class E>
void timed_with_receive_times(E& endpoint, Buffers& buffers, const Timing& timing) {
  Ticks received_at = 0;
  timed(
      timing,
      [&] { Pattern::initiate(endpoint, buffers, [&] { received_at = timing.clock.now(); }); },
      [&](std::size_t i) {
        if (i > 0) timing.receive_times[i - 1] = received_at - timing.timestamps[i - 1];
      });
}

// Whether both ends of a pattern can say when their last receive completed.
template <class Pattern>
constexpr bool has_receive_times = requires { Pattern::has_receive_times; };

// Whether the responder of a pattern can say when each message arrived.
template <class Pattern, class E>
constexpr bool has_arrivals = requires(E& endpoint, Buffers& buffers, void (*received)()) {
  Pattern::respond(endpoint, buffers, received);
};

// Whether the responder of a pattern takes no part in its iterations.
template <class Pattern>
constexpr bool is_passive = requires { Pattern::passive; };

// Whether both ends of a pattern have to prepare their memory before the first iteration, and to
// wait for each other after the last one.
template <class Pattern>
constexpr bool is_prepared = requires { Pattern::prepared; };

// Returns when all that this end has put is in the other one's memory.
template <PolledEndpoint E>
void finish(E& endpoint) {
  endpoint.complete();
  endpoint.flush();
}

// Whether both ends do the same.
template <class Pattern>
constexpr bool is_symmetric = requires { Pattern::symmetric; };

// How many iterations both ends make, the untimed ones included.
inline std::int64_t iteration_count(const Timing& timing) {
  return timing.untimed +
         timing.iterations * (static_cast<std::int64_t>(timing.timestamps.size()) - 1);
}

template <class Pattern, class E>
void initiate(E& endpoint, Buffers& buffers, const Timing& timing) {
  check_buffers(endpoint, buffers);
  if constexpr (has_receive_times<Pattern>) {
    if (!timing.receive_times.empty())
      return timed_with_receive_times<Pattern>(endpoint, buffers, timing);
  }
  if constexpr (is_prepared<Pattern>) Pattern::prepare(buffers);
  if constexpr (is_passive<Pattern> || is_prepared<Pattern>) recv_ack(endpoint);
  timed(timing, [&] { Pattern::initiate(endpoint, buffers); });
  if constexpr (is_prepared<Pattern>) finish(endpoint);
  if constexpr (is_passive<Pattern> || is_prepared<Pattern>) send_ack(endpoint);
  // A flush may need the other end in a call.
  if constexpr (is_prepared<Pattern>) recv_ack(endpoint);
}

// The responder's part with arrivals.
template <class Pattern, class E>
void respond_with_arrivals(E& endpoint, Buffers& buffers, const Timing& timing) {
  std::int64_t count = timing.untimed;
  for (Ticks& timestamp : timing.timestamps) {
    auto iteration = [&] {
      Pattern::respond(endpoint, buffers, [&] { timestamp = timing.clock.now(); });
    };
    repeat(count, iteration);
    count = 1;
  }
}

// The other end. Unless asked for arrivals, it takes timestamps only in patterns whose two ends do
// not wait for each other after every message: elsewhere its clock reads would add to what the
// initiator times.
template <class Pattern, class E>
void respond(E& endpoint, Buffers& buffers, const Timing& timing) {
  if constexpr (is_passive<Pattern>) {
    send_ack(endpoint);
    recv_ack(endpoint);
  } else if constexpr (is_symmetric<Pattern>) {
    initiate<Pattern>(endpoint, buffers, timing);
  } else {
    check_buffers(endpoint, buffers);
    if constexpr (has_arrivals<Pattern, E>) {
      if (timing.arrivals) return respond_with_arrivals<Pattern>(endpoint, buffers, timing);
    }
    if constexpr (is_prepared<Pattern>) {
      Pattern::prepare(buffers);
      send_ack(endpoint);
    }
    auto iteration = [&] { Pattern::respond(endpoint, buffers); };
    if constexpr (Pattern::responder_timed) {
      timed(timing, iteration);
    } else {
      repeat(iteration_count(timing), iteration);
    }
    if constexpr (is_prepared<Pattern>) {
      finish(endpoint);
      recv_ack(endpoint);
      send_ack(endpoint);
    }
  }
}

}  // namespace halftrip
