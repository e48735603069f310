// Shared memory: the sender copies a message in, the receiver copies it out, chunk by chunk, so
// that the two copies of a large message overlap. No locks, no system calls.
//
// The segment has three rings of slots. Two are *lanes*, one for each direction. The third is the
// *shuttle*: it belongs to whoever received the last message that came through it, and its owner's
// next message goes through it, back over the same cache lines. The receiver has just read those
// lines and the next reader last wrote them, so a reply moves each line once, where a lane's lines
// have to be fetched back from the other core before they can be written: up to twice the latency.
// Who talks without waiting for an answer does not own the shuttle and uses the lane.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../endpoint.hpp"
#include "../wait.hpp"

namespace halftrip {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kSlots = 16;
inline constexpr std::size_t kSmallestChunk = 4096, kLargestChunk = 16384;

// One chunk on its way. The number is written last and says whose chunk this is and which.
struct alignas(kCacheLine) ShmSlot {
  static constexpr std::size_t kBesideNumber = kCacheLine - sizeof(std::uint64_t);

  std::atomic<std::uint64_t> number;
  std::byte bytes[kBesideNumber + kLargestChunk];

  // A small chunk starts in the number's own line, which saves a line; a large one starts at the
  // next, which keeps the copy aligned.
  static bool starts_beside_number(std::size_t size) {
    return size <= 8 * kCacheLine - sizeof number;
  }
};

// Neighbours are kept two lines apart: prefetchers fetch lines in pairs.
struct alignas(2 * kCacheLine) ShmRing {
  std::atomic<std::uint64_t> taken;  // slots that the receiver has emptied, ever
  alignas(2 * kCacheLine) ShmSlot slots[kSlots];
};

struct ShmSegment {
  // For Line: the bound is probed in the page where the shuttle's first slot is, because where a
  // page lies decides how far its lines travel; and so, less, does each line's address.
  struct alignas(2 * kCacheLine) ProbedLine {
    std::byte bytes[kCacheLine];
  } probed[8];
  ShmRing shuttle;
  ShmRing lane[2];  // by the sender's side
};

class Shm {
 public:
  // `segment` starts as zeros and is mapped by both ranks; side 0 owns the shuttle at first.
  Shm(ShmSegment* segment, unsigned side, bool yields)
      : shuttle_{&segment->shuttle},
        outgoing_{&segment->lane[side]},
        incoming_{&segment->lane[1 - side]},
        side_(side),
        yields_(yields),
        owns_shuttle_(side == 0) {}

  // Inlined by order, as is all that a small message calls: left to itself, a compiler makes calls
  // of some of it, and 8 bytes take a third longer.
  [[gnu::always_inline]] void send(const std::byte* out, std::size_t size) {
    Passage& passage = owns_shuttle_ ? begin(shuttle_) : outgoing_;
    owns_shuttle_ = false;
    if (size <= kSmallestChunk) {
      put(passage, out, size);
      return;
    }
    const std::size_t chunk = chunk_size(size);
    for (std::size_t done = 0; done < size; done += chunk)
      put(passage, out + done, std::min(chunk, size - done));
  }

  // Puts whenever there is room, and takes whenever something has come.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    Sending sending{{out, count}};
    Receiving receiving{{in, count}};
    spin_until(yields_, [&] {
      bool moved;
      do {
        moved = put_some(sending);
        while (moved && order == Order::sends_first && put_some(sending)) {
        }
        const bool took = take_some(receiving);
        if (took && receiving.messages == 0) received();
        moved |= took;
      } while (moved);
      return sending.messages == 0 && receiving.messages == 0;
    });
  }

  [[gnu::always_inline]] void recv(std::byte* in, std::size_t size) {
    const bool shuttled = wait_for_message();
    if (shuttled) owns_shuttle_ = true;
    Passage& passage = shuttled ? begin(shuttle_) : incoming_;
    if (size <= kSmallestChunk) {
      take(passage, in, size);
      if (!shuttled) tell(passage);
      return;
    }
    const std::size_t chunk = chunk_size(size);
    // The shuttle's sender only needs to know what is taken if it comes round to a slot again.
    const bool tells = !shuttled || size > chunk * kSlots;
    for (std::size_t done = 0; done < size; done += chunk) {
      take(passage, in + done, std::min(chunk, size - done));
      if (tells) tell(passage);
    }
  }

