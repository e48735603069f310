// A byte stream behind file descriptors: pipes, Unix sockets, TCP.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "../wait.hpp"

namespace halftrip {

enum class Wait {
  block,  // the kernel puts the caller to sleep; the descriptors are in blocking mode
  spin,   // the call is repeated until it succeeds; the descriptors are in non-blocking mode
  poll,   // the caller sleeps in poll() until it can read or write; non-blocking mode, too
};

// The calls that move bytes through a descriptor. Any kind of descriptor has these; whether they
// wait is its mode. A peer that has gone raises SIGPIPE, which Python ignores.
struct AnyDescriptor {
  template <Wait wait>
  static ssize_t write(int fd, const std::byte* out, std::size_t size) noexcept {
    return ::write(fd, out, size);
  }

  template <Wait wait>
  static ssize_t read(int fd, std::byte* in, std::size_t size) noexcept {
    return ::read(fd, in, size);
  }
};

// A socket has its own calls, which take a shorter way through the kernel: no file position, no
// permission checks by file. They raise no SIGPIPE, and say themselves whether they wait.
struct Socket {
  template <Wait wait>
  static ssize_t write(int fd, const std::byte* out, std::size_t size) noexcept {
    return send<wait>(fd, out, size, 0);
  }

  template <Wait wait>
  static ssize_t send(int fd, const std::byte* out, std::size_t size, int flags) noexcept {
    return ::send(fd, out, size, MSG_NOSIGNAL | kFlags<wait> | flags);
  }

  template <Wait wait>
  static ssize_t read(int fd, std::byte* in, std::size_t size) noexcept {
    return ::recv(fd, in, size, kFlags<wait>);
  }

 private:
  template <Wait wait>
  static constexpr int kFlags = wait == Wait::block ? 0 : MSG_DONTWAIT;
};

// The descriptors that messages come from and go to: one each, which may be the same one. Of these
// and those below, the descriptors stay the caller's.
class OneConnection {
 public:
  OneConnection(int in, int out) : in_(in), out_(out) {}

  int in() const noexcept { return in_; }
  int out() const noexcept { return out_; }

  // Called after each message.
  void received() noexcept {}
  void sent() noexcept {}

 private:
  int in_, out_;
};

// Several connections, each for both directions: message k of a direction goes over connection k
// modulo their number. The peer has them in the same order, and so takes messages in that order.
class SeveralConnections {
 public:
  // At least one.
  explicit SeveralConnections(std::vector<int> all) : all_(std::move(all)) {}

  int in() const noexcept { return all_[next_in_]; }
  int out() const noexcept { return all_[next_out_]; }

  void received() noexcept { advance(next_in_); }
  void sent() noexcept { advance(next_out_); }

 private:
  void advance(std::size_t& next) const noexcept {
    if (++next == all_.size()) next = 0;
  }

  std::vector<int> all_;
  std::size_t next_in_ = 0, next_out_ = 0;
};

// Calls that leave a message where it is: its buffer is free only when they say so.
template <class C>
concept InPlace = requires(C& calls) {
  { calls.is_free() } -> std::same_as<bool>;
  { calls.are_all_free() } -> std::same_as<bool>;
  { calls.sent() } -> std::same_as<void>;
  { calls.read_notifications() } -> std::same_as<void>;
  { calls.sleep() } -> std::same_as<void>;
};

template <Wait wait, class Calls, class Connections = OneConnection>
class ByteStream {
 public:
  ByteStream(Connections connections, bool yields, Calls calls = {})
      : connections_(std::move(connections)), calls_(std::move(calls)), yields_(yields) {}

  void send(const std::byte* out, std::size_t size) {
    if constexpr (InPlace<Calls>) wait_until([this] { return calls_.is_free(); });
    for (std::size_t done = 0; done < size;) {
      const std::size_t moved =
          bytes_moved(calls_.template write<wait>(connections_.out(), out + done, size - done));
      if (moved == 0) wait_for(0, POLLOUT);
      done += moved;
    }
    sent();
  }

