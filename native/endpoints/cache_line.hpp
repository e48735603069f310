// The barest endpoint: one word in one cache line, which goes back and forth between two cores.
//
// Ping-pong over it is the bound that no path through shared memory can beat: the line leaves one
// core's cache, is seen by the other, and comes back.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "../shared_word.hpp"
#include "../wait.hpp"

namespace halftrip {

class CacheLine {
 public:
  // `word` lies in memory that both ranks map, alone in its cache line, and starts as 0.
  explicit CacheLine(void* word) : word_(*static_cast<SharedWord*>(word)) {}

  void check_message(std::size_t size) const {
    if (size != 0) throw std::invalid_argument("a cache line carries empty messages only");
  }

  void send(const std::byte*, std::size_t) { store_release(word_, ++turn_); }

  // A sender that does not wait for a reply may be ahead by several messages.
  void recv(std::byte*, std::size_t) {
    ++turn_;
    spin_until(false, [this] { return load_acquire(word_) >= turn_; });
  }

 private:
  SharedWord& word_;
  SharedWord turn_ = 0;
};

}  // namespace halftrip
