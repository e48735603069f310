// What a message is filled with: a byte that is wrong, missing or from another message shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace halftrip {

// Word `i` of the sequence of `seed`: the output function of SplitMix64 (Steele, Lea and Flood,
// OOPSLA 2014). Neighbouring seeds and offsets give unrelated words.
inline std::uint64_t sequence_word(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Where the bytes of a message are in its buffer: `size` bytes in words of 8, `step` bytes from one
// word to the next.
struct Layout {
  std::size_t size, step;
};

namespace detail {

// Calls each(place, word, size) for every word of the message of `seed` until one call returns
// false. The last word may be shorter than 8 bytes; the size of all others is a constant, which
// spares a call of memcmp or memcpy for each.
template <class Byte, class Each>
void each_word(Byte* buffer, Layout layout, std::uint64_t seed, Each each) {
  constexpr std::integral_constant<std::size_t, sizeof(std::uint64_t)> kWord;
  const std::size_t whole = layout.size / kWord, rest = layout.size % kWord;
  for (std::size_t i = 0; i < whole; ++i)
    if (!each(buffer + i * layout.step, sequence_word(seed, i), kWord)) return;
  if (rest > 0) each(buffer + whole * layout.step, sequence_word(seed, whole), rest);
}

}  // namespace detail

inline void fill(std::byte* buffer, Layout layout, std::uint64_t seed) noexcept {
  detail::each_word(buffer, layout, seed, [](std::byte* place, std::uint64_t word, auto size) {
    std::memcpy(place, &word, size);
    return true;
  });
}

// A byte that differs from the sequence: its offset in the message, what it should be, what it is.
struct Difference {
  std::size_t at;
  std::byte expected, found;
};

// The first of them, behind the first `header` bytes; those are not compared.
inline std::optional<Difference> first_difference(const std::byte* buffer, Layout layout,
                                                  std::uint64_t seed, std::size_t header) noexcept {
  std::optional<Difference> found;
  std::size_t at = 0;
  detail::each_word(buffer, layout, seed,
                    [&](const std::byte* place, std::uint64_t word, auto size) {
                      if (at >= header && std::memcmp(place, &word, size) == 0) {
                        at += size;
                        return true;
                      }
                      std::byte expected[sizeof word];
                      std::memcpy(expected, &word, sizeof word);
                      for (std::size_t i = 0; i < size; ++i, ++at) {
                        if (at < header || place[i] == expected[i]) continue;
                        found = {at, expected[i], place[i]};
                        return false;
                      }
                      return true;
                    });
  return found;
}

}  // namespace halftrip
