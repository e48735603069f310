// Shared memory: the sender copies a message in, the receiver copies it out, chunk by chunk, so
// that the two copies of a large message overlap. No locks, no system calls.
//
// The segment has three rings of slots. Two are *one-way rings*, one for each direction. The third
// is the *reply ring*: it belongs to whoever received the last message that came through it, and
// its owner's next message goes through it, back over the same cache lines. The receiver has just
// read those lines, and the next reader wrote them last, so a reply moves each line once. The lines
// of a one-way ring have to be fetched back from the other core before they can be written, which
// takes up to twice as long. A rank that sends again without waiting for a reply no longer owns the
// reply ring and uses its one-way ring.
//
// What a core is to write again that the other has read since goes by non-temporal stores: messages
// in a one-way ring, but for short ones, and those that come round to a slot again. What fits the
// reply ring stays in the caches.
//
// So replies and streams go two ways. Without replies_apart nobody owns the reply ring, and every
// message goes through the one-way ring of its direction: one way for all patterns.
//
// Order. x86 keeps loads in order, and stores, but for non-temporal ones, which copies.hpp fences;
// aarch64 keeps neither, and there all rests on two pairs of words, each with a writer at a time,
// whose values only grow:
// - `number`, written last: what a receiver that has seen it reads is what was copied before;
// - `consumed`, written after reading: what a sender that has seen it overwrites has been read.
// Beside each store-release and load-acquire stands what would happen without it. Nothing here
// needs one order of all words (seq_cst): that a value has not come yet means only to look again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "../buffers.hpp"
#include "../copies.hpp"
#include "../endpoint.hpp"
#include "../shared_word.hpp"
#include "../wait.hpp"

namespace halftrip {

inline constexpr std::size_t kSlots = 16;
inline constexpr std::size_t kSmallestChunk = 4096, kLargestChunk = 16384;
// One way, from so many bytes on: the fence of a shorter message costs more than is saved.
inline constexpr std::size_t kShortestNontemporal = 2048;

// One chunk on its way. The number is written last and says which chunk of which side this is.
struct alignas(kCacheLineSize) ShmSlot {
  static constexpr std::size_t kBesideNumber = kCacheLineSize - sizeof(SharedWord);

  SharedWord number;
  std::byte bytes[kBesideNumber + kLargestChunk];

  // A small chunk starts in the number's own cache line, which saves a line; a large one starts at
  // the next, which keeps the copy aligned.
  static constexpr std::size_t kMostBesideNumber = 8 * kCacheLineSize - sizeof(SharedWord);
  static bool starts_beside_number(std::size_t size) { return size <= kMostBesideNumber; }
};

// Neighbours are kept two cache lines apart: prefetchers fetch lines in pairs.
struct alignas(2 * kCacheLineSize) ShmRing {
  SharedWord consumed;  // how many slots the receiver has read, ever
  alignas(2 * kCacheLineSize) ShmSlot slots[kSlots];
};

struct ShmSegment {
  ShmRing reply_ring;
  ShmRing one_way_rings[2];  // by the sender's side
};

static_assert(std::is_aggregate_v<ShmSegment> && std::is_trivially_destructible_v<ShmSegment>,
              "an implicit-lifetime type: it is there as soon as its memory is mapped");

// Segments of one path begin so far apart: in pages of their own.
inline constexpr std::size_t kPageSize = 4096;
inline constexpr std::size_t kSegmentStride =
    (sizeof(ShmSegment) + kPageSize - 1) & ~(kPageSize - 1);

class Shm {
 public:
  // Both ranks map `segments`, one after the other, kSegmentStride apart, which start as zeros, and
  // say alike whether replies go apart. One segment is in use at a time, at first the first. If
  // replies go apart, side 0 owns a reply ring at first.
  Shm(std::byte* segments, std::size_t count, unsigned side, bool yields, bool replies_apart = true)
      : side_(side), yields_(yields) {
    states_.reserve(count);
    for (std::size_t number = 0; number < count; ++number)
      states_.emplace_back(reinterpret_cast<ShmSegment*>(segments + number * kSegmentStride), side,
                           replies_apart && side == 0);
    load(states_[0]);
  }

