// One-sided: a window of messages put into the peer's memory, or got from it, and then a flush.
//
// The peer has no part in it but to say that its memory is ready, and to wait for word that all is
// over.
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
};

struct Put : OneSided {
  static constexpr std::string_view name = "put";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    for (std::int64_t i = 0; i < buffers.window; ++i) {
      const std::size_t offset = buffers.out.offset();
      endpoint.put(buffers.out.next(), offset, buffers.out.size());
    }
    endpoint.flush();
  }
};

struct Get : OneSided {
  static constexpr std::string_view name = "get";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    for (std::int64_t i = 0; i < buffers.window; ++i) {
      const std::size_t offset = buffers.in.offset();
      endpoint.get(buffers.in.next(), offset, buffers.in.size());
    }
    endpoint.flush();
  }
};

}  // namespace halftrip
