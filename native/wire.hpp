// Integers on the wire: little-endian and of fixed width, whatever this machine's order is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace halftrip {

// Writes the low `width` bytes of `value`.
template <std::integral T>
void store_little_endian(std::byte* to, T value, std::size_t width = sizeof(T)) noexcept {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
}

// Reads `width` bytes; the others are zero.
template <std::integral T>
T load_little_endian(const std::byte* from, std::size_t width = sizeof(T)) noexcept {
  std::make_unsigned_t<T> bits = 0;
  for (std::size_t i = 0; i < width; ++i)
    bits = static_cast<std::make_unsigned_t<T>>(bits | static_cast<std::make_unsigned_t<T>>(from[i])
                                                           << (8 * i));
  return static_cast<T>(bits);
}

}  // namespace halftrip
