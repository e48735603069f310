// One-sided: a window of messages put into the peer's memory, or got from it, and then a flush.
//
// The peer only says that its memory is ready, and then waits to be told that the call is over: a
// window has completed when it is in the peer's memory, whichever cache that is in. A peer that
// touches its memory between windows has it in its own core's cache.
#pragma once

#include <atomic>
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

// A ping-pong of puts: each end polls the last byte of its own memory, as ib_write_lat and
// ucp_put_lat do. Nobody is told of what was put, so this is all that a target can wait for; the
// bytes before it may come later.
//
// Here `in` is the memory that this end exposes. Messages and replies are marked alike by their
// last byte, which differs from that of the message before it in the same buffer.
struct PutPingPong {
  static constexpr std::string_view name = "put-pingpong";
  template <class E>
  static constexpr bool possible = PolledEndpoint<E>;
  static constexpr bool responder_timed = false;
  static constexpr bool prepared = true;

  static void prepare(Buffers& buffers) {
    for (const Ring* ring : {&buffers.out, &buffers.in})
      for (std::size_t slot = 0; slot < ring->slots(); ++slot)
        ring->at(slot)[ring->size() - 1] = std::byte{};
  }

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    const std::byte mark = next_mark(buffers.out);
    send(endpoint, buffers.out, mark);
    receive(endpoint, buffers.in, mark);
  }

  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    const std::byte mark = next_mark(buffers.out);
    receive(endpoint, buffers.in, mark);
    send(endpoint, buffers.out, mark);
  }

 private:
  static std::byte next_mark(const Ring& out) {
    const std::byte* message = out.at(0) + out.offset();
    return static_cast<std::byte>(std::to_integer<unsigned>(message[out.size() - 1]) + 1);
  }

  template <class E>
  static void send(E& endpoint, Ring& out, std::byte mark) {
    // The put before this one may be of the same buffer.
    endpoint.complete();
    const std::size_t offset = out.offset();
    std::byte* const message = out.next();
    message[out.size() - 1] = mark;
    endpoint.begin_put(message, offset, out.size());
  }

  template <class E>
  static void receive(E& endpoint, Ring& in, std::byte mark) {
    const std::atomic_ref<std::byte> last(in.next()[in.size() - 1]);
    endpoint.wait_until([&] { return last.load(std::memory_order_acquire) == mark; });
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
