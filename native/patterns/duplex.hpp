// Patterns in which both ends send and receive at once, so both do the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "../endpoint.hpp"

namespace halftrip {

struct Duplex {
  template <class E>
  static constexpr bool possible = DuplexEndpoint<E> || NonblockingEndpoint<E>;
  static constexpr bool symmetric = true;

 protected:
  template <class E>
  static void both(E& endpoint, Buffers& buffers, std::int64_t count, Order order) {
    if constexpr (NonblockingEndpoint<E>) {
      if (order == Order::sends_first) begin_sends(endpoint, buffers, count);
      begin_recvs(endpoint, buffers, count);
      if (order == Order::in_turn) begin_sends(endpoint, buffers, count);
      endpoint.finish();
    } else {
      endpoint.exchange(buffers.out, buffers.in, count, order, [] {});
    }
  }

  // In turn. Calls received() when the last receive has completed, perhaps before the last send.
  template <class E, class Received>
  static void both(E& endpoint, Buffers& buffers, std::int64_t count, Received received) {
    if constexpr (NonblockingEndpoint<E>) {
      begin_recvs(endpoint, buffers, count);
      begin_sends(endpoint, buffers, count);
      endpoint.finish(count);
      received();
      endpoint.finish();
    } else {
      endpoint.exchange(buffers.out, buffers.in, count, Order::in_turn, received);
    }
  }

 private:
  template <NonblockingEndpoint E>
  static void begin_recvs(E& endpoint, Buffers& buffers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      endpoint.begin_recv(buffers.in.next(), buffers.in.size());
  }

  template <NonblockingEndpoint E>
  static void begin_sends(E& endpoint, Buffers& buffers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      endpoint.begin_send(buffers.out.next(), buffers.out.size());
  }
};

// One message each way, as in MPI_Sendrecv.
struct Exchange : Duplex {
  static constexpr std::string_view name = "exchange";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, 1, Order::in_turn);
  }
};

// Both send, then both receive: each message meets the other one on its way.
struct PingPing : Duplex {
  static constexpr std::string_view name = "pingping";

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, 1, Order::sends_first);
  }
};

// A window of messages each way, and an acknowledgement of each. One way may be faster than the
// other, so each end can say when its last receive completed.
struct Bidirectional : Duplex {
  static constexpr std::string_view name = "bidirectional";
  static constexpr bool has_receive_times = true;

  template <class E>
  static void initiate(E& endpoint, Buffers& buffers) {
    both(endpoint, buffers, buffers.window, Order::in_turn);
    acknowledge(endpoint);
  }
  template <class E, class Received>
  static void initiate(E& endpoint, Buffers& buffers, Received received) {
    both(endpoint, buffers, buffers.window, received);
    acknowledge(endpoint);
  }

 private:
  template <class E>
  static void acknowledge(E& endpoint) {
    send_ack(endpoint);
    recv_ack(endpoint);
  }
};

}  // namespace halftrip
