// What a transport gives a pattern.
//
// An endpoint is one rank's end of an open path to one peer. Both ends agree on sizes beforehand:
// the receiver asks for exactly as many bytes as the sender sends. All functions but
// the checks throw Stopped, PeerClosed, MpiError, DragonError, DeviceError, LibraryError or
// std::system_error, and nothing else.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "buffers.hpp"

namespace halftrip {

// send() returns when `out` may be written again, recv() when all `size` bytes are in `in`.
template <class E>
concept BlockingEndpoint = requires(E& e, const std::byte* out, std::byte* in, std::size_t size) {
  { e.send(out, size) } -> std::same_as<void>;
  { e.recv(in, size) } -> std::same_as<void>;
};

// What a rank that sends and receives at once does first.
enum class Order {
  sends_first,  // sends all that the path takes, then receives
  in_turn,      // a piece of each
};

// exchange() sends `count` messages and receives as many, both at once, so that two ranks that call
// it do not wait for each other for ever. It calls received() once, when the last receive has
// completed.
template <class E>
concept DuplexEndpoint =
    requires(E& e, Ring& out, Ring& in, std::int64_t count, Order order, void (*received)()) {
      { e.exchange(out, in, count, order, received) } -> std::same_as<void>;
    };

// finish() completes all sends and receives that were begun since the last finish(), as send() and
// recv() do; finish(count) completes the first `count` of them.
template <class E>
concept NonblockingEndpoint =
    requires(E& e, const std::byte* out, std::byte* in, std::size_t size) {
      { e.begin_send(out, size) } -> std::same_as<void>;
      { e.begin_recv(in, size) } -> std::same_as<void>;
      { e.finish() } -> std::same_as<void>;
      { e.finish(1) } -> std::same_as<void>;
    };

// put() and get() move bytes to and from the peer's window, `offset` bytes into it; flush() returns
// when all of them have completed at both ends. The peer takes no part. Where it accesses its own
// window meanwhile, it calls synchronize() between its accesses and this rank's.
template <class E>
concept OneSidedEndpoint =
    requires(E& e, const std::byte* out, std::byte* in, std::size_t offset, std::size_t size) {
      { e.put(out, offset, size) } -> std::same_as<void>;
      { e.get(in, offset, size) } -> std::same_as<void>;
      { e.flush() } -> std::same_as<void>;
      { e.synchronize() } -> std::same_as<void>;
    };

// A OneSidedEndpoint whose ends poll what the other puts into their memory. begin_put() returns
// before its message has left; complete() when it may be written again. wait_until() makes progress
// until ready() is true, which looks at memory.
template <class E>
concept PolledEndpoint =
    OneSidedEndpoint<E> &&
    requires(E& e, const std::byte* out, std::size_t offset, std::size_t size, bool (*ready)()) {
      { e.begin_put(out, offset, size) } -> std::same_as<void>;
      { e.complete() } -> std::same_as<void>;
      { e.wait_until(ready) } -> std::same_as<void>;
    };

// An endpoint that has limits says so, once, before the first message: check(buffers) before a call
// into timed code, check_message(size) before a single message. Both throw std::invalid_argument,
// and check(buffers) std::runtime_error where requests of a failed call are still active. Loops do
// not check.
template <class E>
void check_message(const E& endpoint, std::size_t size) {
  if constexpr (requires { endpoint.check_message(size); }) endpoint.check_message(size);
}

template <class E>
void check_buffers(const E& endpoint, const Buffers& buffers) {
  if constexpr (requires { endpoint.check(buffers); })
    endpoint.check(buffers);
  else
    check_message(endpoint, buffers.out.size());
}

// Whether an endpoint was made for certain buffers; send() and recv() then ignore theirs.
template <class E>
constexpr bool is_bound_to_buffers = requires { E::bound_to_buffers; };

// An acknowledgement: the shortest message that the path has, unless the endpoint has its own way.
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
