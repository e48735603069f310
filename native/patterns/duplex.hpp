// Patterns in which both ends send and receive at once, and so do the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "../endpoint.hpp"

namespace halftrip {

struct Duplex {
  template <class E>
  static constexpr bool possible = DuplexEndpoint<E> || NonblockingEndpoint<E>;
  static constexpr bool responder_timed = true;

 protected:
  template <class E>
  static void both(E& endpoint, Buffers& buffers, std::int64_t count, Order order) {
    if constexpr (NonblockingEndpoint<E>) {
      if (order == Order::sends_first) begin_sends(endpoint, buffers, count);
      for (std::int64_t i = 0; i < count; ++i)
        endpoint.begin_recv(buffers.in.next(), buffers.in.size());
      if (order == Order::in_turn) begin_sends(endpoint, buffers, count);
      endpoint.finish();
    } else {
      endpoint.exchange(buffers.out, buffers.in, count, order);
    }
  }

 private:
  template <NonblockingEndpoint E>
  static void begin_sends(E& endpoint, Buffers& buffers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      endpoint.begin_send(buffers.out.next(), buffers.out.size());
  }
};

// One message each way, as MPI_Sendrecv has it.
struct Exchange : Duplex {
  static constexpr std::string_view name = "exchange";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, 1, Order::in_turn);
  }
  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    initiate(endpoint, buffers);
  }
};

// Both send, then both receive: a message that is in the way of another.
struct PingPing : Duplex {
  static constexpr std::string_view name = "pingping";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, 1, Order::sends_first);
  }
  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    initiate(endpoint, buffers);
  }
};

// A window of messages each way, and an acknowledgement of each.
struct Bidirectional : Duplex {
  static constexpr std::string_view name = "bidirectional";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, buffers.window, Order::in_turn);
    send_ack(endpoint);
    recv_ack(endpoint);
  }
  template <class E>
  static void respond(E& endpoint, Buffers& buffers) {
    initiate(endpoint, buffers);
  }
};

}  // namespace halftrip
