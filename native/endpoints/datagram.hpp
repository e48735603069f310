// A connected datagram socket: a message arrives whole, or not at all, or late, or twice.
//
// Every datagram of data begins with its number, in as many of eight bytes as it has room for; see
// DatagramHeader. Numbers never start again, so a late reply is not taken for the next one. Beside
// the data go control messages.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "../clock.hpp"
#include "../datagram_policy.hpp"
#include "../wait.hpp"
#include "control_message.hpp"

namespace halftrip {

class DatagramSocket {
 public:
  // What has arrived: nothing in time, a message of the length asked for, a control message, which
  // is then in `control`, or something else.
  enum class Arrival { none, data, control, other };

  // One wait for an arrival. `began` is set when nothing was there at first, so that a wait that is
  // over at once reads no clock.
  struct ArrivalWait {
    Ticks timeout;  // ns
    Ticks began = 0;
  };

  // SO_RCVTIMEO and SO_SNDTIMEO of a socket that blocks, ns. The kernel counts them in jiffies, and
  // sleeps for up to twice as long where these are 4 ms.
  static constexpr Ticks kTick_ns = 4'000'000;

  // The descriptor stays the caller's, and so does its mode: non-blocking where it `spins`, else
  // blocking for about kTick_ns at a time. A reply is waited for at most `timeout_ns`, and at
  // least `shortest_ns` if that is less.
  DatagramSocket(int fd, bool spins, bool yields, Ticks timeout_ns, Ticks shortest_ns)
      : reply_timeout(timeout_ns, shortest_ns), fd_(fd), spins_(spins), yields_(yields) {}

  void send(const void* out, std::size_t size) {
    check_stop();
    for (;;) {
      if (::send(fd_, out, size, 0) >= 0) [[likely]]
        return;
      // No room, in the socket or in the device's queue.
      if (errno == ENOBUFS)
        sched_yield();
      else if (errno != EINTR && errno != EAGAIN)
        fail();
      check_stop();
      if (yields_) sched_yield();
    }
  }

  void send(const ControlMessage& message) {
    const auto bytes = message.encode();
    send(bytes.data(), bytes.size());
  }

  // Waits for a datagram of `size` bytes, which goes to `in`, or for a control message. A control
  // message may leave part of itself in `in`, unless `in` is to be `kept`.
  Arrival receive(std::byte* in, std::size_t size, bool kept, ArrivalWait& wait) {
    return receive(in, size, kept, wait, [] { return kTick_ns; });
  }

  // The same. `waited` says how long the wait has lasted, ns, or a lower bound of that: it is asked
  // when a first sleep was in vain. So a message that comes in that sleep costs one system call and
  // no clock reading.
  template <class Waited>
  Arrival receive(std::byte* in, std::size_t size, bool kept, ArrivalWait& wait, Waited waited) {
    for (;;) {
      int flags = MSG_DONTWAIT;
      Ticks slept = 0;
      if (!spins_) {
        const Ticks left = time_left(wait);
        if (left >= kLeastForTick_ns)
          flags = 0;
        else if (!sleep_until_readable(left))
          slept = left;
      }
      // What has come when the time was over is late.
      if (slept == 0) {
        const Arrival arrival = receive_one(in, size, kept, flags);
        if (arrival != Arrival::none) return arrival;
        if (flags == 0 && wait.began == 0) slept = waited();
      }
      check_stop();
      if (is_over(wait, slept)) return Arrival::none;
      if (spins_ && yields_) sched_yield();
    }
  }

  // As receive() with nothing kept, for what is there already.
  Arrival receive_now() { return receive_one(nullptr, 0, false, MSG_DONTWAIT); }

