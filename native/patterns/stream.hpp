// Stream: a window of messages in one direction, then the receiver's acknowledgement.
#pragma once

#include <cstdint>
#include <string_view>

#include "../endpoint.hpp"

namespace halftrip {

struct Stream {
  static constexpr std::string_view name = "stream";
  template <class E>
  static constexpr bool possible = BlockingEndpoint<E> || NonblockingEndpoint<E>;
  static constexpr bool responder_timed = true;

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    for (std::int64_t i = 0; i < buffers.window; ++i) {
      if constexpr (NonblockingEndpoint<E>)
        endpoint.begin_send(buffers.out.next(), buffers.out.size());
      else
        endpoint.send(buffers.out.next(), buffers.out.size());
    }
    if constexpr (NonblockingEndpoint<E>) endpoint.finish();
    recv_ack(endpoint);
  }

  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    for (std::int64_t i = 0; i < buffers.window; ++i) {
      if constexpr (NonblockingEndpoint<E>)
        endpoint.begin_recv(buffers.in.next(), buffers.in.size());
      else
        endpoint.recv(buffers.in.next(), buffers.in.size());
    }
    if constexpr (NonblockingEndpoint<E>) endpoint.finish();
    send_ack(endpoint);
  }
};

}  // namespace halftrip
