// The barest endpoint: one word in one cache line, handed to and fro.
//
// Ping-pong over it is the bound that no path through shared memory can beat: a line leaves one
// core's cache, is seen by the other, and comes back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../wait.hpp"

namespace halftrip {

class Line {
 public:
  // `word` lies in memory that both ranks map, alone in its line, and starts as 0.
  explicit Line(void* word) : word_(static_cast<std::atomic<std::uint64_t>*>(word)) {}

  void send(const std::byte*, std::size_t) { word_->store(++turn_, std::memory_order_release); }

  void recv(std::byte*, std::size_t) {
    ++turn_;
    spin_until(false, [this] { return word_->load(std::memory_order_acquire) == turn_; });
  }

 private:
  std::atomic<std::uint64_t>* word_;
  std::uint64_t turn_ = 0;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace halftrip
