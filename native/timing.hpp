// How a pattern is run and timed.
#pragma once

#include <cstdint>
#include <span>

#include "clock.hpp"
#include "endpoint.hpp"

namespace halftrip {

// `lead` exchanges go first, untimed, so that both ends are in the loop; then stamps[0] is taken,
// and stamps[i] after each further `batch` exchanges. Both ends are given the same of these.
struct Timing {
  std::int64_t lead, batch;
  std::span<Ticks> stamps;
  AnyClock clock;
};

template <class Exchange>
void repeat(std::int64_t count, Exchange& exchange) {
  for (std::int64_t i = 0; i < count; ++i) exchange();
}

template <class Exchange>
void timed(const Timing& timing, Exchange exchange) {
  repeat(timing.lead, exchange);
  for (Ticks& stamp : timing.stamps) {
    if (&stamp != timing.stamps.data()) repeat(timing.batch, exchange);
    stamp = timing.clock.now();
  }
}

// Whether the responder of a pattern takes no part in its exchanges.
template <class Pattern>
constexpr bool is_passive = requires { Pattern::passive; };

template <class Pattern, class E>
void initiate(E& endpoint, Buffers& buffers, const Timing& timing) {
  if constexpr (is_passive<Pattern>) recv_ack(endpoint);
  timed(timing, [&] { Pattern::initiate(endpoint, buffers); });
  if constexpr (is_passive<Pattern>) send_ack(endpoint);
}

// The other end. It takes stamps only where its pattern's two ends do not wait for each other after
// every message: elsewhere its clock would be in the way of what the initiator times.
template <class Pattern, class E>
void respond(E& endpoint, Buffers& buffers, const Timing& timing) {
  if constexpr (is_passive<Pattern>) {
    send_ack(endpoint);
    recv_ack(endpoint);
  } else {
    auto exchange = [&] { Pattern::respond(endpoint, buffers); };
    if constexpr (Pattern::responder_timed) {
      timed(timing, exchange);
    } else {
      const auto samples = static_cast<std::int64_t>(timing.stamps.size()) - 1;
      repeat(timing.lead + timing.batch * samples, exchange);
    }
  }
}

}  // namespace halftrip
