// The peer's memory, mapped: a put or a get is a plain copy.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

#include "../buffers.hpp"
#include "../wait.hpp"
#include "shm.hpp"

namespace halftrip {

class ShmWindow {
 public:
  // `window` is the peer's memory; `messages` is for acknowledgements.
  ShmWindow(Shm& messages, std::span<std::byte> window) : messages_(messages), window_(window) {}

  // Both rings: a pattern uses one of them, and a configuration has two of the same layout.
  void check(const Buffers& buffers) const {
    if (std::max(buffers.out.extent(), buffers.in.extent()) > window_.size())
      throw std::invalid_argument("the buffers do not fit into the peer's window");
  }

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    std::memcpy(window_.data() + offset, out, size);
    // A compiler could otherwise leave out a copy that a later one overwrites.
    asm volatile("" ::: "memory");
  }

  void get(std::byte* in, std::size_t offset, std::size_t size) {
    std::memcpy(in, window_.data() + offset, size);
    asm volatile("" ::: "memory");
  }

  void begin_put(const std::byte* out, std::size_t offset, std::size_t size) {
    put(out, offset, size);
  }
  void complete() {}

  template <class Ready>
  void wait_until(Ready ready) {
    spin_until(messages_.yields(), ready);
  }

  // No later access of this core is done before the other core can see all that was put (aarch64:
  // dmb ish). Seq_cst, since loads that follow count, too: of the clock, and of what a get reads.
  void flush() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // Acknowledgements release and acquire (shm.hpp): what was put before one is seen after it, and
  // what was got before one has been read when the peer writes over it.
  void synchronize() {}

  void send_ack() { halftrip::send_ack(messages_); }
  void recv_ack() { halftrip::recv_ack(messages_); }

 private:
  Shm& messages_;
  std::span<std::byte> window_;
};

}  // namespace halftrip