  // Whether the time of a wait is over. `slept`: how long the call before has slept, ns. To be
  // asked after every arrival that does not end the wait, so that such arrivals cannot prolong it.
  bool is_over(ArrivalWait& wait, Ticks slept = 0) {
    if (wait_ended_.load(std::memory_order_relaxed)) [[unlikely]] {
      wait_ended_.store(false, std::memory_order_relaxed);
      return true;
    }
    const Ticks now = MonotonicClock::now();
    if (wait.began == 0) wait.began = now - slept;
    return now - wait.began >= wait.timeout;
  }

  // From another thread: ends the current wait, or else the next one, as if its time were over. A
  // test that drops a datagram knows that no reply will come, and need not depend on a clock.
  void end_wait() noexcept { wait_ended_.store(true, std::memory_order_relaxed); }

  // Discards all that has arrived.
  void drain() {
    std::byte nothing;
    while (::recv(fd_, &nothing, 1, MSG_DONTWAIT) >= 0) check_stop();
    if (errno != EAGAIN && errno != EINTR) fail();
  }

  // Gives out the numbers of a batch and returns the first. Both ends take as many, so they agree
  // on it whatever has become of the batches before.
  std::int64_t take_numbers(std::int64_t count) noexcept {
    const std::int64_t first = next_;
    next_ += count;
    return first;
  }

  // Another configuration, which had `before` messages so far: its first one was in the first
  // buffer. Its replies take their own time.
  void restart(std::int64_t before) noexcept {
    configuration_first_ = next_ - before;
    reply_timeout.reset();
  }

  // Which of `slots` buffers the message of that number is in.
  std::size_t slot(std::int64_t number, std::size_t slots) const noexcept {
    return slots == 1 ? 0 : static_cast<std::size_t>(number - configuration_first_) % slots;
  }

  ReplyTimeout reply_timeout;
  ControlMessage control{};

 private:
  // What a control message may take of the buffer of a datagram.
  static constexpr std::size_t kHead = ControlMessage::kSize;

  Arrival receive_one(std::byte* in, std::size_t size, bool kept, int flags) {
    // One byte more: a datagram that is too long shows.
    std::array<std::byte, kHead + 1> head;
    const bool is_short = size <= kHead;
    ssize_t length;
    if (is_short) {
      length = ::recv(fd_, head.data(), head.size(), flags | MSG_TRUNC);
    } else if (kept) {
      std::array<iovec, 2> parts{{{head.data(), kHead}, {in + kHead, size - kHead}}};
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
    // MSG_TRUNC: the datagram's length, of which only what had room is there.
    const auto arrived = static_cast<std::size_t>(length);
    const std::byte* start = is_short || kept ? head.data() : in;
    if (ControlMessage::is_at(start, arrived)) [[unlikely]]
      return keep_control({start, std::min(arrived, kHead + 1)});
    if (arrived != size || size == 0) return Arrival::other;
    if (start == head.data()) std::memcpy(in, start, std::min(size, kHead));
    return Arrival::data;
  }

  Arrival keep_control(std::span<const std::byte> bytes) {
    const auto message = ControlMessage::decode(bytes);
    if (!message) return Arrival::other;
    control = *message;
    return Arrival::control;
  }

  // A sleep of a tick is over in less than this, ns. What is left of a wait, if it is less, is
  // slept by a finer timer.
  static constexpr Ticks kLeastForTick_ns = 10'000'000;

  static Ticks time_left(const ArrivalWait& wait) {
    if (wait.began == 0) return wait.timeout;
    return std::max<Ticks>(wait.timeout - (MonotonicClock::now() - wait.began), 0);
  }

  // For less than a second. Returns false if nothing has come in that time.
  bool sleep_until_readable(Ticks ns) {
    pollfd end{fd_, POLLIN, 0};
    const timespec limit{0, static_cast<long>(ns)};
    return ::ppoll(&end, 1, &limit, nullptr) != 0;
  }

  [[noreturn]] static void fail() { throw std::system_error(errno, std::system_category()); }

  int fd_;
  bool spins_, yields_;
  std::atomic<bool> wait_ended_{false};
  std::int64_t next_ = 0, configuration_first_ = 0;
};

}  // namespace halftrip