 private:
  // One end's view of a ring; both ends count alike.
  struct Passage {
    ShmRing* ring;
    std::uint64_t passed = 0;      // slots used so far
    std::uint64_t limit = kSlots;  // slots that may be used before asking what is taken

    ShmSlot& next() { return ring->slots[passed++ % kSlots]; }
    ShmSlot& first() { return ring->slots[passed % kSlots]; }
  };

  // Messages of which some have gone one way; `done` bytes of the first of them, whose buffer is
  // `here`, by `passage`.
  struct Underway {
    Ring& ring;
    std::int64_t messages;
    std::byte* here = nullptr;
    std::size_t done = 0;
    Passage* passage = nullptr;

    // The bytes of the next chunk.
    std::size_t chunk() const { return std::min(chunk_size(ring.size()), ring.size() - done); }

    void moved(std::size_t size) {
      done += size;
      if (done < ring.size()) return;
      done = 0;
      passage = nullptr;
      --messages;
    }
  };
  struct Sending : Underway {};
  struct Receiving : Underway {
    bool tells = false;
  };

  // The next chunk, if there is one and room for it; whether that was so.
  bool put_some(Sending& sending) {
    if (sending.messages == 0) return false;
    if (sending.passage == nullptr) {
      sending.passage = owns_shuttle_ ? &begin(shuttle_) : &outgoing_;
      owns_shuttle_ = false;
      sending.here = sending.ring.next();
    }
    if (!has_room(*sending.passage)) return false;
    const std::size_t size = sending.chunk();
    put(*sending.passage, sending.here + sending.done, size);
    sending.moved(size);
    return true;
  }

  // The next chunk, if one is awaited and there; whether that was so.
  bool take_some(Receiving& receiving) {
    if (receiving.messages == 0) return false;
    const std::size_t whole = receiving.ring.size();
    if (receiving.passage == nullptr) {
      const bool shuttled = arrived(shuttle_.ring->slots[0]);
      if (!shuttled && !arrived(incoming_.first())) return false;
      receiving.passage = shuttled ? &begin(shuttle_) : &incoming_;
      receiving.tells = !shuttled || whole > chunk_size(whole) * kSlots;
      receiving.here = receiving.ring.next();
    } else if (!arrived(receiving.passage->first())) {
      return false;
    }
    const std::size_t size = receiving.chunk();
    Passage& passage = *receiving.passage;
    take(passage, receiving.here + receiving.done, size);
    if (receiving.tells) tell(passage);
    receiving.moved(size);
    // Not before all of the message is out: what is being sent meanwhile would overtake it.
    if (receiving.done == 0 && &passage == &shuttle_) owns_shuttle_ = true;
    return true;
  }

  // Small enough that the receiver starts early, large enough that the copies run at full speed.
  static std::size_t chunk_size(std::size_t size) {
    constexpr std::size_t kParts = 16;
    return std::clamp((size / kParts + kCacheLine - 1) & ~(kCacheLine - 1), kSmallestChunk,
                      kLargestChunk);
  }

  static std::uint64_t number(std::uint64_t chunk, unsigned side) { return chunk << 1 | side; }

  // Every message in the shuttle starts in its first slot, so that the same lines go to and fro; it
  // is empty then.
  static Passage& begin(Passage& shuttle) {
    shuttle.passed = (shuttle.passed + kSlots - 1) / kSlots * kSlots;
    shuttle.limit = shuttle.passed + kSlots;
    return shuttle;
  }

