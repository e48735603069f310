// A connected datagram socket: a message arrives whole, or not, or late, or twice.
//
// Every datagram of data begins with its number, in as many of eight bytes as it has room for.
// Numbers never start again, so an answer that comes too late is not taken for the next. Beside the
// data go notices: of one length, and with a magic number that no datagram's number is equal to.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "../clock.hpp"
#include "../datagram_policy.hpp"
#include "../wait.hpp"

namespace halftrip {

static_assert(std::endian::native == std::endian::little, "the low bytes of a number come first");

// What the ends of a pattern tell each other beside the data. All counts are of one batch.
struct Notice {
  static constexpr std::uint64_t kMagic = 0xa51f7219c3d2e847;  // the top bit is set
  enum Kind : std::int64_t { asks, answers, ends, ended };

  std::uint64_t magic = kMagic;
  std::int64_t kind;
  std::int64_t batch;         // the number of the batch's first datagram
  std::int64_t end;           // the number after that of the last datagram sent
  std::int64_t received = 0;  // of those that count, each once
  std::int64_t late = 0;      // of these, how many came after one that was sent later
  std::int64_t jitter = -1;   // ns; -1: not known
};

// The number of which `low` are the low `width` bytes: the one that is nearest to `expected`
// (RFC 9000, A.3).
inline std::int64_t whole_number(std::int64_t low, std::size_t width, std::int64_t expected) {
  if (width >= sizeof low) return low;
  const std::int64_t span = std::int64_t{1} << (8 * width);
  const std::int64_t number = (expected & ~(span - 1)) | low;
  if (number <= expected - span / 2) return number + span;
  if (number > expected + span / 2) return number - span;
  return number;
}

class DatagramSocket {
 public:
  enum class Arrival { none, other, data, notice };

  // One wait for something to arrive. It begins when there was nothing at first, so that a wait
  // which is over at once costs no look at the clock.
  struct Waiting {
    Ticks patience;  // ns
    Ticks began = 0;
  };

  // The descriptor stays the caller's, and so does its mode: it blocks unless it `spins`, and then
  // for no longer than `tick_ns` at a time. `timeout_ns` is the most that an answer may take, and
  // `shortest_ns` is how long is waited for one at least, if that is less.
  DatagramSocket(int fd, bool spins, bool yields, Ticks timeout_ns, Ticks shortest_ns)
      : patience(timeout_ns, shortest_ns), fd_(fd), spins_(spins), yields_(yields) {}

  void send(const void* out, std::size_t size) {
    check_stop();
    for (;;) {
      if (::send(fd_, out, size, 0) >= 0) [[likely]]
        return;
      // No room, here or in the device's queue.
      if (errno == ENOBUFS)
        sched_yield();
      else if (errno != EINTR && errno != EAGAIN)
        fail();
      check_stop();
      if (yields_) sched_yield();
    }
  }

  // Waits for a datagram of `size` bytes, which goes to `in`, or for a notice, which is then in
  // `notice`. With `whole`, a notice leaves `in` as it was. `other`: what came is neither.
  Arrival receive(std::byte* in, std::size_t size, bool whole, Waiting& waiting) {
    for (;;) {
      const bool sleeps = !spins_ && waiting.patience >= kTick_ns;
      if (!spins_ && !sleeps) doze(waiting.patience);
      const Arrival arrival = take(in, size, whole, sleeps ? 0 : MSG_DONTWAIT);
      if (arrival != Arrival::none) return arrival;
      check_stop();
      if (pass(waiting, sleeps ? kTick_ns : 0)) return Arrival::none;
      if (spins_ && yields_) sched_yield();
    }
  }

  // Counts an arrival that nobody waited for as no end of the wait; true where its time is over.
  bool pass(Waiting& waiting, Ticks already = 0) {
    if (given_up_.load(std::memory_order_relaxed)) [[unlikely]] {
      given_up_.store(false, std::memory_order_relaxed);
      return true;
    }
    const Ticks now = MonotonicClock::now();
    if (waiting.began == 0) waiting.began = now - already;
    return now - waiting.began >= waiting.patience;
  }

  // From another thread: the wait that goes on, or else the next, ends as if its time were over.
  // Whoever knows that an answer will not come need not wait for it; a test that loses datagrams
  // does, and no clock has a part in what it sees.
  void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }

  // As receive, for what is there already.
  Arrival look(std::byte* in, std::size_t size) { return take(in, size, false, MSG_DONTWAIT); }

  // Leaves out all that is there already.
  void drain() {
    std::byte nothing;
    while (::recv(fd_, &nothing, 1, MSG_DONTWAIT) >= 0) check_stop();
    if (errno != EAGAIN && errno != EINTR) fail();
  }

  // Gives out the numbers of a batch. Both ends do, of as many, so that they agree on the first
  // whatever has become of the batches before.
  std::int64_t take_numbers(std::int64_t count) noexcept {
    const std::int64_t first = next_;
    next_ += count;
    return first;
  }

  // A new case: its first message lies in the first buffer, and it takes its own time.
  void restart() noexcept {
    case_first_ = next_;
    patience.restart();
  }

  // In which of so many buffers the message of that number lies.
  std::size_t slot(std::int64_t number, std::size_t slots) const noexcept {
    return slots == 1 ? 0 : static_cast<std::size_t>(number - case_first_) % slots;
  }

  Patience patience;
  Notice notice{};
  // The longest that a call sleeps, ns: SO_RCVTIMEO and SO_SNDTIMEO of a socket that blocks.
  static constexpr Ticks kTick_ns = 10'000'000;

 private:
  Arrival take(std::byte* in, std::size_t size, bool whole, int flags) {
    std::array<std::byte, sizeof(Notice) + 1> head;
    const bool is_short = size <= sizeof(Notice);
    ssize_t length;
    if (is_short) {
      length = ::recv(fd_, head.data(), head.size(), flags | MSG_TRUNC);
    } else if (whole) {
      std::array<iovec, 2> parts{
          {{head.data(), sizeof(Notice)}, {in + sizeof(Notice), size - sizeof(Notice)}}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      length = ::recvmsg(fd_, &message, flags | MSG_TRUNC);
    } else {
      length = ::recv(fd_, in, size, flags | MSG_TRUNC);
    }
    if (length < 0) [[unlikely]] {
      if (errno != EAGAIN && errno != EINTR) fail();
      return Arrival::none;
    }
    const auto arrived = static_cast<std::size_t>(length);
    const std::byte* start = is_short || whole ? head.data() : in;
    if (arrived == sizeof(Notice)) {
      Notice read;
      std::memcpy(&read, start, sizeof read);
      if (read.magic == Notice::kMagic) {
        notice = read;
        return Arrival::notice;
      }
    }
    if (arrived != size || size == 0) return Arrival::other;
    if (start == head.data()) std::memcpy(in, start, std::min(size, sizeof(Notice)));
    return Arrival::data;
  }

  // Sleeps until something is there, for less than a tick.
  void doze(Ticks ns) {
    pollfd end{fd_, POLLIN, 0};
    const timespec limit{0, static_cast<long>(ns)};
    ::ppoll(&end, 1, &limit, nullptr);
  }

  [[noreturn]] static void fail() { throw std::system_error(errno, std::system_category()); }

  int fd_;
  bool spins_, yields_;
  std::atomic<bool> given_up_{false};
  std::int64_t next_ = 0, case_first_ = 0;
};

}  // namespace halftrip
