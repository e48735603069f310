// Words in memory that two processes map.
//
// Nobody constructs objects in a mapping: it is zeros from the kernel. So its words are plain
// integers, and both processes reach them through std::atomic_ref, which needs no constructor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace halftrip {

inline constexpr std::size_t kCacheLineSize = 64;

using SharedWord = std::uint64_t;

static_assert(std::atomic_ref<SharedWord>::is_always_lock_free,
              "a lock would be in one process's memory alone");

inline SharedWord load_acquire(SharedWord& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

inline void store_release(SharedWord& word, SharedWord value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace halftrip
