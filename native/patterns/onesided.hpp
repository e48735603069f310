// One-sided: a window of messages put into the peer's memory, or got from it, and then a flush.
//
// The peer only says that its memory is ready, and then waits to be told that the call is over.
#pragma once

#include <cstdint>
#include <string_view>

#include "../endpoint.hpp"

namespace halftrip {

struct OneSided {
  template <class E>
  static constexpr bool possible = OneSidedEndpoint<E>;
  static constexpr bool responder_timed = false;
  static constexpr bool passive = true;

 protected:
  // Calls move(buffer, offset, size) for each message of a window of `ring`.
  template <class E, class Move>
  static void window(E& endpoint, Ring& ring, std::int64_t messages, Move move) {
    for (std::int64_t i = 0; i < messages; ++i) {
      const std::size_t offset = ring.offset();
      move(ring.next(), offset, ring.size());
    }
    endpoint.flush();
  }
};

struct Put : OneSided {
  static constexpr std::string_view name = "put";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    window(endpoint, buffers.out, buffers.window,
           [&](auto... message) { endpoint.put(message...); });
  }
};

struct Get : OneSided {
  static constexpr std::string_view name = "get";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    window(endpoint, buffers.in, buffers.window,
           [&](auto... message) { endpoint.get(message...); });
  }
};

}  // namespace halftrip
