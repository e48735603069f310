// One-sided: a window of messages put into the peer's memory, or got from it, and then a flush.
//
// The peer only says that its memory is ready, and then waits to be told that the call is over: a
// window has completed when it is in the peer's memory, whichever cache that is in. A peer that
// touches its memory between windows has it in its own core's cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../endpoint.hpp"
#include "../shared_word.hpp"
#include "../timing.hpp"

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

// Calls each(byte) for a byte in every cache line of `size` bytes, through volatile, so that every
// access is made.
template <class Each>
void each_line(std::byte* bytes, std::size_t size, Each each) {
  volatile std::byte* const first = bytes;
  for (std::size_t i = 0; i < size; i += kCacheLineSize) each(first[i]);
  // Bytes that begin within a line may end in one more.
  if (size > 0) each(first[size - 1]);
}

struct Put : OneSided {
  static constexpr std::string_view name = "put";
  // The peer reads what has been put.
  static constexpr bool touched_first = false;

  static void touch(std::byte* bytes, std::size_t size) {
    each_line(bytes, size, [](volatile std::byte& byte) { static_cast<void>(std::byte(byte)); });
  }

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    window(endpoint, buffers.out, buffers.window,
           [&](auto... message) { endpoint.put(message...); });
  }
};

struct Get : OneSided {
  static constexpr std::string_view name = "get";
  // The peer writes what will be got: the bytes that are there, so that their values stay.
  static constexpr bool touched_first = true;

  static void touch(std::byte* bytes, std::size_t size) {
    each_line(bytes, size, [](volatile std::byte& byte) {
      const std::byte same = byte;
      byte = same;
    });
  }

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    window(endpoint, buffers.in, buffers.window,
           [&](auto... message) { endpoint.get(message...); });
  }
};

// Whether the peer touches its memory, and whether that is timed: see `Configuration.touch`.
enum class Touch { none, untimed, timed };

// Both ends of Put or Get with a peer that touches every cache line of each window. The initiator
// tells it when to, and waits until it has.
template <class Pattern, class E>
void initiate_touched(E& endpoint, Buffers& buffers, const Timing& timing, Touch touch) {
  check_buffers(endpoint, buffers);
  auto handshake = [&] {
    send_ack(endpoint);
    recv_ack(endpoint);
  };
  auto before = [&] {
    if constexpr (Pattern::touched_first) handshake();
  };
  auto window = [&] { Pattern::initiate(endpoint, buffers); };
  auto after = [&] {
    if constexpr (!Pattern::touched_first) handshake();
  };
  recv_ack(endpoint);
  if (touch == Touch::untimed) {
    timed_without(timing, before, window, after);
  } else {
    timed(timing, [&] {
      before();
      window();
      after();
    });
  }
  send_ack(endpoint);
}

// `exposed` has the buffers of this end's window, each with all bytes that a message spans.
template <class Pattern, class E>
void respond_touched(E& endpoint, Ring& exposed, std::int64_t window, const Timing& timing) {
  auto touch = [&] {
    recv_ack(endpoint);
    endpoint.synchronize();
    for (std::int64_t i = 0; i < window; ++i) Pattern::touch(exposed.next(), exposed.size());
    endpoint.synchronize();
    send_ack(endpoint);
  };
  send_ack(endpoint);
  repeat(iteration_count(timing), touch);
  recv_ack(endpoint);
}

}  // namespace halftrip