  // Goes on in another segment. Both ends call it, while no message is under way.
  void use(std::size_t segment) {
    states_[segment_] = State{reply_, outgoing_, incoming_, owns_reply_ring_, sent_, received_};
    segment_ = segment % states_.size();
    load(states_[segment_]);
  }

  bool yields() const { return yields_; }

  // What a message of one chunk needs is forced inline, and the loop of a larger one is kept out:
  // left to itself, a compiler makes calls of the former, and 8 bytes take a third longer.
  [[gnu::always_inline]] void send(const std::byte* out, std::size_t size) {
    const bool is_reply = owns_reply_ring_;
    owns_reply_ring_ = false;
    if (size > kSmallestChunk)
      send_chunks(is_reply ? begin(reply_) : outgoing_, out, size);
    else if (is_reply)
      fill(first_slot(reply_), out, size, false);
    else
      write_chunk(outgoing_, out, size, size >= kShortestNontemporal);
  }

  [[gnu::always_inline]] void recv(std::byte* in, std::size_t size) {
    const bool is_reply = wait_for_message();
    owns_reply_ring_ |= is_reply;
    if (size > kSmallestChunk) {
      recv_chunks(is_reply ? begin(reply_) : incoming_, in, size);
      return;
    }
    ++received_;
    if (is_reply) {
      take(first_slot(reply_), in, size);
    } else {
      take(incoming_.next(), in, size);
      publish(incoming_);
    }
  }

  // Writes whenever there is room, and reads whenever something has arrived.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    Sending sending{{out, count}};
    Receiving receiving{{in, count}};
    spin_until(yields_, [&] {
      bool moved;
      do {
        moved = try_write(sending);
        while (moved && order == Order::sends_first && try_write(sending)) {
        }
        const bool read = try_read(receiving);
        if (read && receiving.is_over()) received();
        moved |= read;
      } while (moved);
      return sending.is_over() && receiving.is_over();
    });
  }

 private:
  // One end's position in a ring of slots; both ends count alike.
  struct Cursor {
    ShmRing* ring = nullptr;
    std::uint64_t used = 0;        // slots used so far
    std::uint64_t limit = kSlots;  // `used` may come up to this before `consumed` is read again

    ShmSlot& next() { return ring->slots[used++ % kSlots]; }
    ShmSlot& peek() { return ring->slots[used % kSlots]; }
  };

  // How far this end has come in a segment.
  struct State {
    Cursor reply, outgoing, incoming;
    bool owns_reply_ring;
    std::uint64_t sent = 0, received = 0;

    State(ShmSegment* segment, unsigned side, bool owns)
        : reply{&segment->reply_ring},
          outgoing{&segment->one_way_rings[side]},
          incoming{&segment->one_way_rings[1 - side]},
          owns_reply_ring(owns) {}
    State(const Cursor& own_reply, const Cursor& out, const Cursor& in, bool owns,
          std::uint64_t chunks_sent, std::uint64_t chunks_received)
        : reply(own_reply),
          outgoing(out),
          incoming(in),
          owns_reply_ring(owns),
          sent(chunks_sent),
          received(chunks_received) {}
  };

  void load(const State& state) {
    reply_ = state.reply;
    outgoing_ = state.outgoing;
    incoming_ = state.incoming;
    owns_reply_ring_ = state.owns_reply_ring;
    sent_ = state.sent;
    received_ = state.received;
  }

  // `cursor` is where the message under way goes.
  struct Sending : Transfer {
    Cursor* cursor = nullptr;
  };
  struct Receiving : Transfer {
    Cursor* cursor = nullptr;
    bool publishes = false;
  };

  // Writes the next chunk if there is one and room for it; returns whether it did.
  bool try_write(Sending& sending) {
    if (sending.is_over()) return false;
    if (sending.is_between_messages()) {
      sending.cursor = owns_reply_ring_ ? &begin(reply_) : &outgoing_;
      owns_reply_ring_ = false;
      sending.begin();
    }
    if (!has_room(*sending.cursor)) return false;
    const std::size_t size = next_chunk(sending);
    const bool nontemporal = is_nontemporal(sending.ring.size(), sending.cursor == &reply_);
    write_chunk(*sending.cursor, sending.here(), size, nontemporal);
    sending.advance(size);
    return true;
  }

