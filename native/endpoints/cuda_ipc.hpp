// Memory of a device that two processes of one host reach: the sender copies into the receiver's
// buffer, which it has opened by its IPC handle, and has the device write the message's number to a
// word that both processes map, behind the copy in the same stream. The receiver polls that word.
//
// The receiver says first that its buffer is free: messages can arrive before it asks for them, and
// in a stream the same buffer is used again and again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../buffers.hpp"
#include "../cuda.hpp"
#include "../endpoint.hpp"
#include "../shared_word.hpp"
#include "../wait.hpp"

namespace halftrip {

// How far one end has come, in messages; all numbers wrap. Words that different ends write are kept
// two cache lines apart.
struct alignas(2 * kCacheLineSize) CudaIpcEnd {
  std::uint32_t arrived;  // which of its messages has arrived last: the device writes it
  alignas(2 * kCacheLineSize) std::uint32_t free;  // for how many messages it has had a buffer
  std::uint32_t acknowledged;                      // how many acknowledgements it has sent
};

// Zeros at first.
struct CudaIpcSegment {
  CudaIpcEnd ends[2];
};

// One end. `arrived_word` is what the device knows its own word `arrived` by.
class CudaIpcLink {
 public:
  CudaIpcLink(CudaStream& stream, CudaIpcSegment* segment, unsigned side,
              std::uint64_t arrived_word, bool yields)
      : stream_(stream),
        own_(segment->ends[side]),
        peer_(segment->ends[1 - side]),
        arrived_word_(arrived_word),
        yields_(yields) {}

  // Begins a message from `out` into the peer's next buffer, `to`.
  void begin_send(std::byte* to, const std::byte* out, std::size_t size) {
    wait_for(peer_.free, sent_ + 1);
    stream_.copy(to, out, size);
    stream_.write(arrived_word_, ++sent_);
  }
  void finish_sends() { stream_.synchronize(); }

  // Says that the next buffer is free.
  void begin_recv() { store(own_.free, ++free_); }

  // Waits for the message of the oldest of these buffers.
  void finish_recv() { wait_for(peer_.arrived, ++received_); }

  CudaStream& stream() { return stream_; }

  void send_ack() { store(own_.acknowledged, ++acks_sent_); }
  void recv_ack() { wait_for(peer_.acknowledged, ++acks_received_); }

 private:
  static void store(std::uint32_t& word, std::uint32_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

  // Until the word has come to `number` or beyond it.
  void wait_for(std::uint32_t& word, std::uint32_t number) {
    spin_until(yields_, [&] {
      const std::uint32_t seen = std::atomic_ref(word).load(std::memory_order_acquire);
      return static_cast<std::int32_t>(seen - number) >= 0;
    });
  }

  CudaStream& stream_;
  CudaIpcEnd &own_, &peer_;
  std::uint64_t arrived_word_;
  bool yields_;
  std::uint32_t sent_ = 0, received_ = 0, free_ = 0, acks_sent_ = 0, acks_received_ = 0;
};

// What both kinds of calls have. `target` are the peer's receive buffers, in the order of their
// use.
class CudaIpcMessages {
 public:
  static constexpr bool bound_to_buffers = true;

  CudaIpcMessages(CudaIpcLink link, Ring target) : link_(link), target_(target) {}

  void check(const Buffers& buffers) const {
    if (buffers.out.size() != target_.size())
      throw std::invalid_argument("the peer's buffers have another size");
  }

  void send_ack() { link_.send_ack(); }
  void recv_ack() { link_.recv_ack(); }

 protected:
  void start(const std::byte* out, std::size_t size) {
    link_.begin_send(target_.next(), out, size);
  }

  CudaIpcLink link_;
  Ring target_;
};

// Calls that block: send() returns when the copy is over, recv() when the message is there.
class CudaIpc : public CudaIpcMessages {
 public:
  using CudaIpcMessages::CudaIpcMessages;

  void send(const std::byte* out, std::size_t size) {
    start(out, size);
    link_.finish_sends();
  }

  void recv(std::byte*, std::size_t) {
    link_.begin_recv();
    link_.finish_recv();
  }

  // All messages of this end are one after the other in its stream, so the order of the two
  // directions is the device's.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order, Received received) {
    for (std::int64_t i = 0; i < count; ++i) {
      in.next();
      link_.begin_recv();
    }
    for (std::int64_t i = 0; i < count; ++i) start(out.next(), out.size());
    for (std::int64_t i = 0; i < count; ++i) link_.finish_recv();
    received();
    link_.finish_sends();
  }
};

// Calls that only begin: a window of copies is waited for once. A copy can begin when the peer has
// said that its buffer is free, which it may do after a send of its own: so no send waits for it
// before this end has begun all that it begins.
class CudaIpcNonblocking : public CudaIpcMessages {
 public:
  // Iterations have at most `most` messages each way.
  CudaIpcNonblocking(CudaIpcLink link, Ring target, std::size_t most)
      : CudaIpcMessages(link, target), most_(most) {
    sends_.reserve(most);
  }

  void check(const Buffers& buffers) const {
    CudaIpcMessages::check(buffers);
    if (static_cast<std::size_t>(buffers.window) > most_)
      throw std::invalid_argument("a window has more messages than this endpoint was made for");
  }

  void begin_send(const std::byte* out, std::size_t size) { sends_.push_back({out, size}); }

  void begin_recv(std::byte*, std::size_t) {
    link_.begin_recv();
    ++receiving_;
  }

  // The receives that were begun are the oldest; there are no others to wait for but the sends.
  void finish(std::int64_t count) {
    for (const Send& each : sends_) start(each.out, each.size);
    sends_.clear();
    for (; count > 0 && receiving_ > 0; --count, --receiving_) link_.finish_recv();
  }

  void finish() {
    finish(receiving_);
    link_.finish_sends();
  }

 private:
  struct Send {
    const std::byte* out;
    std::size_t size;
  };

  std::size_t most_;
  std::vector<Send> sends_;
  std::int64_t receiving_ = 0;
};

// The peer's memory, opened by its handle: a put or a get is a copy of the driver's.
class CudaIpcWindow {
 public:
  CudaIpcWindow(CudaIpcLink link, std::byte* window, std::size_t size)
      : link_(link), window_(window), size_(size) {}

  void check(const Buffers& buffers) const {
    if (std::max(buffers.out.extent(), buffers.in.extent()) > size_)
      throw std::invalid_argument("the buffers do not fit into the peer's window");
  }

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    link_.stream().copy(window_ + offset, out, size);
  }
  void get(std::byte* in, std::size_t offset, std::size_t size) {
    link_.stream().copy(in, window_ + offset, size);
  }
  void flush() { link_.stream().synchronize(); }

  // Acknowledgements release and acquire, and all copies have been waited for.
  void synchronize() {}

  void send_ack() { link_.send_ack(); }
  void recv_ack() { link_.recv_ack(); }

 private:
  CudaIpcLink link_;
  std::byte* window_;
  std::size_t size_;
};

}  // namespace halftrip
