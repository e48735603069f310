// A byte stream behind file descriptors: pipes, Unix sockets, TCP.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "../wait.hpp"

namespace halftrip {

enum class Wait {
  block,  // the kernel puts the caller to sleep; the descriptors are in blocking mode
  spin,   // the call is repeated until it succeeds; the descriptors are in non-blocking mode
};

template <Wait wait>
class Stream {
 public:
  // The descriptors stay the caller's. They may be the same one.
  Stream(int in, int out, bool yields) : in_(in), out_(out), yields_(yields) {}

  void send(const std::byte* out, std::size_t size) {
    transfer(size, [&](std::size_t done) { return ::write(out_, out + done, size - done); });
  }

  void recv(std::byte* in, std::size_t size) {
    transfer(size, [&](std::size_t done) { return ::read(in_, in + done, size - done); });
  }

 private:
  // Calls once(bytes done so far) until `size` bytes are through.
  template <class Once>
  void transfer(std::size_t size, Once once) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t moved = once(done);
      if (moved > 0) [[likely]] {
        done += static_cast<std::size_t>(moved);
        continue;
      }
      if (moved == 0) throw PeerClosed{};
      if (errno == EPIPE || errno == ECONNRESET) throw PeerClosed{};
      if (errno != EINTR && errno != EAGAIN) throw std::system_error(errno, std::system_category());
      // A signal ends a blocking call, so that a stop is seen there too.
      check_stop();
      if constexpr (wait == Wait::spin) {
        if (yields_) sched_yield();
      }
    }
  }

  int in_, out_;
  bool yields_;
};

}  // namespace halftrip
