// Ping-pong, blocking: one message over, one message of the same size back.
#pragma once

#include <cstdint>
#include <span>

#include "../clock.hpp"
#include "../endpoint.hpp"

namespace halftrip {

// The initiator. One exchange is a round trip. `lead` exchanges go first, untimed, so that both
// ends are in the loop; then stamps[0] is taken, and stamps[i] after each further `batch`
// exchanges.
template <class Clock, BlockingEndpoint E>
void ping(E& endpoint, std::span<const std::byte> out, std::byte* in, std::int64_t lead,
          std::int64_t batch, std::span<Ticks> stamps) {
  const auto exchange = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      endpoint.send(out.data(), out.size());
      endpoint.recv(in, out.size());
    }
  };
  exchange(lead);
  for (Ticks& stamp : stamps) {
    if (&stamp != stamps.data()) exchange(batch);
    stamp = Clock::now();
  }
}

// The other end, for the same number of exchanges in all.
template <BlockingEndpoint E>
void pong(E& endpoint, std::span<const std::byte> out, std::byte* in, std::int64_t exchanges) {
  for (std::int64_t i = 0; i < exchanges; ++i) {
    endpoint.recv(in, out.size());
    endpoint.send(out.data(), out.size());
  }
}

}  // namespace halftrip
