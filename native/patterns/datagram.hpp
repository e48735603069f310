// What the patterns over datagrams have in common: kernels of their own, since answers can be lost.
//
// An exchange that was not answered is no sample; it is counted. The responder cannot count
// exchanges, so it goes on until it is told that the batch is over, or nothing comes any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "../buffers.hpp"
#include "../clock.hpp"
#include "../endpoints/datagram.hpp"

namespace halftrip {

// What both ends are given: `lead` exchanges go first and are neither timed nor counted; then as
// many as there are `times`, each for itself. An exchange is `window` datagrams. `interval` is the
// least time from one to the next, in ticks, 0 for none. A ping-pong ends early where it has waited
// for `most_waited_ns` in vain: much that is lost takes much time, and it is for the caller to say
// whether to go on.
struct DatagramBatch {
  std::int64_t window, lead;
  double interval;
  double ns_per_tick;
  Ticks most_waited_ns;
  std::span<Ticks> times;
  // For each buffer that is received into, the sender's buffer whose message it holds, counted from
  // 1, or 0; empty where nobody will look.
  std::span<std::int64_t> held;

  std::int64_t count() const noexcept {
    return (lead + static_cast<std::int64_t>(times.size())) * window;
  }
  // How many datagrams go before those that count.
  std::int64_t uncounted() const noexcept { return lead * window; }
  bool verified() const noexcept { return !held.empty(); }
};

// What became of a batch.
struct Tally {
  std::int64_t samples = 0;  // how many of `times` there are
  Ticks start = 0;           // when the first of them began
  Ticks waited = 0;          // for what did not come, ticks
  std::int64_t sent = 0, lost = 0, late = 0;
  std::int64_t jitter = -1;  // ns; -1: not known
};

// The head of a datagram.
struct Head {
  // A datagram with room for it has the moment when it was sent after its number, ns.
  static constexpr std::size_t kNumber = 8, kStamped = 16;

  static std::size_t width(std::size_t size) noexcept { return std::min(size, kNumber); }
  static void write(std::byte* datagram, std::size_t size, std::int64_t number) noexcept {
    std::memcpy(datagram, &number, width(size));
  }
  static std::int64_t read(const std::byte* datagram, std::size_t size, std::int64_t expected) {
    std::int64_t low = 0;
    std::memcpy(&low, datagram, width(size));
    return whole_number(low, width(size), expected);
  }
};

// One end's part in one batch. Both ends give out the same numbers.
class DatagramEnd {
 protected:
  using Arrival = DatagramSocket::Arrival;
  using Waiting = DatagramSocket::Waiting;

  DatagramEnd(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : socket_(socket),
        out_(buffers.out),
        in_(buffers.in),
        size_(out_.size()),
        batch_(batch),
        first_(socket.take_numbers(batch.count())),
        counted_(first_ + batch.uncounted()),
        after_(first_ + batch.count()) {}

  bool is_ours(std::int64_t number) const noexcept { return number >= first_ && number < after_; }

  // Where the message of a number lies, or may.
  std::byte* out_at(std::int64_t number) const {
    return out_.at(socket_.slot(number, out_.slots()));
  }
  std::byte* in_at(std::int64_t number) const { return in_.at(socket_.slot(number, in_.slots())); }

  // Something has come to where the message `expected` was to go: that of `number`, or, where
  // `known` is false, nobody knows what.
  void hold(std::int64_t expected, std::int64_t number, bool known) {
    if (!batch_.verified()) return;
    const std::size_t sender = known && !spoilt_ ? socket_.slot(number, out_.slots()) + 1 : 0;
    batch_.held[socket_.slot(expected, in_.slots())] = static_cast<std::int64_t>(sender);
  }

  void tell(Notice::Kind kind, std::int64_t end) {
    Notice notice{};
    notice.kind = kind;
    notice.batch = first_;
    notice.end = end;
    socket_.send(&notice, sizeof notice);
  }
  bool heard(Notice::Kind kind) const noexcept {
    return socket_.notice.kind == kind && socket_.notice.batch == first_;
  }
  bool is_same() const noexcept { return in_.at(0) == out_.at(0); }

  DatagramSocket& socket_;
  Ring out_, in_;
  std::size_t size_;
  const DatagramBatch& batch_;
  std::int64_t first_, counted_, after_;
  // A message of another buffer's lies in one that is sent from: no more can be said of what comes.
  bool spoilt_ = false;
};

class DatagramInitiator : protected DatagramEnd {
 protected:
  using DatagramEnd::DatagramEnd;

