// Dragon channels by the calls of libdragon, reached by address: nothing here is built against it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "../errors.hpp"
#include "../wait.hpp"

namespace halftrip {

// A value whose content belongs to libdragon; in version 0.15 descriptors take 16 bytes and
// messages 56. `is_within_bounds` tells whether the library has kept to the space that it has here.
template <std::size_t size>
class DragonValue {
 public:
  DragonValue() { bytes_.fill(kUntouched); }

  void* get() noexcept { return bytes_.data(); }
  bool is_within_bounds() const noexcept {
    return std::all_of(bytes_.begin() + size, bytes_.end(),
                       [](std::byte each) { return each == kUntouched; });
  }

 private:
  static constexpr std::byte kUntouched{0xa5};
  alignas(16) std::array<std::byte, 2 * size> bytes_;
};

using DragonMemory = DragonValue<64>;
using DragonMessage = DragonValue<128>;

// The addresses of libdragon's functions, in the order of `kNames`.
class DragonCalls {
 public:
  static constexpr std::array kNames{
      "dragon_channel_message_init",    "dragon_channel_message_destroy",
      "dragon_channel_message_get_mem", "dragon_chsend_send_msg",
      "dragon_chrecv_get_msg_blocking", "dragon_memory_alloc_blocking",
      "dragon_memory_get_pointer",      "dragon_memory_get_size",
      "dragon_memory_descr_clone",      "dragon_memory_free",
      "dragon_get_rc_string",           "dragon_getlasterrstr"};

  explicit DragonCalls(const std::vector<std::uintptr_t>& addresses) {
    if (addresses.size() != kNames.size())
      throw std::invalid_argument("one address for each of libdragon's functions");
    std::size_t number = 0;
    const auto take = [&]<class Function>(Function& function) {
      function = reinterpret_cast<Function>(addresses[number++]);
    };
    take(message_init);
    take(message_destroy);
    take(message_get_mem);
    take(send_msg);
    take(get_msg);
    take(memory_alloc);
    take(memory_get_pointer);
    take(memory_get_size);
    take(memory_clone);
    take(memory_free);
    take(rc_string_);
    take(last_error_);
  }

  void check(int code) const {
    if (code != 0) [[unlikely]]
      fail(code);
  }

  // Calls call(&timeout) until it succeeds, with a short timeout, so that a stop is seen meanwhile.
  template <class Call>
  void wait(Call call) const {
    constexpr timespec kPatience{0, 100'000'000};
    for (;;) {
      const int code = call(&kPatience);
      if (code == 0) [[likely]]
        return;
      if (std::string_view(rc_string_(code)) != "DRAGON_TIMEOUT" &&
          std::string_view(rc_string_(code)) != "DRAGON_CHANNEL_EMPTY" &&
          std::string_view(rc_string_(code)) != "DRAGON_CHANNEL_FULL")
        fail(code);
      check_stop();
    }
  }

  int (*message_init)(void* message, void* memory, const void* attributes);
  int (*message_destroy)(void* message, bool frees_memory);
  int (*message_get_mem)(const void* message, void* memory);
  int (*send_msg)(const void* handle, const void* message, void* destination, const timespec*);
  int (*get_msg)(const void* handle, void* message, const timespec*);
  int (*memory_alloc)(void* memory, const void* pool, std::size_t bytes, const timespec*);
  int (*memory_get_pointer)(const void* memory, void** pointer);
  int (*memory_get_size)(const void* memory, std::size_t* bytes);
  int (*memory_clone)(void* to, const void* from, std::ptrdiff_t offset, std::size_t* length);
  int (*memory_free)(void* memory);

 private:
  [[noreturn]] void fail(int code) const {
    // The library's text is a whole trace; its first line says what is wrong.
    const std::string trace = last_error_();
    const std::string first = trace.substr(0, trace.find('\n'));
    throw DragonError(std::string(rc_string_(code)) + (first.empty() ? "" : ": " + first));
  }

  const char* (*rc_string_)(int code);
  const char* (*last_error_)();
};

// The peer's channel to send to, this rank's to receive from, and the pool of messages sent. The
// objects stay the caller's.
struct DragonPath {
  const void *send_handle, *receive_handle, *pool;
};

// With `transfers`, each message is in memory of its own, which the receiver gets and frees: the
// sender copies into it. Otherwise the sender keeps its memory: its buffers have copies in Dragon's
// memory, made by load(), and the library copies what it sends. A receiver copies what arrived into
// its buffer and frees the message.
class DragonChannel {
 public:
  DragonChannel(DragonCalls calls, DragonPath path, Ring out, bool transfers)
      : calls_(calls), path_(path), out_(out), transfers_(transfers) {
    if (transfers_) {
      allocate(kept_, sizeof(std::byte));
      messages_.resize(1);
    } else {
      allocate(kept_, out_.extent() + 1);
      messages_.resize(out_.slots() + 1);
    }
    // The last message is an acknowledgement: the last byte of this memory.
    try {
      describe();
    } catch (...) {
      calls_.memory_free(kept_.get());
      throw;
    }
  }

