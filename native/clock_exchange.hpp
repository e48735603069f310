// How two hosts compare their clocks: by messages there and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "clock.hpp"
#include "endpoint.hpp"

namespace halftrip {

// An exchange of two messages, ns of CLOCK_MONOTONIC_RAW: when the first was sent and the second
// received, by the initiator's clock, and between them when the first was answered, by the other's.
struct ClockExchange {
  Ticks sent, answered, received;
};

// Makes exchanges, up to `most` and for about `longest_ns` after the first, for which the other end
// may have to wake up, and returns the one with the shortest round trip: the least disturbed says
// most of the other clock (F. Cristian, Probabilistic clock synchronization, Distributed Computing
// 3, 1989). The peer calls answer_clocks() meanwhile.
template <BlockingEndpoint E>
ClockExchange compare_clocks(E& endpoint, std::int64_t most, Ticks longest_ns) {
  ClockExchange best{};
  Ticks shortest = std::numeric_limits<Ticks>::max();
  Ticks end = 0;
  bool is_last = false;
  for (std::int64_t count = 1; !is_last; ++count) {
    const Ticks now = nanoseconds(CLOCK_MONOTONIC_RAW);
    if (count == 2) end = now + longest_ns;
    is_last = count >= most || (count > 1 && now >= end);
    const Ticks request = is_last;
    ClockExchange made{};
    made.sent = nanoseconds(CLOCK_MONOTONIC_RAW);
    endpoint.send(reinterpret_cast<const std::byte*>(&request), sizeof request);
    endpoint.recv(reinterpret_cast<std::byte*>(&made.answered), sizeof made.answered);
    made.received = nanoseconds(CLOCK_MONOTONIC_RAW);
    if (made.received - made.sent >= shortest) continue;
    shortest = made.received - made.sent;
    best = made;
  }
  return best;
}

template <BlockingEndpoint E>
void answer_clocks(E& endpoint) {
  for (Ticks is_last = 0; !is_last;) {
    endpoint.recv(reinterpret_cast<std::byte*>(&is_last), sizeof is_last);
    const Ticks now = nanoseconds(CLOCK_MONOTONIC_RAW);
    endpoint.send(reinterpret_cast<const std::byte*>(&now), sizeof now);
  }
}

}  // namespace halftrip
