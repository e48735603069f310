// What the patterns over datagrams have in common. They have iterations of their own, since replies
// can be lost, and are timed by the loop of all patterns, but for streams at a rate, whose windows
// overlap.
//
// An iteration without a reply is no sample; it is counted. The responder cannot count iterations,
// so it goes on until it is told that the batch is over, or until nothing arrives any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../buffers.hpp"
#include "../clock.hpp"
#include "../endpoints/datagram.hpp"
#include "../timing.hpp"
#include "../wire.hpp"

namespace halftrip {

// Both ends are given the same; `timing` is of samples of one iteration each, an iteration is
// `window` datagrams. `interval` is the time from one to the next, ticks, 0 for none; a sender that
// is late catches up, see Pacer.
//
// A ping-pong ends early when replies that did not come have taken `max_timed_out_ns`: a lossy path
// takes much time, and the caller decides whether to go on.
//
// With `jitter`, a stream's datagrams carry the time when they were sent, where they have room.
// This costs each end a clock read per datagram.
struct DatagramBatch {
  Timing timing;
  std::int64_t window;
  double interval;
  double ns_per_tick;
  Ticks max_timed_out_ns;
  // For each buffer that is received into, the sender's buffer whose message it holds, counted from
  // 1, or 0 where that is unknown. Empty where nobody will look.
  std::span<std::int64_t> source_slots;
  bool jitter;

  std::int64_t count() const noexcept { return iteration_count(timing) * window; }
  // How many datagrams of the untimed iterations there are.
  std::int64_t uncounted() const noexcept { return timing.untimed * window; }
  bool is_verified() const noexcept { return !source_slots.empty(); }
};

// What became of a batch. `timestamps` is how many have been taken; of the samples between them,
// the `unanswered` ones, in ascending order, had no reply in time and are none.
struct DatagramResult {
  std::size_t timestamps = 0;
  std::vector<std::size_t> unanswered;
  Ticks timed_out_ticks = 0;  // how long replies were waited for that did not come
  std::int64_t sent = 0, lost = 0, reordered = 0;
  std::int64_t jitter = -1;  // ns; -1: unknown

  std::size_t samples() const noexcept {
    return timestamps == 0 ? 0 : timestamps - 1 - unanswered.size();
  }
};

// The beginning of a datagram of data: its number, in little-endian, as many of eight bytes as
// there is room for; and in a stream whose jitter is asked for, when it was sent, ns of
// CLOCK_MONOTONIC.
struct DatagramHeader {
  static constexpr std::size_t kNumberSize = 8, kTimestampedSize = 16;

  static void write_number(std::byte* datagram, std::size_t size, std::int64_t number) noexcept {
    if (size >= kNumberSize) [[likely]]
      store_little_endian(datagram, number);
    else
      store_little_endian(datagram, number, size);
  }

  // Of a short datagram, the number nearest to `expected` that ends in its bytes.
  static std::int64_t read_number(const std::byte* datagram, std::size_t size,
                                  std::int64_t expected) noexcept {
    if (size >= kNumberSize) [[likely]]
      return load_little_endian<std::int64_t>(datagram);
    return nearest(load_little_endian<std::int64_t>(datagram, size), size, expected);
  }

  static void write_time(std::byte* datagram, Ticks sent) noexcept {
    store_little_endian(datagram + kNumberSize, sent);
  }
  static Ticks read_time(const std::byte* datagram) noexcept {
    return load_little_endian<Ticks>(datagram + kNumberSize);
  }

 private:
  // The number whose low `width` bytes are `low` that is nearest to `expected` (RFC 9000, A.3).
  static std::int64_t nearest(std::int64_t low, std::size_t width, std::int64_t expected) noexcept {
    const std::int64_t span = std::int64_t{1} << (8 * width);
    const std::int64_t number = (expected & ~(span - 1)) | low;
    if (number <= expected - span / 2) return number + span;
    if (number > expected + span / 2) return number - span;
    return number;
  }
};

// One end's part in one batch. Both ends give out the same numbers.
class DatagramEnd {
 protected:
  using Arrival = DatagramSocket::Arrival;
  using ArrivalWait = DatagramSocket::ArrivalWait;
  using Kind = ControlMessage::Kind;