  // From the caller's stack, and so never in place.
  void send_ack()
    requires InPlace<Calls>
  {
    const std::byte ack{};
    while (bytes_moved(Socket::write<wait>(connections_.out(), &ack, 1)) == 0) wait_for(0, POLLOUT);
  }

  // Returns when all buffers are free.
  void finish()
    requires InPlace<Calls>
  {
    wait_until([this] { return calls_.are_all_free(); });
  }

  void recv(std::byte* in, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t moved =
          bytes_moved(calls_.template read<wait>(connections_.in(), in + done, size - done));
      if (moved == 0) wait_for(POLLIN, 0);
      done += moved;
    }
    connections_.received();
  }

  // Writes as much as the stream takes, at most a message per call, and reads likewise.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received)
    requires(wait != Wait::block)
  {
    Transfer sending{out, count}, receiving{in, count};
    while (!sending.is_over() || !receiving.is_over()) {
      bool moved = false;
      while (!sending.is_over() && write_some(sending)) {
        moved = true;
        if (order == Order::in_turn) break;
      }
      if (!receiving.is_over() && read_some(receiving)) {
        moved = true;
        if (receiving.is_over()) received();
      }
      if (!moved) wait_for(receiving.is_over() ? 0 : POLLIN, sending.is_over() ? 0 : POLLOUT);
    }
  }

 private:
  bool write_some(Transfer& sending) {
    if (sending.is_between_messages()) {
      if constexpr (InPlace<Calls>) {
        // While the peer waits for this rank to read, no notification may come.
        if (!calls_.is_free()) return false;
      }
      sending.begin();
    }
    const std::size_t moved = bytes_moved(
        calls_.template write<wait>(connections_.out(), sending.here(), sending.left()));
    if (moved > 0) sending.advance(moved);
    if (sending.is_between_messages()) sent();
    return moved > 0;
  }

  bool read_some(Transfer& receiving) {
    if (receiving.is_between_messages()) receiving.begin();
    const std::size_t moved = bytes_moved(
        calls_.template read<wait>(connections_.in(), receiving.here(), receiving.left()));
    if (moved > 0) receiving.advance(moved);
    if (receiving.is_between_messages()) connections_.received();
    return moved > 0;
  }

  // Called after each message.
  void sent() {
    connections_.sent();
    if constexpr (InPlace<Calls>) calls_.sent();
  }

  template <class Condition>
  void wait_until(Condition condition)
    requires InPlace<Calls>
  {
    while (!condition()) {
      check_stop();
      if constexpr (wait != Wait::spin)
        calls_.sleep();
      else if (yields_)
        sched_yield();
    }
  }

  // How many bytes a read or write has moved, from what it returned; 0 where it could move none
  // now.
  static std::size_t bytes_moved(ssize_t result) {
    if (result > 0) [[likely]]
      return static_cast<std::size_t>(result);
    if (result == 0 || errno == EPIPE || errno == ECONNRESET) throw PeerClosed{};
    if (errno != EINTR && errno != EAGAIN) throw std::system_error(errno, std::system_category());
    return 0;
  }

  // Called between a call that moved nothing and the next one.
  void wait_for(short in_events, short out_events) {
    // A signal ends a blocking call, so that a stop is seen there, too.
    check_stop();
    // Notifications would end each poll() at once.
    if constexpr (InPlace<Calls>) calls_.read_notifications();
    if constexpr (wait == Wait::spin) {
      if (yields_) sched_yield();
    } else if constexpr (wait == Wait::poll) {
      std::array<pollfd, 2> ends{
          {{connections_.in(), in_events, 0}, {connections_.out(), out_events, 0}}};
      // poll() reports a closed descriptor even where no event is asked for, again and again; it
      // ignores those below zero.
      for (pollfd& end : ends)
        if (end.events == 0) end.fd = -1;
      ::poll(ends.data(), ends.size(), -1);
    }
  }

  Connections connections_;
  [[no_unique_address]] Calls calls_;
  bool yields_;
};

}  // namespace halftrip
