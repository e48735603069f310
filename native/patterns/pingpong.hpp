// Ping-pong: one message there, one message of the same size back.
//
// With nonblocking calls both are on their way at once: each end begins both and waits for both.
#pragma once

#include <string_view>

#include "../endpoint.hpp"

namespace halftrip {

struct PingPong {
  static constexpr std::string_view name = "pingpong";
  template <class E>
  static constexpr bool possible = BlockingEndpoint<E> || NonblockingEndpoint<E>;
  static constexpr bool responder_timed = false;

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    if constexpr (BlockingEndpoint<E>) {
      endpoint.send(buffers.out.next(), buffers.out.size());
      endpoint.recv(buffers.in.next(), buffers.in.size());
    } else {
      both(endpoint, buffers);
    }
  }

  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    if constexpr (BlockingEndpoint<E>) {
      respond(endpoint, buffers, [] {});
    } else {
      both(endpoint, buffers);
    }
  }

  // Calls received() when the message has arrived, before the reply.
  template <BlockingEndpoint E, class Received>
  static void respond(E& endpoint, Buffers& buffers, Received received) {
    endpoint.recv(buffers.in.next(), buffers.in.size());
    received();
    endpoint.send(buffers.out.next(), buffers.out.size());
  }

 private:
  template <NonblockingEndpoint E>
  static void both(E& endpoint, Buffers& buffers) {
    endpoint.begin_recv(buffers.in.next(), buffers.in.size());
    endpoint.begin_send(buffers.out.next(), buffers.out.size());
    endpoint.finish();
  }
};

}  // namespace halftrip
