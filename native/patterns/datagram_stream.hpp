// Stream over datagrams.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>

#include "datagram.hpp"

namespace halftrip {

// Stream: a window of datagrams, then the receiver is asked what has arrived. At a rate the next
// window does not wait for the answer, so that the rate has no gaps.
template <class Clock>
class DatagramSource : DatagramInitiator {
 public:
  DatagramSource(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramInitiator(socket, buffers, batch) {}

  Tally run() {
    socket_.drain();
    last_ = Clock::now();
    pacer_ =
        Pacer(batch_.interval, static_cast<double>(last_), kMostBehind_ns / batch_.ns_per_tick);
    if (batch_.lead == 0) tally_.start = last_;
    for (std::int64_t end = first_ + batch_.window; end <= after_; end += batch_.window) {
      // What was lost before anything counts is not made up for in what does.
      if (end - batch_.window == counted_) pacer_.forgive();
      for (std::int64_t number = end - batch_.window; number < end; ++number) {
        if (batch_.interval > 0) pace();
        send(number);
      }
      if (pending_ != 0) await_report();
      pending_ = end;
      tell(Notice::asks, end);
      if (batch_.interval == 0 || end == after_) await_report();
    }
    // What came after the last report has come all the same.
    if (finish(after_)) take_figures();
    tally_.sent = after_ - counted_;
    tally_.lost = std::max<std::int64_t>(0, tally_.sent - received_);
    return tally_;
  }

 private:
  // A report is asked for again after so long, ns, at first: a buffer that is full has no room for
  // the question either, but has in a moment.
  static constexpr Ticks kAgain_ns = 200'000;
  static constexpr int kTimeouts = Patience::kMisses;
  // No sleep ends in time; what is left of it is polled away.
  static constexpr double kSleepless_ns = 200'000, kLongestSleep_ns = 50'000'000;
  // What the sender is behind by more than this is not made up for.
  static constexpr double kMostBehind_ns = 100'000'000;

  void send(std::int64_t number) {
    std::byte* out = out_at(number);
    Head::write(out, size_, number);
    if (size_ >= Head::kStamped) {
      const Ticks now = MonotonicClock::now();
      std::memcpy(out + Head::kNumber, &now, sizeof now);
    }
    socket_.send(out, size_);
  }

  // Waits until a datagram is due.
  void pace() {
    const double due = pacer_.next();
    for (;;) {
      const auto now = static_cast<double>(Clock::now());
      const double ns = (due - now) * batch_.ns_per_tick;
      if (ns <= 0) return pacer_.let_go(now);
      check_stop();
      if (pending_ != 0) {
        if (socket_.look(nullptr, 0) == Arrival::notice) take_report();
      } else if (ns > kSleepless_ns) {
        const double sleep = std::min(ns - kSleepless_ns / 2, kLongestSleep_ns);
        const timespec time{0, static_cast<long>(sleep)};
        ::nanosleep(&time, nullptr);
      } else {
        relax();
      }
    }
  }

  void await_report() {
    const Ticks limit = socket_.patience.limit();
    Ticks again = std::min(std::max(kAgain_ns, 4 * slowest_), limit);
    Ticks waited = 0;
    for (std::int64_t asked = 1; pending_ != 0; ++asked) {
      Waiting waiting{again};
      const Ticks asked_at = Clock::now();
      if (await(waiting, [&] { return take_report(); })) {
        const auto took = static_cast<double>(Clock::now() - asked_at) * batch_.ns_per_tick;
        slowest_ = std::max(static_cast<Ticks>(took), slowest_ - slowest_ / 64);
        return;
      }
      waited += again;
      if (waited >= kTimeouts * limit)
        give_up_by([&] {
          throw NoAnswer("no report of what arrived within " + seconds(kTimeouts * limit) +
                         ", asked for " + std::to_string(asked) + " times");
        });
      again = std::min(2 * again, limit);
      tell(Notice::asks, pending_);
    }
  }

  // Takes the report that is pending, if this is it.
  bool take_report() {
    if (!heard(Notice::answers) || socket_.notice.end != pending_) return false;
    const Ticks now = Clock::now();
    take_figures();
    if (pending_ > counted_)
      batch_.times[static_cast<std::size_t>(tally_.samples++)] = now - last_;
    else if (pending_ == counted_)
      tally_.start = now;
    last_ = now;
    pending_ = 0;
    return true;
  }

  void take_figures() {
    received_ = socket_.notice.received;
    tally_.late = socket_.notice.late;
    tally_.jitter = socket_.notice.jitter;
  }

  Tally tally_;
  Ticks last_ = 0, slowest_ = 0;
  Pacer pacer_{0, 0, 0};
  std::int64_t pending_ = 0, received_ = 0;
};

template <class Clock>
class DatagramSink : DatagramResponder {
 public:
  DatagramSink(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramResponder(socket, buffers, batch), seen_(first_, 2 * batch.window) {}

  Tally run() {
    reported_ = first_;
    if (batch_.lead == 0) last_ = Clock::now();
    serve([&](std::int64_t number, std::byte* in) { take(number, in); },
          [&] {
            if (!heard(Notice::asks)) return;
            if (socket_.notice.end > reported_) stamp(socket_.notice.end);
            report(Notice::answers, socket_.notice.end);
          });
    for (int i = 0; i < 2; ++i) report(Notice::ended, after_);
    return tally_;
  }

 private:
  void take(std::int64_t number, const std::byte* in) {
    const Ticks arrived = size_ >= Head::kStamped ? MonotonicClock::now() : 0;
    const bool late = number < seen_.highest();
    if (!seen_.add(number) || number < counted_) return;
    ++received_;
    if (late) ++tally_.late;
    if (size_ < Head::kStamped) return;
    Ticks sent;
    std::memcpy(&sent, in + Head::kNumber, sizeof sent);
    jitter_.arrived(sent, arrived);
  }

  void stamp(std::int64_t end) {
    const Ticks now = Clock::now();
    if (end > counted_ && static_cast<std::size_t>(tally_.samples) < batch_.times.size())
      batch_.times[static_cast<std::size_t>(tally_.samples++)] = now - last_;
    last_ = now;
    reported_ = end;
  }

  void report(Notice::Kind kind, std::int64_t end) {
    Notice notice{};
    notice.kind = kind;
    notice.batch = first_;
    notice.end = end;
    notice.received = received_;
    notice.late = tally_.late;
    if (jitter_.is_known()) notice.jitter = std::llround(jitter_.ns());
    socket_.send(&notice, sizeof notice);
  }

  Seen seen_;
  Tally tally_;
  Jitter jitter_;
  Ticks last_ = 0;
  std::int64_t reported_ = 0, received_ = 0;
};

}  // namespace halftrip
