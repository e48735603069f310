// Patterns whose initiator computes between its calls, for the parameters of LogGP: a message that
// arrives meanwhile costs it no more than the call that takes it (D. Culler, L. Liu, R. Martin and
// C. Yoshikawa, Assessing Fast Network Interfaces, IEEE Micro 16, 1996; T. Hoefler, A. Lichei and
// W. Rehm, Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks, IPDPS
// workshops, 2007).
//
// The responder is that of the pattern of the same name without a delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../timing.hpp"
#include "../wait.hpp"
#include "pingpong.hpp"
#include "stream.hpp"

namespace halftrip {

// Spins on the clock. `surplus` is how much longer than `length` all delays have taken so far, the
// cost of their clock reads included, so that what is timed can do without it: a delay ends at the
// first reading that is late enough, and an interrupt may make that very late. Throws Stopped.
class Delay {
 public:
  Delay(AnyClock clock, Ticks length, Ticks read_cost) noexcept
      : clock_(clock), length_(length), read_cost_(read_cost) {}

  Ticks surplus() const noexcept { return surplus_; }

  void operator()() {
    const Ticks begin = clock_.now();
    Ticks passed = 0;
    while (passed < length_) {
      check_stop();
      passed = clock_.now() - begin;
    }
    // Of the first read only what comes after its moment is in `passed`, of the last only what
    // comes before: one read is missing.
    surplus_ += passed - length_ + read_cost_;
  }

 private:
  AnyClock clock_;
  Ticks length_, read_cost_, surplus_ = 0;
};

// A delay after the send.
struct DelayedPingPong {
  static constexpr std::string_view name = PingPong::name;
  template <class E>
  static constexpr bool possible = BlockingEndpoint<E>;

  template <BlockingEndpoint E>
  static void initiate(E& endpoint, Buffers& buffers, Delay& delay) {
    endpoint.send(buffers.out.next(), buffers.out.size());
    delay();
    endpoint.recv(buffers.in.next(), buffers.in.size());
  }
};

// A delay between each two sends.
struct DelayedStream {
  static constexpr std::string_view name = Stream::name;
  template <class E>
  static constexpr bool possible = BlockingEndpoint<E>;

  template <BlockingEndpoint E>
  static void initiate(E& endpoint, Buffers& buffers, Delay& delay) {
    endpoint.send(buffers.out.next(), buffers.out.size());
    for (std::int64_t i = 1; i < buffers.window; ++i) {
      delay();
      endpoint.send(buffers.out.next(), buffers.out.size());
    }
    recv_ack(endpoint);
  }
};

// As initiate(), with a delay. Timestamps do not count by how much delays are too long.
template <class Pattern, class E>
void initiate_delayed(E& endpoint, Buffers& buffers, const Timing& timing, Delay delay) {
  check_buffers(endpoint, buffers);
  Ticks before = 0;
  timed(
      timing, [&] { Pattern::initiate(endpoint, buffers, delay); },
      [&](std::size_t i) {
        // The untimed iterations do not count.
        if (i == 0) before = delay.surplus();
        timing.timestamps[i] -= delay.surplus() - before;
      });
}

}  // namespace halftrip
