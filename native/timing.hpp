// How a pattern is run and timed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "clock.hpp"
#include "endpoint.hpp"

namespace halftrip {

// `lead` exchanges go first, untimed, so that both ends are in the loop; then stamps[0] is taken,
// and stamps[i] after each further `batch` exchanges. Both ends are given the same of these.
//
// arrivals[i], where there are any, is how long it took in the exchanges from stamps[i] on until
// all that came had come, for patterns in which that is not when an exchange ends.
struct Timing {
  std::int64_t lead, batch;
  std::span<Ticks> stamps;
  std::span<Ticks> arrivals;
  AnyClock clock;
};

// How long it takes from the beginning of an exchange until all that it receives has come.
class ArrivalWatch {
 public:
  explicit ArrivalWatch(AnyClock clock) : clock_(clock) {}

  void begin() noexcept { began_ = clock_.now(); }
  void received() noexcept { sum_ += clock_.now() - began_; }

  // The sum since it was last taken.
  Ticks take() noexcept { return std::exchange(sum_, 0); }

 private:
  AnyClock clock_;
  Ticks began_ = 0, sum_ = 0;
};

template <class Exchange>
void repeat(std::int64_t count, Exchange& exchange) {
  for (std::int64_t i = 0; i < count; ++i) exchange();
}

// Calls after(i) after the i-th stamp.
template <class Exchange, class After>
void timed(const Timing& timing, Exchange exchange, After after) {
  repeat(timing.lead, exchange);
  for (std::size_t i = 0; i < timing.stamps.size(); ++i) {
    if (i > 0) repeat(timing.batch, exchange);
    timing.stamps[i] = timing.clock.now();
    after(i);
  }
}

template <class Exchange>
void timed(const Timing& timing, Exchange exchange) {
  timed(timing, exchange, [](std::size_t) {});
}

// The same for both ends of a pattern in which each says when all that it receives has come.
template <class Pattern, class E>
void timed_with_arrivals(E& endpoint, Buffers& buffers, const Timing& timing) {
  ArrivalWatch watch(timing.clock);
  timed(
      timing,
      [&] {
        watch.begin();
        Pattern::initiate(endpoint, buffers, [&] { watch.received(); });
      },
      [&](std::size_t i) {
        const Ticks sum = watch.take();
        if (i > 0) timing.arrivals[i - 1] = sum;
      });
}

// Whether both ends of a pattern can say when all has come.
template <class Pattern>
constexpr bool has_arrivals = requires { Pattern::has_arrivals; };

// Whether the responder of a pattern takes no part in its exchanges.
template <class Pattern>
constexpr bool is_passive = requires { Pattern::passive; };

// Whether both ends do the same.
template <class Pattern>
constexpr bool is_symmetric = requires { Pattern::symmetric; };

template <class Pattern, class E>
void initiate(E& endpoint, Buffers& buffers, const Timing& timing) {
  check_buffers(endpoint, buffers);
  if constexpr (has_arrivals<Pattern>) {
    if (!timing.arrivals.empty()) return timed_with_arrivals<Pattern>(endpoint, buffers, timing);
  }
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
  } else if constexpr (is_symmetric<Pattern>) {
    initiate<Pattern>(endpoint, buffers, timing);
  } else {
    check_buffers(endpoint, buffers);
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