  // Tells the responder that the batch is over. It does not stay to be asked again, so no answer is
  // no harm: the word, or what it says, was lost.
  bool finish(std::int64_t end) {
    for (int tries = 0; tries < kTries; ++tries) {
      tell(Notice::ends, end);
      Waiting waiting{std::min(socket_.patience.limit(), kPause_ns << tries)};
      if (await(waiting, [&] { return heard(Notice::ended); })) return true;
    }
    return false;
  }

  // Gives up by `step`, if that is what it throws; the responder need not wait for more.
  template <class Step>
  void give_up_by(Step step) {
    try {
      step();
    } catch (const NoAnswer&) {
      tell(Notice::ends, after_);
      throw;
    }
  }

  // Waits for a notice, and leaves out all else.
  template <class Wanted>
  bool await(Waiting& waiting, Wanted wanted) {
    for (;;) {
      const Arrival arrival = socket_.receive(nullptr, 0, false, waiting);
      if (arrival == Arrival::none) return false;
      if (arrival == Arrival::notice && wanted()) return true;
      if (socket_.pass(waiting)) return false;
    }
  }

 private:
  static constexpr int kTries = 6;
  static constexpr Ticks kPause_ns = 5'000'000;
};

class DatagramResponder : protected DatagramEnd {
 protected:
  using DatagramEnd::DatagramEnd;

  // Takes what comes until the batch is over. `on_data(number, buffer)` gets each datagram of this
  // batch, `on_question()` what else the initiator says of it.
  template <class OnData, class OnQuestion>
  void serve(OnData on_data, OnQuestion on_question) {
    // What the initiator sends may get lost, so that it seems to be silent, until it gives up by
    // itself; before that a responder that has left would be the loss of all that follows. It gives
    // up when nothing was answered for so long. At a rate it first goes on to the end of the window
    // that is under way, and sends the next while it waits for the answer. A rank may be late by
    // itself, too.
    const double windows = 2 * static_cast<double>(batch_.window) * batch_.interval;
    const Ticks idle = socket_.patience.longest_vain() +
                       static_cast<Ticks>(windows * batch_.ns_per_tick) + kLate_ns;
    Waiting waiting{idle};
    std::int64_t expected = first_;
    bool anything = false;
    for (;;) {
      std::byte* in = in_at(expected);
      const Arrival arrival = socket_.receive(in, size_, batch_.verified(), waiting);
      if (arrival == Arrival::none) {
        // Who has heard of the initiator has missed its last word only.
        if (anything) return;
        throw NoAnswer("nothing came for " + seconds(idle));
      }
      if (arrival == Arrival::notice && socket_.notice.batch == first_) {
        if (socket_.notice.kind == Notice::ends) return;
        on_question();
        expected = std::max(expected, socket_.notice.end);
      } else {
        const std::int64_t number =
            arrival == Arrival::data ? Head::read(in, size_, expected) : after_;
        if (arrival != Arrival::notice) hold(expected, number, is_ours(number));
        if (!is_ours(number)) {
          if (socket_.pass(waiting)) waiting.patience = 0;
          continue;
        }
        on_data(number, in);
        expected = std::max(expected, number + 1);
      }
      anything = true;
      waiting = {idle};
    }
  }

 private:
  static constexpr Ticks kLate_ns = 1'000'000'000;
};

}  // namespace halftrip
