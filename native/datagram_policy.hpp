// What the patterns over datagrams decide: how long to wait for an answer, when to send the next,
// what counts twice, what jitter is. State machines that are fed with times, so that each can be
// tested with made ones: no socket, no clock.
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

// How long to wait for an answer, ns: as long as is allowed, until some have come; then for many
// times the slowest of late, and `shortest` at least, so that what is lost does not cost a whole
// timeout.
class Patience {
 public:
  static constexpr Ticks kShortest_ns = 10'000'000;
  // So many in a row that were given all the time there is are the end.
  static constexpr int kMisses = 5;

  explicit Patience(Ticks limit, Ticks shortest = kShortest_ns)
      : limit_(limit), shortest_(shortest) {}

  Ticks limit() const noexcept { return limit_; }
  Ticks length() const noexcept { return length_; }

  // Before missed() throws, nothing is answered for less than this: the last kMisses waits are as
  // long as is allowed; the one before them is shorter, and those before that, each at most half of
  // the next, are shorter together than it is.
  Ticks longest_vain() const noexcept { return (kMisses + 2) * limit_; }

  void answered(Ticks ns) noexcept {
    slowest_ = std::max(ns, slowest_ - slowest_ / kMemory);
    length_ = std::min(std::max(shortest_, kTimes * slowest_), limit_);
    misses_ = 0;
  }

  // An answer that came after it was given up: it was too soon.
  void was_short() noexcept { length_ = limit_; }

  // Throws NoAnswer where so many in a row have been given all the time there is.
  void missed() {
    if (length_ >= limit_ && ++misses_ == kMisses) {
      const std::string times = std::to_string(misses_);
      const std::string each = seconds(limit_);
      restart();
      throw NoAnswer("no answer to " + times + " datagrams within " + each + " each");
    }
    length_ = std::min(2 * length_, limit_);
  }

  // Forgets all: another case takes another time.
  void restart() noexcept {
    slowest_ = 0;
    misses_ = 0;
    length_ = limit_;
  }

 private:
  static constexpr Ticks kTimes = 20, kMemory = 64;

  Ticks limit_, shortest_, length_ = limit_, slowest_ = 0;
  int misses_ = 0;
};

// When the next datagram is due, where one is offered every `interval` from `start` on. Time that
// was lost is made up for, but for what the sender is behind by more than `most_behind`, and never
// by a burst: no datagram goes sooner after another than half of what the rate asks for. All times
// are ticks.
class Pacer {
 public:
  Pacer(double interval, double start, double most_behind) noexcept
      : interval_(interval), most_behind_(most_behind), due_(start) {}

  double next() const noexcept { return std::max(due_, last_ + interval_ / 2); }

  // The next was sent, at `now`.
  void let_go(double now) noexcept {
    last_ = now;
    due_ = std::max(due_ + interval_, now - most_behind_);
  }

  // What has been lost so far is not made up for.
  void forgive() noexcept { due_ = std::max(due_, last_ + interval_); }

 private:
  double interval_, most_behind_, due_;
  double last_ = -std::numeric_limits<double>::infinity();
};

// Interarrival jitter (RFC 3550, 6.4.1 and A.8): by how much each was longer on its way than the
// one before, smoothed. The clocks of both ends may differ.
class Jitter {
 public:
  // In order of arrival, ns.
  void arrived(Ticks sent, Ticks received) noexcept {
    const Ticks transit = received - sent;
    if (count_++ > 0) ns_ += (static_cast<double>(std::abs(transit - transit_)) - ns_) / 16;
    transit_ = transit;
  }

  // Of one datagram nothing can be said.
  bool is_known() const noexcept { return count_ > 1; }
  double ns() const noexcept { return ns_; }

 private:
  std::int64_t count_ = 0;
  Ticks transit_ = 0;
  double ns_ = 0;
};

// Which of the latest numbers have come, so that none counts twice.
class Seen {
 public:
  // Of `most` numbers behind the highest, at least.
  Seen(std::int64_t first, std::int64_t most)
      : highest_(first - 1),
        words_(
            std::bit_ceil(static_cast<std::size_t>(std::max<std::int64_t>(most, 4096)) / 64 + 1)) {}

  std::int64_t highest() const noexcept { return highest_; }

  // Whether `number` is new; one that is too old to tell is not.
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
