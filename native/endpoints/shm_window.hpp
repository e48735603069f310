// A mapping: memory of the peer's that a rank reaches by itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "shm.hpp"

namespace halftrip {

// A plain copy to or from memory that both ranks map.
class ShmWindow {
 public:
  // `window` is the peer's; `messages` is for acknowledgements.
  ShmWindow(Shm& messages, std::byte* window) : messages_(messages), window_(window) {}

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    std::memcpy(window_ + offset, out, size);
    // What is overwritten by a later copy has to be written all the same.
    asm volatile("" ::: "memory");
  }

  void get(std::byte* in, std::size_t offset, std::size_t size) {
    std::memcpy(in, window_ + offset, size);
    asm volatile("" ::: "memory");
  }

  // Returns when the other core can see all that was put.
  void flush() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  void send_ack() { halftrip::send_ack(messages_); }
  void recv_ack() { halftrip::recv_ack(messages_); }

 private:
  Shm& messages_;
  std::byte* window_;
};

}  // namespace halftrip
