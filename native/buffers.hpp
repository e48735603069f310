// The buffers of a case.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftrip {

// Buffers of one size at equal distances, used in turn. A single one is used again and again, and
// stays in the cache; a ring that is larger than the cache is met cold every time.
class Ring {
 public:
  // The memory stays the caller's. `stride` is the distance from one buffer to the next, bytes.
  Ring(std::byte* first, std::size_t slots, std::size_t size, std::size_t stride)
      : first_(first),
        end_(first + slots * stride),
        next_(first),
        slots_(slots),
        size_(size),
        stride_(stride) {}

  std::size_t size() const noexcept { return size_; }
  std::size_t slots() const noexcept { return slots_; }

  std::byte* next() noexcept {
    std::byte* here = next_;
    next_ += stride_;
    if (next_ == end_) next_ = first_;
    return here;
  }

  std::byte* at(std::size_t slot) const noexcept { return first_ + slot * stride_; }

  // Where the next buffer is, counted from the first, bytes.
  std::size_t offset() const noexcept { return static_cast<std::size_t>(next_ - first_); }

  // The number of the next buffer.
  std::size_t position() const noexcept { return stride_ == 0 ? 0 : offset() / stride_; }

 private:
  std::byte *first_, *end_, *next_;
  std::size_t slots_, size_, stride_;
};

// What both ends of a pattern work on. A window is so many messages, for patterns that have one.
//
// Copies of the caller's rings, so that where they stand can be kept in registers: what a pattern
// writes into a buffer could otherwise be a ring, for all that the compiler knows.
struct Buffers {
  Ring out;
  Ring in;
  std::int64_t window;
};

}  // namespace halftrip
