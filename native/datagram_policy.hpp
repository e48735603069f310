// What the patterns over datagrams decide: how long to wait for a reply, when to send the next
// datagram, which arrivals are duplicates, what the jitter is. These are state machines that are
// fed with times, so tests can feed them made ones: no socket, no clock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "clock.hpp"
#include "errors.hpp"

namespace halftrip {

inline std::string seconds(Ticks ns) {
  std::string text = std::to_string(static_cast<double>(ns) * 1e-9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

// How long to wait for a reply, ns. At first as long as is allowed, `limit`. Once replies have
// come, many times the slowest of the recent ones, and at least `shortest`, so that a lost datagram
// does not cost the whole limit.
class ReplyTimeout {
 public:
  static constexpr Ticks kShortest_ns = 10'000'000;
  // After so many misses in a row, each at the limit, missed() throws.
  static constexpr int kMisses = 5;

  explicit ReplyTimeout(Ticks limit, Ticks shortest = kShortest_ns)
      : limit_(limit), shortest_(shortest) {}

  Ticks limit() const noexcept { return limit_; }
  Ticks current() const noexcept { return current_; }

  // An upper bound of the time without a reply before missed() throws. The last kMisses waits are
  // as long as the limit. The wait before them is shorter than it; each of those before that is at
  // most half as long as the next, so together they are shorter than it, too.
  Ticks longest_silence() const noexcept { return (kMisses + 2) * limit_; }

  void replied(Ticks ns) noexcept {
    slowest_ = std::max(ns, slowest_ - slowest_ / kMemory);
    current_ = std::min(std::max(shortest_, kTimes * slowest_), limit_);
    misses_ = 0;
  }

  // A reply came after its wait had ended.
  void was_too_short() noexcept { current_ = limit_; }

  // No reply came in time. Throws NoAnswer after kMisses in a row at the limit.
  void missed() {
    if (current_ >= limit_ && ++misses_ == kMisses) {
      const std::string times = std::to_string(misses_);
      const std::string each = seconds(limit_);
      reset();
      throw NoAnswer("no answer to " + times + " datagrams within " + each + " each");
    }
    current_ = std::min(2 * current_, limit_);
  }

  // Forgets all replies: those of another configuration take another time.
  void reset() noexcept {
    slowest_ = 0;
    misses_ = 0;
    current_ = limit_;
  }

 private:
  static constexpr Ticks kTimes = 20, kMemory = 64;

  Ticks limit_, shortest_, current_ = limit_, slowest_ = 0;
  int misses_ = 0;
};

// When the next datagram is due, where one is to go every `interval` from `start` on. A sender that
// was late catches up, but by no more than `max_lag`, and never in a burst: no datagram goes sooner
// after another than half an interval. All times are ticks.
class Pacer {
 public:
  Pacer(double interval, double start, double max_lag) noexcept
      : interval_(interval), max_lag_(max_lag), due_(start) {}

  double next() const noexcept { return std::max(due_, last_ + interval_ / 2); }

  // The next one was sent at `now`.
  void sent(double now) noexcept {
    last_ = now;
    due_ = std::max(due_ + interval_, now - max_lag_);
  }

  // Time lost so far is not caught up.
  void forgive() noexcept { due_ = std::max(due_, last_ + interval_); }

 private:
  double interval_, max_lag_, due_;
  double last_ = -std::numeric_limits<double>::infinity();
};

// Interarrival jitter (RFC 3550, 6.4.1 and A.8): the smoothed difference between the transit times
// of one datagram and the next. The clocks of both ends may differ.
class Jitter {
 public:
  // In order of arrival, ns.
  void arrived(Ticks sent, Ticks received) noexcept {
    const Ticks transit = received - sent;
    if (count_++ > 0) ns_ += (static_cast<double>(std::abs(transit - transit_)) - ns_) / 16;
    transit_ = transit;
  }

  // It takes two datagrams.
  bool is_known() const noexcept { return count_ > 1; }
  double ns() const noexcept { return ns_; }

 private:
  std::int64_t count_ = 0;
  Ticks transit_ = 0;
  double ns_ = 0;
};

// Which of the latest numbers have arrived, so that none counts twice.
class DuplicateFilter {
 public:
  // Numbers begin at `first`. The filter knows at least the `span` numbers below the highest.
  DuplicateFilter(std::int64_t first, std::int64_t span)
      : highest_(first - 1),
        words_(
            std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(span, 4096)) / 64 + 1)) {}

  std::int64_t highest() const noexcept { return highest_; }

  // Returns whether `number` is new. One below what the filter knows counts as a duplicate.
  bool add(std::int64_t number) noexcept {
    const auto span = static_cast<std::int64_t>(words_.size() * 64);
    if (number <= highest_ - span) return false;
    const std::int64_t from = std::max(highest_, number - span) + 1;
    for (std::int64_t skipped = from; skipped <= number; ++skipped) word(skipped) &= ~bit(skipped);
    highest_ = std::max(highest_, number);
    const bool is_new = (word(number) & bit(number)) == 0;
    word(number) |= bit(number);
    return is_new;
  }

 private:
  std::uint64_t& word(std::int64_t number) noexcept {
    return words_[(static_cast<std::size_t>(number) / 64) % words_.size()];
  }
  static std::uint64_t bit(std::int64_t number) noexcept {
    return std::uint64_t{1} << (number & 63);
  }

  std::int64_t highest_;
  std::vector<std::uint64_t> words_;
};

}  // namespace halftrip