  DatagramEnd(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : socket_(socket),
        out_(buffers.out),
        in_(buffers.in),
        size_(out_.size()),
        batch_(batch),
        is_timestamped_(batch.jitter && size_ >= DatagramHeader::kTimestampedSize),
        first_(socket.take_numbers(batch.count())),
        counted_(first_ + batch.uncounted()),
        after_(first_ + batch.count()) {}

  bool is_in_batch(std::int64_t number) const noexcept {
    return number >= first_ && number < after_;
  }

  // The buffer of the message of that number.
  std::byte* out_at(std::int64_t number) const {
    return out_.at(socket_.slot(number, out_.slots()));
  }
  std::byte* in_at(std::int64_t number) const { return in_.at(socket_.slot(number, in_.slots())); }

  // How many buffers the sender has: as many as this end has to receive into.
  std::size_t sender_slots() const noexcept { return in_.slots(); }

  // The buffer of the message `expected` now holds the message `number`, or, unless `known`, bytes
  // of unknown origin.
  void record_source(std::int64_t expected, std::int64_t number, bool known) {
    if (!batch_.is_verified()) return;
    const std::size_t source =
        known && !is_out_overwritten_ ? socket_.slot(number, sender_slots()) + 1 : 0;
    batch_.source_slots[socket_.slot(expected, in_.slots())] = static_cast<std::int64_t>(source);
  }

  Ticks now() const noexcept { return batch_.timing.clock.now(); }

  void send_control(Kind kind, std::int64_t end) {
    socket_.send(ControlMessage{.kind = kind, .batch = first_, .end = end});
  }
  // Whether the last control message is of that kind and of this batch.
  bool is_control(Kind kind) const noexcept {
    return socket_.control.kind == kind && socket_.control.batch == first_;
  }

  // Whether messages are received into the buffers that they are sent from.
  bool has_one_ring() const noexcept { return in_.at(0) == out_.at(0); }

  DatagramSocket& socket_;
  Ring out_, in_;
  std::size_t size_;
  const DatagramBatch& batch_;
  bool is_timestamped_;
  std::int64_t first_, counted_, after_;
  // A late message has overwritten a buffer that is sent from: what the peer receives from now on
  // is unknown.
  bool is_out_overwritten_ = false;
};

class DatagramInitiator : protected DatagramEnd {
 protected:
  using DatagramEnd::DatagramEnd;

  // Tells the responder that the batch is over; returns whether it acknowledged that. If it did
  // not, one of the two messages was lost. That does no harm: the responder does not wait.
  bool finish(std::int64_t end) {
    for (int tries = 0; tries < kTries; ++tries) {
      send_control(Kind::end, end);
      ArrivalWait wait{std::min(socket_.reply_timeout.limit(), kPause_ns << tries)};
      if (await_control(wait, [&] { return is_control(Kind::end_ack); })) return true;
    }
    return false;
  }

  // Calls step(). If it throws NoAnswer, this end gives up, and tells the responder so.
  template <class Step>
  void release_peer_on_no_answer(Step step) {
    try {
      step();
    } catch (const NoAnswer&) {
      send_control(Kind::end, after_);
      throw;
    }
  }

  // Waits for a control message for which is_awaited() returns true, and discards all else.
  template <class IsAwaited>
  bool await_control(ArrivalWait& wait, IsAwaited is_awaited) {
    for (;;) {
      const Arrival arrival = socket_.receive(nullptr, 0, false, wait);
      if (arrival == Arrival::none) return false;
      if (arrival == Arrival::control && is_awaited()) return true;
      if (socket_.is_over(wait)) return false;
    }
  }

 private:
  static constexpr int kTries = 6;
  static constexpr Ticks kPause_ns = 5'000'000;
};

class DatagramResponder : protected DatagramEnd {
 protected:
  using DatagramEnd::DatagramEnd;

  // Receives until the batch is over. Calls on_data(number, buffer) for each datagram of this
  // batch, on_control() for each other control message of it.
  template <class OnData, class OnControl>
  void serve(OnData on_data, OnControl on_control) {
    const Ticks idle = longest_silence();
    ArrivalWait wait{idle};
    std::int64_t expected = first_;
    bool heard_of_peer = false;
    for (;;) {
      std::byte* in = in_at(expected);
      const Arrival arrival = socket_.receive(in, size_, batch_.is_verified(), wait);
      if (arrival == Arrival::none) {
        // Once the initiator has been heard of, all that is missing is its end of the batch.
        if (heard_of_peer) return;
        throw NoAnswer("nothing came for " + seconds(idle));
      }
      if (arrival == Arrival::control && socket_.control.batch == first_) {
        if (socket_.control.kind == Kind::end) return;
        on_control();
        expected = std::max(expected, socket_.control.end);
      } else {
        const std::int64_t number =
            arrival == Arrival::data ? DatagramHeader::read_number(in, size_, expected) : after_;
        if (arrival != Arrival::control) record_source(expected, number, is_in_batch(number));
        if (!is_in_batch(number)) {
          if (socket_.is_over(wait)) wait.timeout = 0;
          continue;
        }
        on_data(number, in);
        expected = std::max(expected, number + 1);
      }
      heard_of_peer = true;
      wait = {idle};
    }
  }

 private:
  // For how long an initiator that is alive may seem silent, ns. Everything that it sends may be
  // lost until it gives up; a responder that left before that would lose all that follows. At a
  // rate the initiator finishes the current window first, and sends the next one while it waits for
  // the report. Beside that, a rank may be late.
  Ticks longest_silence() const {
    const double windows = 2 * static_cast<double>(batch_.window) * batch_.interval;
    return socket_.reply_timeout.longest_silence() +
           static_cast<Ticks>(windows * batch_.ns_per_tick) + kLate_ns;
  }

  static constexpr Ticks kLate_ns = 1'000'000'000;
};

}  // namespace halftrip
