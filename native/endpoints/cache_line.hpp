// One word in one cache line, which goes back and forth between two cores.
//
// Ping-pong over it is the bound that no path through shared memory can beat: the line leaves one
// core's cache, is seen by the other, and comes back.
#pragma once

#include "../shared_word.hpp"
#include "../wait.hpp"

namespace halftrip {

class CacheLine {
 public:
  // `word` lies in memory that both ranks map, alone in its cache line, and starts as 0.
  explicit CacheLine(void* word) : word_(*static_cast<SharedWord*>(word)) {}

  // The word alone goes back and forth, and a word has one order for all (coherence). Release and
  // acquire order nothing else here: they are there since a message's number has them, too, and on
  // aarch64 they are other instructions (stlr, ldar).
  void send() { store_release(word_, ++turn_); }

  void recv() {
    ++turn_;
    spin_until(false, [this] { return load_acquire(word_) == turn_; });
  }

 private:
  SharedWord& word_;
  SharedWord turn_ = 0;
};

}  // namespace halftrip
