// Ping-pong over datagrams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datagram.hpp"

namespace halftrip {

// Ping-pong: a datagram there, and one of the same size and number back.
class DatagramPing : DatagramInitiator {
 public:
  DatagramPing(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramInitiator(socket, buffers, batch) {}

  DatagramResult run() {
    socket_.drain();
    std::int64_t number = first_;
    result_.timestamps = timed_while(
        batch_.timing, [&] { exchange(number++); }, [&](std::size_t i) { return goes_on(i); });
    result_.sent = number - counted_;
    finish(number);
    return result_;
  }

 private:
  void exchange(std::int64_t number) {
    ask(number);
    // In the warm-up each has the whole limit.
    const bool is_counted = number >= counted_;
    const ReplyTimeout& timeout = socket_.reply_timeout;
    ArrivalWait wait{is_counted ? timeout.current() : timeout.limit()};
    has_reply_ = receive_reply(number, wait);
    if (has_reply_) [[likely]]
      return;
    if (is_counted) {
      ++result_.lost;
      given_up_[static_cast<std::size_t>(given_up_count_++) % given_up_.size()] = number;
    } else {
      socket_.reply_timeout.was_too_short();
    }
    missed();
  }

  // What remains to be done for the sample that ends at timestamps[i]: a few additions, which are
  // part of the next one. Returns whether there is a next one.
  bool goes_on(std::size_t i) {
    const std::span<Ticks> timestamps = batch_.timing.timestamps;
    sample_began_ = timestamps[i];
    if (i == 0) return true;
    const Ticks took = timestamps[i] - timestamps[i - 1];
    if (has_reply_) [[likely]] {
      socket_.reply_timeout.replied(
          static_cast<Ticks>(static_cast<double>(took) * batch_.ns_per_tick));
      return true;
    }
    result_.timed_out_ticks += took;
    result_.unanswered.push_back(i - 1);
    return static_cast<double>(result_.timed_out_ticks) * batch_.ns_per_tick <
           static_cast<double>(batch_.max_timed_out_ns);
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
      const Arrival arrival =
          socket_.receive(in, size_, batch_.is_verified(), wait, [&] { return waited(number); });
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

  // For how long the reply to `number` has been waited for, ns; in the warm-up, at least for that.
  Ticks waited(std::int64_t number) const {
    if (number < counted_) return DatagramSocket::kTick_ns;
    return static_cast<Ticks>(static_cast<double>(now() - sample_began_) * batch_.ns_per_tick);
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
  bool has_reply_ = false;  // the latest iteration
  Ticks sample_began_ = 0;  // ticks
  // The latest iterations that were given up.
  std::array<std::int64_t, 64> given_up_{};
  std::ptrdiff_t given_up_count_ = 0;
};

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
