// A byte stream behind file descriptors: pipes, Unix sockets, TCP.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

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
    return ::send(fd, out, size, MSG_NOSIGNAL | kFlags<wait>);
  }

  template <Wait wait>
  static ssize_t read(int fd, std::byte* in, std::size_t size) noexcept {
    return ::recv(fd, in, size, kFlags<wait>);
  }

 private:
  template <Wait wait>
  static constexpr int kFlags = wait == Wait::block ? 0 : MSG_DONTWAIT;
};

template <Wait wait, class Calls>
class ByteStream {
 public:
  // The descriptors stay the caller's. They may be the same one.
  ByteStream(int in, int out, bool yields) : in_(in), out_(out), yields_(yields) {}

  void send(const std::byte* out, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t moved =
          bytes_moved(Calls::template write<wait>(out_, out + done, size - done));
      if (moved == 0) wait_for(0, POLLOUT);
      done += moved;
    }
  }

  void recv(std::byte* in, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t moved =
          bytes_moved(Calls::template read<wait>(in_, in + done, size - done));
      if (moved == 0) wait_for(POLLIN, 0);
      done += moved;
    }
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
    if (sending.is_between_messages()) sending.begin();
    const std::size_t moved =
        bytes_moved(Calls::template write<wait>(out_, sending.here(), sending.left()));
    if (moved > 0) sending.advance(moved);
    return moved > 0;
  }

  bool read_some(Transfer& receiving) {
    if (receiving.is_between_messages()) receiving.begin();
    const std::size_t moved =
        bytes_moved(Calls::template read<wait>(in_, receiving.here(), receiving.left()));
    if (moved > 0) receiving.advance(moved);
    return moved > 0;
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
    if constexpr (wait == Wait::spin) {
      if (yields_) sched_yield();
    } else if constexpr (wait == Wait::poll) {
      std::array<pollfd, 2> ends{{{in_, in_events, 0}, {out_, out_events, 0}}};
      // poll() reports a closed descriptor even where no event is asked for, again and again; it
      // ignores those below zero.
      for (pollfd& end : ends)
        if (end.events == 0) end.fd = -1;
      ::poll(ends.data(), ends.size(), -1);
    }
  }

  int in_, out_;
  bool yields_;
};

}  // namespace halftrip