  [[gnu::always_inline]] void put(Passage& passage, const std::byte* out, std::size_t size) {
    if (passage.passed == passage.limit) [[unlikely]]
      wait_for_room(passage);
    ShmSlot& slot = passage.next();
    if (!ShmSlot::starts_beside_number(size)) {
      std::memcpy(slot.bytes + ShmSlot::kBesideNumber, out, size);
    } else if (size > ShmSlot::kBesideNumber) {
      // The polled line comes last: the receiver would take it back while the others are fetched.
      std::memcpy(slot.bytes + ShmSlot::kBesideNumber, out + ShmSlot::kBesideNumber,
                  size - ShmSlot::kBesideNumber);
      std::memcpy(slot.bytes, out, ShmSlot::kBesideNumber);
    } else {
      copy_small(slot.bytes, out, size);
    }
    slot.number.store(number(++sent_, side_), std::memory_order_release);
  }

  [[gnu::always_inline]] void take(Passage& passage, std::byte* in, std::size_t size) {
    ShmSlot& slot = passage.next();
    const std::uint64_t expected = number(++received_, 1 - side_);
    spin_until(yields_, [&] { return slot.number.load(std::memory_order_acquire) == expected; });
    if (!ShmSlot::starts_beside_number(size)) {
      std::memcpy(in, slot.bytes + ShmSlot::kBesideNumber, size);
    } else if (size > ShmSlot::kBesideNumber) {
      std::memcpy(in, slot.bytes, size);
    } else {
      copy_small(in, slot.bytes, size);
    }
  }

  static void tell(Passage& passage) {
    passage.ring->taken.store(passage.passed, std::memory_order_release);
  }

  static bool has_room(Passage& passage) {
    if (passage.passed < passage.limit) return true;
    passage.limit = passage.ring->taken.load(std::memory_order_acquire) + kSlots;
    return passage.passed < passage.limit;
  }

  void wait_for_room(Passage& passage) {
    spin_until(yields_, [&] { return has_room(passage); });
  }

  // Whether the next chunk from the peer is in `slot`.
  bool arrived(const ShmSlot& slot) const {
    return slot.number.load(std::memory_order_acquire) == number(received_ + 1, 1 - side_);
  }

  // True where the next message came by the shuttle, false where it came by the lane.
  [[gnu::always_inline]] bool wait_for_message() {
    const ShmSlot& in_shuttle = shuttle_.ring->slots[0];
    const ShmSlot& in_lane = incoming_.first();
    bool shuttled = false;
    // Worked out once: a poll that takes longer finds the message later.
    const std::uint64_t expected = number(received_ + 1, 1 - side_);
    spin_until(yields_, [&] {
      shuttled = in_shuttle.number.load(std::memory_order_acquire) == expected;
      return shuttled || in_lane.number.load(std::memory_order_acquire) == expected;
    });
    return shuttled;
  }

  // At most kBesideNumber bytes: memcpy's call and dispatch are a tenth of such a message's
  // latency.
  [[gnu::always_inline]] static void copy_small(std::byte* to, const std::byte* from,
                                                std::size_t size) {
    if (size >= 32)
      copy_ends<32>(to, from, size);
    else if (size >= 16)
      copy_ends<16>(to, from, size);
    else if (size >= 8)
      copy_ends<8>(to, from, size);
    else if (size >= 4)
      copy_ends<4>(to, from, size);
    else if (size >= 2)
      copy_ends<2>(to, from, size);
    else if (size == 1)
      *to = *from;
  }

  // The first and the last `width` bytes, which overlap where size < 2 * width.
  template <std::size_t width>
  static void copy_ends(std::byte* to, const std::byte* from, std::size_t size) {
    std::byte head[width], tail[width];
    std::memcpy(head, from, width);
    std::memcpy(tail, from + size - width, width);
    std::memcpy(to, head, width);
    std::memcpy(to + size - width, tail, width);
  }

  Passage shuttle_, outgoing_, incoming_;
  unsigned side_;
  bool yields_;
  bool owns_shuttle_;
  std::uint64_t sent_ = 0, received_ = 0;  // chunks
};

}  // namespace halftrip
