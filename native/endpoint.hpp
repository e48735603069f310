// What a transport gives a pattern.
//
// An endpoint is one rank's end of an open path to one peer. Sizes are agreed by both ends
// beforehand: the receiver asks for exactly as many bytes as the sender sends. All functions throw
// Stopped, PeerClosed, MpiError or std::system_error, and nothing in between.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "buffers.hpp"

namespace halftrip {

// send() returns when `out` may be written again; recv() when all of `size` bytes lie in `in`.
template <class E>
concept BlockingEndpoint = requires(E& e, const std::byte* out, std::byte* in, std::size_t size) {
  { e.send(out, size) } -> std::same_as<void>;
  { e.recv(in, size) } -> std::same_as<void>;
};

// What a rank does first that sends and receives at once.
enum class Order {
  sends_first,  // all that the path takes, then receive
  in_turn,      // a piece of each
};

// exchange() sends `count` messages and receives as many, both at once, so that two ranks that call
// it do not wait for each other for ever. It calls received() once, when all has come.
template <class E>
concept DuplexEndpoint =
    requires(E& e, Ring& out, Ring& in, std::int64_t count, Order order, void (*received)()) {
      { e.exchange(out, in, count, order, received) } -> std::same_as<void>;
    };

// finish() returns when all that was begun since the last one is done, as send() and recv() are;
// finish(count) when the first so many are.
template <class E>
concept NonblockingEndpoint =
    requires(E& e, const std::byte* out, std::byte* in, std::size_t size) {
      { e.begin_send(out, size) } -> std::same_as<void>;
      { e.begin_recv(in, size) } -> std::same_as<void>;
      { e.finish() } -> std::same_as<void>;
      { e.finish(1) } -> std::same_as<void>;
    };

// put() and get() move bytes to and from the peer's window, `offset` bytes into it; flush() returns
// when all of these are done, at both ends. The peer takes no part.
template <class E>
concept OneSidedEndpoint =
    requires(E& e, const std::byte* out, std::byte* in, std::size_t offset, std::size_t size) {
      { e.put(out, offset, size) } -> std::same_as<void>;
      { e.get(in, offset, size) } -> std::same_as<void>;
      { e.flush() } -> std::same_as<void>;
    };

// An acknowledgement: the shortest message that the path has, unless the endpoint has a way of its
// own.
template <class E>
void send_ack(E& endpoint) {
  if constexpr (requires { endpoint.send_ack(); }) {
    endpoint.send_ack();
  } else {
    const std::byte ack{};
    endpoint.send(&ack, 1);
  }
}

template <class E>
void recv_ack(E& endpoint) {
  if constexpr (requires { endpoint.recv_ack(); }) {
    endpoint.recv_ack();
  } else {
    std::byte ack;
    endpoint.recv(&ack, 1);
  }
}

}  // namespace halftrip
