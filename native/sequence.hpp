// What a message is filled with, so that a byte that is wrong, missing or of another message shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace halftrip {

// Word `i` of the sequence that `seed` names: the output function of SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014). Neighbouring seeds and offsets have nothing in common.
inline std::uint64_t sequence_word(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

inline void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = sequence_word(seed, at / sizeof word);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

// Where the first byte that differs from the sequence is, and what it should be; `at` is the size
// where there is none.
struct Difference {
  std::size_t at;
  std::byte expected;
};

inline Difference first_difference(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::size_t size = std::min(sizeof(std::uint64_t), bytes.size() - at);
    const std::uint64_t expected = sequence_word(seed, at / sizeof(std::uint64_t));
    if (std::memcmp(bytes.data() + at, &expected, size) == 0) continue;
    std::byte words[sizeof expected];
    std::memcpy(words, &expected, sizeof expected);
    std::size_t i = 0;
    while (bytes[at + i] == words[i]) ++i;
    return {at + i, words[i]};
  }
  return {bytes.size(), std::byte{}};
}

}  // namespace halftrip
