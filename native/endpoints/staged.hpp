// Messages in a device's memory over a path that only takes the host's: each is copied to or from a
// stage, page-locked memory of the host, as a part of what is timed. That is what a program pays
// whose library does not know the device.
//
// In chunks, the copy of one and the message of another are under way at the same time. Both ends
// use the same chunks, so an end whose buffers are in the host's memory is of this type, too: it
// sends them from where they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "../buffers.hpp"
#include "../cuda.hpp"
#include "../endpoint.hpp"

namespace halftrip {

// A blocking endpoint of any type. A virtual call takes a nanosecond, a device's copy some
// thousand.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual void check_message(std::size_t size) const = 0;
  virtual void send(const std::byte* out, std::size_t size) = 0;
  virtual void recv(std::byte* in, std::size_t size) = 0;
  virtual void exchange(Ring& out, Ring& in, Order order) = 0;
  virtual void send_ack() = 0;
  virtual void recv_ack() = 0;
};

template <class E>
class MessagesOf final : public Messages {
 public:
  explicit MessagesOf(E& endpoint) : endpoint_(endpoint) {}

  void check_message(std::size_t size) const override { halftrip::check_message(endpoint_, size); }
  void send(const std::byte* out, std::size_t size) override { endpoint_.send(out, size); }
  void recv(std::byte* in, std::size_t size) override { endpoint_.recv(in, size); }
  void exchange(Ring& out, Ring& in, Order order) override {
    if constexpr (DuplexEndpoint<E>)
      endpoint_.exchange(out, in, 1, order, [] {});
    else
      throw std::invalid_argument("this endpoint cannot send and receive at once");
  }
  void send_ack() override { halftrip::send_ack(endpoint_); }
  void recv_ack() override { halftrip::recv_ack(endpoint_); }

 private:
  E& endpoint_;
};

class Staged {
 public:
  // `stream` copies between the buffers and the stage; null: the buffers are in the host's memory.
  // The stage has two parts, each of `part` bytes: the largest message, or chunk. A `chunk` of 0 is
  // the whole message.
  Staged(Messages& messages, CudaStream* stream, std::byte* stage, std::size_t part,
         std::size_t chunk)
      : messages_(messages), stream_(stream), stage_(stage), part_(part), chunk_(chunk) {}

  void check_message(std::size_t size) const {
    if (stream_ != nullptr && piece(size) > part_)
      throw std::invalid_argument("the message does not fit into the stage");
    messages_.check_message(piece(size));
  }

  void send(const std::byte* out, std::size_t size) {
    const std::size_t most = piece(size);
    if (stream_ == nullptr) {
      in_pieces(size, [&](std::size_t at, std::size_t length, unsigned) {
        messages_.send(out + at, length);
      });
      return;
    }
    stream_->copy(stage(0), out, most);
    in_pieces(size, [&](std::size_t at, std::size_t length, unsigned part) {
      stream_->synchronize();
      const std::size_t next = at + length;
      if (next < size) stream_->copy(stage(1 - part), out + next, std::min(most, size - next));
      messages_.send(stage(part), length);
    });
  }

  // Returns when the message is in the device's memory.
  void recv(std::byte* in, std::size_t size) {
    if (stream_ == nullptr) {
      in_pieces(size, [&](std::size_t at, std::size_t length, unsigned) {
        messages_.recv(in + at, length);
      });
      return;
    }
    in_pieces(size, [&](std::size_t at, std::size_t length, unsigned part) {
      messages_.recv(stage(part), length);
      // Before the other part is received into again, its copy has to be over.
      if (at > 0) stream_->synchronize();
      stream_->copy(in + at, stage(part), length);
    });
    stream_->synchronize();
  }

  // One message of each end after the other: as many copies as messages, each waited for.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    const std::size_t size = out.size();
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte *from = out.next(), *to = in.next();
      if (stream_ == nullptr) {
        exchange_one(from, to, size, order);
        continue;
      }
      stream_->copy(stage(0), from, size);
      stream_->synchronize();
      exchange_one(stage(0), stage(1), size, order);
      stream_->copy(to, stage(1), size);
      stream_->synchronize();
    }
    received();
  }

  void send_ack() { messages_.send_ack(); }
  void recv_ack() { messages_.recv_ack(); }

 private:
  std::size_t piece(std::size_t size) const { return chunk_ == 0 ? size : std::min(chunk_, size); }

  std::byte* stage(unsigned part) const { return stage_ + part * part_; }

  // Calls each(at, length, part) for the pieces of a message; an empty one has one.
  template <class Each>
  void in_pieces(std::size_t size, Each each) const {
    const std::size_t most = piece(size);
    std::size_t at = 0;
    unsigned part = 0;
    do {
      const std::size_t length = std::min(most, size - at);
      each(at, length, part);
      at += length;
      part = 1 - part;
    } while (at < size);
  }

  void exchange_one(std::byte* out, std::byte* in, std::size_t size, Order order) {
    Ring one_out(out, 1, size, size), one_in(in, 1, size, size);
    messages_.exchange(one_out, one_in, order);
  }

  Messages& messages_;
  CudaStream* stream_;
  std::byte* stage_;
  std::size_t part_, chunk_;
};

}  // namespace halftrip
