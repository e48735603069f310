// A byte stream behind file descriptors: pipes, Unix sockets, TCP.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "../endpoint.hpp"
#include "../wait.hpp"

namespace halftrip {

enum class Wait {
  block,  // the kernel puts the caller to sleep; the descriptors are in blocking mode
  spin,   // the call is repeated until it succeeds; the descriptors are in non-blocking mode
  poll,   // the kernel puts the caller to sleep in poll(), until either way is free; likewise
};

template <Wait wait>
class ByteStream {
 public:
  // The descriptors stay the caller's. They may be the same one.
  ByteStream(int in, int out, bool yields) : in_(in), out_(out), yields_(yields) {}

  void send(const std::byte* out, std::size_t size) {
    for (std::size_t done = 0; done < size;)
      if (!advance(::write(out_, out + done, size - done), done)) wait_for(0, POLLOUT);
  }

  void recv(std::byte* in, std::size_t size) {
    for (std::size_t done = 0; done < size;)
      if (!advance(::read(in_, in + done, size - done), done)) wait_for(POLLIN, 0);
  }

  // Writes a message at a time as far as the stream takes it, and reads likewise.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received)
    requires(wait != Wait::block)
  {
    Underway sending{out, count}, receiving{in, count};
    while (sending.messages > 0 || receiving.messages > 0) {
      bool moved = false;
      while (sending.messages > 0) {
        const std::size_t left = out.size() - sending.done;
        if (!advance(::write(out_, sending.here() + sending.done, left), sending.done)) break;
        sending.moved();
        moved = true;
        if (order == Order::in_turn) break;
      }
      if (receiving.messages > 0) {
        const std::size_t left = in.size() - receiving.done;
        if (advance(::read(in_, receiving.here() + receiving.done, left), receiving.done)) {
          receiving.moved();
          if (receiving.messages == 0) received();
          moved = true;
        }
      }
      if (!moved) wait_for(receiving.messages > 0 ? POLLIN : 0, sending.messages > 0 ? POLLOUT : 0);
    }
  }

 private:
  // Messages of which some have gone one way, and `done` bytes of the first of them.
  struct Underway {
    Ring& ring;
    std::int64_t messages;
    std::size_t done = 0;
    std::byte* buffer = nullptr;

    std::byte* here() {
      if (buffer == nullptr) buffer = ring.next();
      return buffer;
    }
    void moved() {
      if (done < ring.size()) return;
      done = 0;
      buffer = nullptr;
      --messages;
    }
  };

  // Counts what a read or write has moved; false where it could move nothing now.
  static bool advance(ssize_t moved, std::size_t& done) {
    if (moved > 0) [[likely]] {
      done += static_cast<std::size_t>(moved);
      return true;
    }
    if (moved == 0 || errno == EPIPE || errno == ECONNRESET) throw PeerClosed{};
    if (errno != EINTR && errno != EAGAIN) throw std::system_error(errno, std::system_category());
    return false;
  }

  // What comes between a call that moved nothing and the next.
  void wait_for(short in_events, short out_events) {
    // A signal ends a blocking call, so that a stop is seen there too.
    check_stop();
    if constexpr (wait == Wait::spin) {
      if (yields_) sched_yield();
    } else if constexpr (wait == Wait::poll) {
      std::array<pollfd, 2> ends{{{in_, in_events, 0}, {out_, out_events, 0}}};
      // An end that is not asked about would still report that it is closed, again and again.
      for (pollfd& end : ends)
        if (end.events == 0) end.fd = -1;
      ::poll(ends.data(), ends.size(), -1);
    }
  }

  int in_, out_;
  bool yields_;
};

}  // namespace halftrip
