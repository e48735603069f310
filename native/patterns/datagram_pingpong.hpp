// Ping-pong over datagrams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datagram.hpp"

namespace halftrip {

// Ping-pong: a datagram over, and one of the same size and number back.
template <class Clock>
class DatagramPing : DatagramInitiator {
 public:
  DatagramPing(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramInitiator(socket, buffers, batch) {}

  Tally run() {
    socket_.drain();
    std::int64_t number = first_;
    for (; number < counted_; ++number) {
      ask(number);
      Waiting waiting{socket_.patience.limit()};
      if (answered(number, waiting)) continue;
      // It was given all the time there is.
      socket_.patience.was_short();
      missed();
    }
    Tally tally;
    Ticks begin = Clock::now();
    tally.start = begin;
    const double most_waited = static_cast<double>(batch_.most_waited_ns) / batch_.ns_per_tick;
    for (; number < after_ && static_cast<double>(tally.waited) < most_waited; ++number) {
      ask(number);
      ++tally.sent;
      Waiting waiting{socket_.patience.length()};
      const bool came = answered(number, waiting, &tally);
      Ticks now = Clock::now();
      const Ticks took = now - begin;
      if (came) [[likely]] {
        batch_.times[static_cast<std::size_t>(tally.samples++)] = took;
        socket_.patience.answered(
            static_cast<Ticks>(static_cast<double>(took) * batch_.ns_per_tick));
      } else {
        tally.waited += took;
        ++tally.lost;
        given_up_[static_cast<std::size_t>(given_up_count_++) % given_up_.size()] = number;
        missed();
        now = Clock::now();
      }
      begin = now;
    }
    finish(number);
    return tally;
  }

 private:
  void ask(std::int64_t number) {
    std::byte* out = out_at(number);
    Head::write(out, size_, number);
    socket_.send(out, size_);
  }

  void missed() {
    give_up_by([&] { socket_.patience.missed(); });
  }

  // Whether the answer to `number` comes in time.
  bool answered(std::int64_t number, Waiting& waiting, Tally* tally = nullptr) {
    for (;;) {
      std::byte* in = in_at(number);
      const Arrival arrival = socket_.receive(in, size_, batch_.verified(), waiting);
      if (arrival == Arrival::none) return false;
      if (arrival == Arrival::data) {
        const std::int64_t came = Head::read(in, size_, number);
        hold(number, came, came == number);
        if (came == number) [[likely]]
          return true;
        if (is_same()) spoilt_ = true;
        if (tally != nullptr) came_late(came, *tally);
      } else if (arrival == Arrival::other) {
        hold(number, 0, false);
      }
      if (socket_.pass(waiting)) return false;
    }
  }

  // An answer to a question that was given up is late, not lost; a second one is neither.
  void came_late(std::int64_t number, Tally& tally) {
    const auto those = given_up_.begin();
    const auto last = those + std::min<std::ptrdiff_t>(given_up_count_, given_up_.size());
    const auto found = std::find(those, last, number);
    if (found == last) return;
    *found = -1;
    --tally.lost;
    ++tally.late;
    socket_.patience.was_short();
  }

  std::array<std::int64_t, 64> given_up_{};
  std::ptrdiff_t given_up_count_ = 0;
};

template <class Clock>
class DatagramPong : DatagramResponder {
 public:
  DatagramPong(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramResponder(socket, buffers, batch) {}

  Tally run() {
    // In one buffer for both ways, what came goes back.
    serve(
        [&](std::int64_t number, std::byte* in) {
          std::byte* out = is_same() ? in : out_at(number);
          if (!is_same()) std::memcpy(out, in, Head::width(size_));
          socket_.send(out, size_);
        },
        [] {});
    for (int i = 0; i < 2; ++i) tell(Notice::ended, after_);
    return {};
  }
};

}  // namespace halftrip
