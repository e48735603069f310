// Ping-pong over datagrams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datagram.hpp"

namespace halftrip {

// Ping-pong: a datagram there, and one of the same size and number back.
template <class Clock>
class DatagramPing : DatagramInitiator {
 public:
  DatagramPing(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramInitiator(socket, buffers, batch) {}

  DatagramResult run() {
    socket_.drain();
    std::int64_t number = first_;
    for (; number < counted_; ++number) {
      ask(number);
      ArrivalWait wait{socket_.reply_timeout.limit()};
      if (receive_reply(number, wait)) continue;
      // This one had the whole limit.
      socket_.reply_timeout.was_too_short();
      missed();
    }
    const double max_timed_out = static_cast<double>(batch_.max_timed_out_ns) / batch_.ns_per_tick;
    result_.start = Clock::now();
    while (number < after_ && static_cast<double>(result_.timed_out_ticks) < max_timed_out)
      exchange(number++);
    finish(number);
    return result_;
  }

 private:
  // One sample, with two clock reads. It does not begin at the end of the sample before: the
  // bookkeeping of the reply timeout lies between the two and belongs to neither.
  void exchange(std::int64_t number) {
    const Ticks begin = Clock::now();
    ask(number);
    ArrivalWait wait{socket_.reply_timeout.current()};
    const bool replied = receive_reply(number, wait);
    const Ticks took = Clock::now() - begin;
    ++result_.sent;
    if (replied) [[likely]] {
      batch_.times[static_cast<std::size_t>(result_.samples++)] = took;
      socket_.reply_timeout.replied(
          static_cast<Ticks>(static_cast<double>(took) * batch_.ns_per_tick));
    } else {
      result_.timed_out_ticks += took;
      ++result_.lost;
      given_up_[static_cast<std::size_t>(given_up_count_++) % given_up_.size()] = number;
      missed();
    }
  }

  void ask(std::int64_t number) {
    std::byte* out = out_at(number);
    DatagramHeader::write_number(out, size_, number);
    socket_.send(out, size_);
  }

  void missed() {
    release_peer_on_no_answer([&] { socket_.reply_timeout.missed(); });
  }

  // Returns whether the reply to `number` came in time.
  bool receive_reply(std::int64_t number, ArrivalWait& wait) {
    for (;;) {
      std::byte* in = in_at(number);
      const Arrival arrival = socket_.receive(in, size_, batch_.is_verified(), wait);
      if (arrival == Arrival::none) return false;
      if (arrival == Arrival::data) {
        const std::int64_t found = DatagramHeader::read_number(in, size_, number);
        record_source(number, found, found == number);
        if (found == number) [[likely]]
          return true;
        if (has_one_ring()) is_out_overwritten_ = true;
        count_late(found);
      } else if (arrival == Arrival::other) {
        record_source(number, 0, false);
      }
      if (socket_.is_over(wait)) return false;
    }
  }

  // A reply that comes after it was given up is late, not lost. A second copy of it, or a reply to
  // the warm-up, is neither.
  void count_late(std::int64_t number) {
    const auto first = given_up_.begin();
    const auto last = first + std::min<std::ptrdiff_t>(given_up_count_, given_up_.size());
    const auto found = std::find(first, last, number);
    if (found == last) return;
    *found = -1;
    --result_.lost;
    ++result_.reordered;
    socket_.reply_timeout.was_too_short();
  }

  DatagramResult result_;
  // The latest iterations that were given up.
  std::array<std::int64_t, 64> given_up_{};
  std::ptrdiff_t given_up_count_ = 0;
};

template <class Clock>
class DatagramPong : DatagramResponder {
 public:
  DatagramPong(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramResponder(socket, buffers, batch) {}

  DatagramResult run() {
    // With one ring for both directions, the message itself is sent back.
    serve(
        [&](std::int64_t number, std::byte* in) {
          std::byte* out = has_one_ring() ? in : out_at(number);
          if (!has_one_ring()) std::memcpy(out, in, std::min(size_, DatagramHeader::kNumberSize));
          socket_.send(out, size_);
        },
        [] {});
    // Twice: it may be lost.
    for (int i = 0; i < 2; ++i) send_control(Kind::end_ack, after_);
    return {};
  }
};

}  // namespace halftrip