  // Reads the next chunk if one is due and there; returns whether it did.
  bool try_read(Receiving& receiving) {
    if (receiving.is_over()) return false;
    if (receiving.is_between_messages()) {
      const std::size_t size = receiving.ring.size();
      const bool is_reply = has_arrived(reply_.ring->slots[0]);
      if (!is_reply && !has_arrived(incoming_.peek())) return false;
      receiving.cursor = is_reply ? &begin(reply_) : &incoming_;
      receiving.publishes = !is_reply || comes_round(size);
      receiving.begin();
    } else if (!has_arrived(receiving.cursor->peek())) {
      return false;
    }
    const std::size_t size = next_chunk(receiving);
    read_chunk(*receiving.cursor, receiving.here(), size);
    if (receiving.publishes) publish(*receiving.cursor);
    receiving.advance(size);
    // Not before the whole message is read: what is sent meanwhile would overwrite the rest of it.
    if (receiving.is_between_messages() && receiving.cursor == &reply_) owns_reply_ring_ = true;
    return true;
  }

  // `transfer` is a Sending or a Receiving.
  std::size_t next_chunk(const auto& transfer) const {
    return std::min(chunk_size(transfer.ring.size(), transfer.cursor == &reply_), transfer.left());
  }

  // Of a reply, for which the other end waits: small enough that it is read while it is written.
  // What is sent one way follows another message or precedes one, so that their copies overlap, and
  // fewer chunks are faster.
  static std::size_t chunk_size(std::size_t size, bool is_reply) {
    const std::size_t parts = is_reply ? 16 : 1;
    return std::clamp((size / parts + kCacheLineSize - 1) & ~(kCacheLineSize - 1), kSmallestChunk,
                      kLargestChunk);
  }

  // Whether a reply is longer than its ring, so that it comes round to a slot again.
  static bool comes_round(std::size_t size) { return size > chunk_size(size, true) * kSlots; }

  static bool is_nontemporal(std::size_t size, bool is_reply) {
    return is_reply ? comes_round(size) : size >= kShortestNontemporal;
  }

  static std::uint64_t number(std::uint64_t chunk, unsigned side) { return chunk << 1 | side; }

  // Every message in the reply ring starts in its first slot, so that the same cache lines go back
  // and forth. The ring is empty then, and `consumed` need not be asked: who writes is who has read
  // the last message in it, and a core's own loads of a byte come before its later stores to it.
  // The peer's stores of that message came before its number, which this end has seen; and the peer
  // writes here again only when it has seen the number of this end's.
  static Cursor& begin(Cursor& reply) {
    reply.used = (reply.used + kSlots - 1) / kSlots * kSlots;
    reply.limit = reply.used + kSlots;
    return reply;
  }

  // The slot of a reply of one chunk, which needs no room and no position: only that both ends
  // begin() the next one alike.
  static ShmSlot& first_slot(Cursor& reply) {
    reply.used += kSlots;
    return reply.ring->slots[0];
  }

  [[gnu::noinline]] void send_chunks(Cursor& cursor, const std::byte* out, std::size_t size) {
    const bool is_reply = &cursor == &reply_, nontemporal = is_nontemporal(size, is_reply);
    const std::size_t chunk = chunk_size(size, is_reply);
    for (std::size_t done = 0; done < size; done += chunk)
      write_chunk(cursor, out + done, std::min(chunk, size - done), nontemporal);
  }

  [[gnu::noinline]] void recv_chunks(Cursor& cursor, std::byte* in, std::size_t size) {
    const bool is_reply = &cursor == &reply_;
    const std::size_t chunk = chunk_size(size, is_reply);
    // A sender in the reply ring only has to know what was read where it comes round.
    const bool publishes = !is_reply || comes_round(size);
    for (std::size_t done = 0; done < size; done += chunk) {
      read_chunk(cursor, in + done, std::min(chunk, size - done));
      if (publishes) publish(cursor);
    }
  }

