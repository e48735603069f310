// TCP sends that leave a message where it is: MSG_ZEROCOPY, see the kernel's
// Documentation/networking/msg_zerocopy.rst.
//
// The kernel reads the sender's buffer until the peer's kernel has acknowledged all of it, and then
// leaves a notification in the socket's error queue. Until it has come, the buffer must not change.
// Where a copy cannot be avoided, as over loopback, the kernel makes one and notifies all the same.
#pragma once

// Older versions of linux/errqueue.h need it.
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "../wait.hpp"
#include "stream.hpp"

namespace halftrip {

// Older headers lack MSG_ZEROCOPY and SO_EE_ORIGIN_ZEROCOPY.
inline constexpr int kZerocopyFlag = 0x4000000;
inline constexpr std::uint8_t kZerocopyOrigin = 5;

// The notifications of one socket, which all its endpoints share. The kernel counts the calls that
// have sent something, modulo 2^32, and a notification is for a range of them.
class Notifications {
 public:
  // The socket stays the caller's.
  explicit Notifications(int fd) : fd_(fd) {}

  int fd() const noexcept { return fd_; }

  // How many calls have sent something, and whether there were notifications of the first `count`.
  std::uint64_t calls() const noexcept { return calls_; }
  bool are_there(std::uint64_t count) const noexcept { return complete_ >= count; }

  void add_call() noexcept { ++calls_; }

  // Reads what there is.
  void read() {
    for (;;) {
      alignas(cmsghdr) std::array<std::byte, 256> control;
      msghdr message{};
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        if (errno == EINTR) continue;
        // Other errors show in the next call that sends or receives.
        return;
      }
      for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part))
        read(*part);
    }
  }

  // Returns when there may be something to read. Throws PeerClosed where nothing will come.
  void sleep() {
    pollfd end{fd_, 0, 0};
    ::poll(&end, 1, -1);
    if ((end.revents & (POLLHUP | POLLNVAL)) == 0) return;
    read();
    if (!are_there(calls_)) throw PeerClosed{};
  }

 private:
  void read(cmsghdr& part) {
    const bool is_error = (part.cmsg_level == SOL_IP && part.cmsg_type == IP_RECVERR) ||
                          (part.cmsg_level == SOL_IPV6 && part.cmsg_type == IPV6_RECVERR);
    if (!is_error) return;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(&part), sizeof(error));
    if (error.ee_origin != kZerocopyOrigin) return;
    // None is more than 2^32 calls ahead.
    const std::uint64_t first =
        complete_ +
        static_cast<std::uint32_t>(error.ee_info - static_cast<std::uint32_t>(complete_));
    early_.emplace_back(first, first + static_cast<std::uint32_t>(error.ee_data - error.ee_info));
    // Ranges come in order, but not where segments were sent again.
    for (bool joined = true; joined;) {
      joined = false;
      for (auto& range : early_) {
        if (range.first != complete_) continue;
        complete_ = range.second + 1;
        std::swap(range, early_.back());
        early_.pop_back();
        joined = true;
        break;
      }
    }
  }

  int fd_;
  std::uint64_t calls_ = 0, complete_ = 0;
  // Ranges of calls, the last included, that came before those in front of them.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> early_;
};

// Calls for ByteStream. Messages are sent from `slots` buffers in turn.
class ZerocopySocket {
 public:
  // At least one slot.
  ZerocopySocket(Notifications& notifications, std::size_t slots)
      : notifications_(notifications), until_(slots, 0) {}

  template <Wait wait>
  ssize_t write(int fd, const std::byte* out, std::size_t size) {
    const ssize_t sent = Socket::send<wait>(fd, out, std::min(size, most_), kZerocopyFlag);
    if (sent > 0) [[likely]] {
      notifications_.add_call();
    } else if (errno == ENOBUFS) {
      // No room for a notification, or for pinned pages (RLIMIT_MEMLOCK), before others have come.
      notifications_.read();
      const bool is_alone = notifications_.are_there(notifications_.calls());
      errno = ENOBUFS;
      if (is_alone && most_ <= kFewest) return sent;
      if (is_alone) most_ = std::max(kFewest, std::min(size, most_) / 2);
      errno = EAGAIN;
    }
    return sent;
  }

  template <Wait wait>
  ssize_t read(int fd, std::byte* in, std::size_t size) noexcept {
    return Socket::read<wait>(fd, in, size);
  }

  // Whether the buffer of the next message may be used again.
  bool is_free() {
    if (notifications_.are_there(until_[slot_])) return true;
    notifications_.read();
    return notifications_.are_there(until_[slot_]);
  }

  // A whole message was sent.
  void sent() noexcept {
    until_[slot_] = notifications_.calls();
    if (++slot_ == until_.size()) slot_ = 0;
  }

  // Whether the kernel reads no buffer any longer.
  bool are_all_free() {
    notifications_.read();
    return notifications_.are_there(notifications_.calls());
  }

  void read_notifications() { notifications_.read(); }
  void sleep() { notifications_.sleep(); }

 private:
  static constexpr std::size_t kFewest = 4096;

  Notifications& notifications_;
  // For each slot, how many calls there were when its last message had been sent.
  std::vector<std::uint64_t> until_;
  std::size_t slot_ = 0;
  std::size_t most_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace halftrip
