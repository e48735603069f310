// Dragon channels by the calls of libdragon, reached by address: nothing here is built against it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "../errors.hpp"
#include "../wait.hpp"

namespace halftrip {

// A value whose content belongs to libdragon; in version 0.15 descriptors take 16 bytes and
// messages 56. After `mark`, `is_within_bounds` tells whether the library has kept to the space
// that it has here.
template <std::size_t size>
class DragonValue {
 public:
  // Whoever measures does not clear it each time.
  DragonValue() {}

  void* get() noexcept { return bytes_.data(); }
  void mark() noexcept { bytes_.fill(kUntouched); }
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

  // Calls call(&timeout) until it succeeds, with a short timeout, so that a stop is seen meanwhile;
  // at most that many times. Returns whether it has succeeded.
  template <class Call>
  bool wait(Call call, std::int64_t tries = std::numeric_limits<std::int64_t>::max()) const {
    constexpr timespec kPatience{0, 100'000'000};
    for (; tries > 0; --tries) {
      const int code = call(&kPatience);
      if (code == 0) [[likely]]
        return true;
      const std::string_view name = rc_string_(code);
      if (name != "DRAGON_TIMEOUT" && name != "DRAGON_CHANNEL_EMPTY" &&
          name != "DRAGON_CHANNEL_FULL")
        fail(code);
      check_stop();
    }
    return false;
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
    // The library's text is a whole trace; the line after its title says what is wrong.
    std::string_view trace = last_error_();
    std::string line;
    while (line.empty() && !trace.empty()) {
      const std::string_view next = trace.substr(0, trace.find('\n'));
      trace.remove_prefix(std::min(next.size() + 1, trace.size()));
      if (!next.starts_with("Traceback")) line = next;
    }
    throw DragonError(std::string(rc_string_(code)) + (line.empty() ? "" : ": " + line));
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
    try {
      prepare();
    } catch (...) {
      release();
      throw;
    }
  }

  ~DragonChannel() { release(); }

  DragonChannel(const DragonChannel&) = delete;
  DragonChannel& operator=(const DragonChannel&) = delete;

  // Makes the messages that are sent from the buffers' present content.
  void load() {
    if (!transfers_) std::memcpy(kept_.start, out_.at(0), out_.extent());
  }

  void send(const std::byte* out, std::size_t size) {
    if (!transfers_) return deposit(messages_[slot(out)], nullptr);
    Allocation memory = allocate(size);
    std::memcpy(memory.start, out, size);
    DragonMessage message;
    calls_.check(calls_.message_init(message.get(), memory.descriptor.get(), nullptr));
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

  void send_ack() { deposit(acknowledgement_, nullptr); }
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

  // Memory of a pool that is not in use any longer comes back soon.
  static constexpr std::int64_t kTriesToAllocate = 100;

  struct Allocation {
    DragonMemory descriptor;
    std::byte* start = nullptr;
  };

  Allocation allocate(std::size_t size) const {
    Allocation made;
    void* start = nullptr;
    const bool has_room = calls_.wait(
        [&](const timespec* patience) {
          return calls_.memory_alloc(made.descriptor.get(), path_.pool, size, patience);
        },
        kTriesToAllocate);
    if (!has_room)
      throw DragonError("the memory pool of the runtime has no room for " + std::to_string(size) +
                        " bytes");
    calls_.check(calls_.memory_get_pointer(made.descriptor.get(), &start));
    made.start = static_cast<std::byte*>(start);
    return made;
  }

  // Makes the messages that are sent more than once: an acknowledgement, and one for each buffer,
  // unless each goes away with its memory.
  void prepare() {
    acknowledged_ = allocate(sizeof(std::byte));
    describe(acknowledgement_, acknowledged_, 0, sizeof(std::byte));
    ++described_;
    if (transfers_) return;
    kept_ = allocate(out_.extent());
    messages_.resize(out_.slots());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      describe(messages_[i], kept_, out_.at(i) - out_.at(0), out_.size());
      ++described_;
    }
  }

  // Makes a message of a part of that memory.
  void describe(DragonMessage& message, Allocation& memory, std::ptrdiff_t offset,
                std::size_t length) const {
    DragonMemory part;
    part.mark();
    message.mark();
    calls_.check(calls_.memory_clone(part.get(), memory.descriptor.get(), offset, &length));
    calls_.check(calls_.message_init(message.get(), part.get(), nullptr));
    if (!part.is_within_bounds() || !message.is_within_bounds())
      throw DragonError("this libdragon has larger messages than halftrip has room for");
  }

  // Gives back what there is: the runtime outlives this process.
  void release() noexcept {
    if (described_ > 0) calls_.message_destroy(acknowledgement_.get(), false);
    for (std::size_t i = 1; i < described_; ++i)
      calls_.message_destroy(messages_[i - 1].get(), false);
    for (Allocation* memory : {&acknowledged_, &kept_})
      if (memory->start != nullptr) calls_.memory_free(memory->descriptor.get());
  }

  std::size_t slot(const std::byte* out) const {
    if (messages_.size() == 1) return 0;
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
  Allocation acknowledged_, kept_;
  DragonMessage acknowledgement_;
  std::vector<DragonMessage> messages_;
  std::size_t described_ = 0;
};

}  // namespace halftrip