  [[gnu::always_inline]] void write_chunk(Cursor& cursor, const std::byte* out, std::size_t size,
                                          bool nontemporal) {
    if (cursor.used == cursor.limit) [[unlikely]]
      wait_for_room(cursor);
    fill(cursor.next(), out, size, nontemporal);
  }

  [[gnu::always_inline]] void fill(ShmSlot& slot, const std::byte* out, std::size_t size,
                                   bool nontemporal) {
    if (!ShmSlot::starts_beside_number(size)) {
      std::byte* there = slot.bytes + ShmSlot::kBesideNumber;
      nontemporal ? copy_nontemporal(there, out, size)
                  : static_cast<void>(std::memcpy(there, out, size));
    } else if (size > ShmSlot::kBesideNumber) {
      // The polled cache line comes last: the receiver would take it back while the others are
      // fetched.
      std::memcpy(slot.bytes + ShmSlot::kBesideNumber, out + ShmSlot::kBesideNumber,
                  size - ShmSlot::kBesideNumber);
      std::memcpy(slot.bytes, out, ShmSlot::kBesideNumber);
    } else {
      copy_small(slot.bytes, out, size);
    }
    // Release: plain, the number could be seen before the bytes, and old bytes be read.
    store_release(slot.number, number(++sent_, side_));
  }

  [[gnu::always_inline]] void read_chunk(Cursor& cursor, std::byte* in, std::size_t size) {
    ShmSlot& slot = cursor.next();
    const std::uint64_t expected = number(++received_, 1 - side_);
    // Acquire: plain, the bytes could be read, ahead of the branch, before the number is seen.
    spin_until(yields_, [&] { return load_acquire(slot.number) == expected; });
    take(slot, in, size);
  }

  [[gnu::always_inline]] static void take(ShmSlot& slot, std::byte* in, std::size_t size) {
    if (!ShmSlot::starts_beside_number(size)) {
      std::memcpy(in, slot.bytes + ShmSlot::kBesideNumber, size);
    } else if (size > ShmSlot::kBesideNumber) {
      std::memcpy(in, slot.bytes, size);
    } else {
      copy_small(in, slot.bytes, size);
    }
  }

  // Tells the sender what has been read. Release: plain, the loads of take() could come after it,
  // and read what the sender writes over them.
  static void publish(Cursor& cursor) { store_release(cursor.ring->consumed, cursor.used); }

  static bool has_room(Cursor& cursor) {
    if (cursor.used < cursor.limit) return true;
    // Acquire: what fill() stores comes after what the receiver has read. Processors keep a store
    // behind the branch that it depends on, the language does not. An old value is too small, and
    // costs another poll: in the reply ring, too, where both sides write this word, since each does
    // so after a message of the other's.
    cursor.limit = load_acquire(cursor.ring->consumed) + kSlots;
    return cursor.used < cursor.limit;
  }

  [[gnu::noinline]] void wait_for_room(Cursor& cursor) {
    spin_until(yields_, [&] { return has_room(cursor); });
  }

  // Whether the next chunk from the peer is in `slot`. Acquire: as in read_chunk().
  bool has_arrived(ShmSlot& slot) const {
    return load_acquire(slot.number) == number(received_ + 1, 1 - side_);
  }

  // Returns true where the next message is in the reply ring, false where it is in the one-way
  // ring.
  [[gnu::always_inline]] bool wait_for_message() {
    ShmSlot& reply = reply_.ring->slots[0];
    ShmSlot& one_way = incoming_.peek();
    bool is_reply = false;
    // Computed once: a poll that takes longer finds the message later.
    const std::uint64_t expected = number(received_ + 1, 1 - side_);
    // Both acquire, as in read_chunk(). Their order does not matter: the message is in one of the
    // two slots, and stays there until it is read.
    spin_until(yields_, [&] {
      is_reply = load_acquire(reply.number) == expected;
      return is_reply || load_acquire(one_way.number) == expected;
    });
    return is_reply;
  }

  Cursor reply_, outgoing_, incoming_;
  unsigned side_;
  bool yields_;
  bool owns_reply_ring_ = false;
  std::uint64_t sent_ = 0, received_ = 0;  // chunks
  std::size_t segment_ = 0;
  std::vector<State> states_;
};

}  // namespace halftrip