  ~DragonChannel() {
    for (DragonMessage& message : messages_) calls_.message_destroy(message.get(), false);
    calls_.memory_free(kept_.get());
  }

  DragonChannel(const DragonChannel&) = delete;
  DragonChannel& operator=(const DragonChannel&) = delete;

  // Makes the messages that are sent from the buffers' present content.
  void load() {
    if (!transfers_) std::memcpy(kept_start_, out_.at(0), out_.extent());
  }

  void send(const std::byte* out, std::size_t size) {
    if (!transfers_) return deposit(messages_[slot(out)], nullptr);
    DragonMemory memory;
    void* start = allocate(memory, size);
    std::memcpy(start, out, size);
    DragonMessage message;
    calls_.check(calls_.message_init(message.get(), memory.get(), nullptr));
    deposit(message, kTransfer);
    calls_.check(calls_.message_destroy(message.get(), false));
  }

  void recv(std::byte* in, std::size_t size) {
    DragonMessage message;
    DragonMemory memory;
    void* start = nullptr;
    std::size_t found = 0;
    calls_.check(calls_.message_init(message.get(), nullptr, nullptr));
    calls_.wait([&](const timespec* patience) {
      return calls_.get_msg(path_.receive_handle, message.get(), patience);
    });
    calls_.check(calls_.message_get_mem(message.get(), memory.get()));
    calls_.check(calls_.memory_get_size(memory.get(), &found));
    // Memory comes in blocks: a message may have more bytes than were sent, never fewer.
    if (found < size) throw DragonError("a message of " + std::to_string(found) + " bytes arrived");
    calls_.check(calls_.memory_get_pointer(memory.get(), &start));
    std::memcpy(in, start, size);
    calls_.check(calls_.message_destroy(message.get(), true));
  }

  void send_ack() { deposit(messages_.back(), nullptr); }
  void recv_ack() {
    std::byte ack;
    recv(&ack, sizeof ack);
  }

  // A send returns when the channel has the message: a channel has room for more than one.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order, Received received) {
    for (std::int64_t i = 0; i < count; ++i) {
      send(out.next(), out.size());
      recv(in.next(), in.size());
    }
    received();
  }

 private:
  // DRAGON_CHANNEL_SEND_TRANSFER_OWNERSHIP
  static inline void* const kTransfer = reinterpret_cast<void*>(1);

  // Memory of that size; where it starts.
  void* allocate(DragonMemory& memory, std::size_t size) const {
    void* start = nullptr;
    calls_.wait([&](const timespec* patience) {
      return calls_.memory_alloc(memory.get(), path_.pool, size, patience);
    });
    calls_.check(calls_.memory_get_pointer(memory.get(), &start));
    return start;
  }

  // A message for each buffer, which is a part of the memory that is kept.
  void describe() {
    void* start = nullptr;
    calls_.check(calls_.memory_get_pointer(kept_.get(), &start));
    kept_start_ = static_cast<std::byte*>(start);
    const std::size_t end = transfers_ ? 0 : out_.extent();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const bool is_ack = i + 1 == messages_.size();
      std::size_t length = is_ack ? 1 : out_.size();
      const std::size_t offset = is_ack ? end : static_cast<std::size_t>(out_.at(i) - out_.at(0));
      DragonMemory part;
      calls_.check(calls_.memory_clone(part.get(), kept_.get(), static_cast<std::ptrdiff_t>(offset),
                                       &length));
      calls_.check(calls_.message_init(messages_[i].get(), part.get(), nullptr));
      if (!part.is_within_bounds() || !messages_[i].is_within_bounds())
        throw DragonError("this libdragon has larger messages than halftrip has room for");
    }
  }

  std::size_t slot(const std::byte* out) const {
    if (messages_.size() == 2) return 0;
    return static_cast<std::size_t>(out - out_.at(0)) /
           static_cast<std::size_t>(out_.at(1) - out_.at(0));
  }

  void deposit(DragonMessage& message, void* destination) const {
    calls_.wait([&](const timespec* patience) {
      return calls_.send_msg(path_.send_handle, message.get(), destination, patience);
    });
  }

  DragonCalls calls_;
  DragonPath path_;
  Ring out_;
  bool transfers_;
  DragonMemory kept_;
  std::byte* kept_start_ = nullptr;
  std::vector<DragonMessage> messages_;
};

}  // namespace halftrip
