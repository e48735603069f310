// The buffers of a configuration.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftrip {

// Buffers of one size at equal distances, used in turn. A single one is used again and again and
// stays in the cache; a ring that is larger than the cache finds every buffer cold.
class Ring {
 public:
  // At least one buffer. The memory stays the caller's. `stride` is the distance from one buffer to
  // the next, bytes.
  Ring(std::byte* first, std::size_t slots, std::size_t size, std::size_t stride)
      : first_(first),
        end_(first + slots * stride),
        next_(first),
        slots_(slots),
        size_(size),
        stride_(stride) {}

  std::size_t size() const noexcept { return size_; }
  std::size_t slots() const noexcept { return slots_; }

  // From the first byte of the first buffer to the last byte of the last, bytes.
  std::size_t extent() const noexcept { return (slots_ - 1) * stride_ + size_; }

  bool has_same_memory_as(const Ring& other) const noexcept {
    return first_ == other.first_ && slots_ == other.slots_ && size_ == other.size_ &&
           stride_ == other.stride_;
  }

  std::byte* next() noexcept {
    std::byte* here = next_;
    next_ += stride_;
    if (next_ == end_) next_ = first_;
    return here;
  }

  std::byte* at(std::size_t slot) const noexcept { return first_ + slot * stride_; }

  // From the first buffer to the next one to be used, bytes.
  std::size_t offset() const noexcept { return static_cast<std::size_t>(next_ - first_); }

  // The number of the next buffer.
  std::size_t position() const noexcept { return stride_ == 0 ? 0 : offset() / stride_; }

 private:
  std::byte *first_, *end_, *next_;
  std::size_t slots_, size_, stride_;
};

// What both ends of a pattern work on. `window` is how many messages an iteration has, in patterns
// that have windows.
//
// The rings are copies of the caller's, so that their positions can be kept in registers: what a
// pattern writes into a buffer could otherwise change a ring, for all that the compiler knows.
struct Buffers {
  Ring out;
  Ring in;
  std::int64_t window;
};

// Messages that are still to go one way, the first of them perhaps in part: `done` bytes of it have
// gone to or from `buffer`, which is null between messages.
struct Transfer {
  Ring& ring;
  std::int64_t messages;
  std::byte* buffer = nullptr;
  std::size_t done = 0;

  bool is_over() const noexcept { return messages == 0; }
  bool is_between_messages() const noexcept { return buffer == nullptr; }

  void begin() noexcept { buffer = ring.next(); }
  std::byte* here() const noexcept { return buffer + done; }
  std::size_t left() const noexcept { return ring.size() - done; }

  void advance(std::size_t bytes) noexcept {
    done += bytes;
    if (done < ring.size()) return;
    done = 0;
    buffer = nullptr;
    --messages;
  }
};

}  // namespace halftrip
