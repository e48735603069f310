// Stream over datagrams.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "datagram.hpp"

namespace halftrip {

// Stream: a window of datagrams, then the receiver is asked for a report of what has arrived. At a
// rate the next window does not wait for the report, so that the rate has no gaps.
class DatagramSource : DatagramInitiator {
 public:
  DatagramSource(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramInitiator(socket, buffers, batch) {}

  DatagramResult run() {
    socket_.drain();
    if (batch_.interval > 0) {
      send_at_rate();
    } else {
      std::int64_t end = first_;
      result_.timestamps = batch_.timing.timestamps.size();
      timed(batch_.timing, [&] {
        for (end += batch_.window; next_ < end;) send(next_++);
        request_report(end);
        await_report();
      });
    }
    // What arrived after the last report counts, too.
    if (finish(after_)) take_figures();
    result_.sent = after_ - counted_;
    result_.lost = std::max<std::int64_t>(0, result_.sent - received_);
    return result_;
  }

 private:
  // The first pause before a report is requested again, ns. A full buffer has dropped the request,
  // too, but soon has room again.
  static constexpr Ticks kRepeat_ns = 200'000;
  static constexpr int kTimeouts = ReplyTimeout::kMisses;
  // No sleep ends in time, so the last of a wait is polled.
  static constexpr double kPolled_ns = 200'000, kLongestSleep_ns = 50'000'000;
  // A sender that lags by more does not catch up.
  static constexpr double kMaxLag_ns = 100'000'000;

  // A window ends when its report has been taken, while the next one is being sent: no loop over
  // one window after the other has such times.
  void send_at_rate() {
    const Ticks start = now();
    pacer_ = Pacer(batch_.interval, static_cast<double>(start), kMaxLag_ns / batch_.ns_per_tick);
    if (batch_.timing.untimed == 0) take_timestamp(start);
    for (std::int64_t end = first_ + batch_.window; end <= after_; end += batch_.window) {
      // Time lost in the warm-up is not caught up in what counts.
      if (next_ == counted_) pacer_.forgive();
      while (next_ < end) {
        pace();
        send(next_++);
      }
      if (pending_ != 0) await_report();
      request_report(end);
    }
    await_report();
  }

  void take_timestamp(Ticks at) { batch_.timing.timestamps[result_.timestamps++] = at; }

  void request_report(std::int64_t end) {
    pending_ = end;
    send_control(Kind::report_request, end);
  }

  void send(std::int64_t number) {
    std::byte* out = out_at(number);
    DatagramHeader::write_number(out, size_, number);
    if (is_timestamped_) DatagramHeader::write_time(out, MonotonicClock::now());
    socket_.send(out, size_);
  }

  // Waits until a datagram is due.
  void pace() {
    const double due = pacer_.next();
    for (;;) {
      const auto now = static_cast<double>(this->now());
      const double ns = (due - now) * batch_.ns_per_tick;
      if (ns <= 0) return pacer_.sent(now);
      check_stop();
      if (pending_ != 0) {
        if (socket_.receive_now() == Arrival::control) take_report();
      } else if (ns > kPolled_ns) {
        const double sleep = std::min(ns - kPolled_ns / 2, kLongestSleep_ns);
        const timespec time{0, static_cast<long>(sleep)};
        ::nanosleep(&time, nullptr);
      } else {
        relax();
      }
    }
  }

  void await_report() {
    const Ticks limit = socket_.reply_timeout.limit();
    Ticks pause = std::min(std::max(kRepeat_ns, 4 * slowest_), limit);
    Ticks waited = 0;
    for (std::int64_t requests = 1; pending_ != 0; ++requests) {
      ArrivalWait wait{pause};
      const Ticks requested_at = now();
      if (await_control(wait, [&] { return take_report(); })) {
        const auto took = static_cast<double>(now() - requested_at) * batch_.ns_per_tick;
        slowest_ = std::max(static_cast<Ticks>(took), slowest_ - slowest_ / 64);
        return;
      }
      waited += pause;
      if (waited >= kTimeouts * limit)
        release_peer_on_no_answer([&] {
          throw NoAnswer("no report of what arrived within " + seconds(kTimeouts * limit) +
                         ", asked for " + std::to_string(requests) + " times");
        });
      pause = std::min(2 * pause, limit);
      send_control(Kind::report_request, pending_);
    }
  }

  // Takes the report that is pending; returns whether the last control message is that one.
  bool take_report() {
    if (!is_control(Kind::report) || socket_.control.end != pending_) return false;
    take_figures();
    if (batch_.interval > 0 && pending_ >= counted_) take_timestamp(now());
    pending_ = 0;
    return true;
  }

  void take_figures() {
    received_ = socket_.control.received;
    result_.reordered = socket_.control.reordered;
    result_.jitter = socket_.control.jitter;
  }

  DatagramResult result_;
  Ticks slowest_ = 0;  // of the recent reports, ns
  Pacer pacer_{0, 0, 0};
  std::int64_t next_ = first_;  // to be sent
  std::int64_t pending_ = 0;    // the end of the window whose report is awaited; 0: none
  std::int64_t received_ = 0;
};

class DatagramSink : DatagramResponder {
 public:
  DatagramSink(DatagramSocket& socket, Buffers buffers, const DatagramBatch& batch)
      : DatagramResponder(socket, buffers, batch), arrived_(first_, 2 * batch.window) {}

  DatagramResult run() {
    reported_ = first_;
    if (batch_.timing.untimed == 0) take_timestamp();
    serve([&](std::int64_t number, std::byte* in) { take(number, in); },
          [&] {
            if (!is_control(Kind::report_request)) return;
            const std::int64_t end = socket_.control.end;
            if (end > reported_) record_time(end);
            report(Kind::report, end);
          });
    // Twice: it may be lost.
    for (int i = 0; i < 2; ++i) report(Kind::end_ack, after_);
    return result_;
  }

 private:
  void take(std::int64_t number, const std::byte* in) {
    const Ticks now = is_timestamped_ ? MonotonicClock::now() : 0;
    const bool is_late = number < arrived_.highest();
    if (!arrived_.add(number) || number < counted_) return;
    ++received_;
    if (is_late) ++result_.reordered;
    if (is_timestamped_) jitter_.arrived(DatagramHeader::read_time(in), now);
  }

  // A window ends at its first report request.
  void record_time(std::int64_t end) {
    if (end >= counted_ && result_.timestamps < batch_.timing.timestamps.size()) take_timestamp();
    reported_ = end;
  }

  void take_timestamp() { batch_.timing.timestamps[result_.timestamps++] = now(); }

  void report(Kind kind, std::int64_t end) {
    socket_.send(ControlMessage{
        .kind = kind,
        .batch = first_,
        .end = end,
        .received = received_,
        .reordered = result_.reordered,
        .jitter = jitter_.is_known() ? std::llround(jitter_.ns()) : -1,
    });
  }

  DuplicateFilter arrived_;
  DatagramResult result_;
  Jitter jitter_;
  std::int64_t reported_ = 0, received_ = 0;
};

}  // namespace halftrip
