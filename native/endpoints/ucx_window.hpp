// Put and get by UCX's calls, into memory of the peer's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "ucx.hpp"

namespace halftrip {

// Memory that UCX has allocated and its peer reaches: on one host it may be shared, which is faster
// than ours could be.
class UcxMemory {
 public:
  UcxMemory(UcxWorker& worker, std::size_t size) : worker_(worker) {
    ucp::MapParams params{};
    params.field_mask = ucp::MapParams::kLength | ucp::MapParams::kFlags;
    params.length = size;
    params.flags = ucp::MapParams::kAllocate;
    worker.calls.check("ucp_mem_map", worker.calls.map(worker.context, &params, &memory_));
  }
  ~UcxMemory() { close(); }
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;

  std::uintptr_t address() const {
    ucp::MemoryAttributes found{};
    found.field_mask = ucp::MemoryAttributes::kAddress;
    worker_.calls.check("ucp_mem_query", worker_.calls.query_memory(memory_, &found));
    return reinterpret_cast<std::uintptr_t>(found.address);
  }

  // What a peer needs to reach it.
  std::string key() const {
    void* buffer = nullptr;
    std::size_t size = 0;
    worker_.calls.check("ucp_rkey_pack",
                        worker_.calls.pack_key(worker_.context, memory_, &buffer, &size));
    std::string found(static_cast<const char*>(buffer), size);
    worker_.calls.release_key_buffer(buffer);
    return found;
  }

  void close() noexcept {
    // A context takes its memory with it.
    if (memory_ != nullptr && worker_.context != nullptr)
      worker_.calls.unmap(worker_.context, memory_);
    memory_ = nullptr;
  }

 private:
  UcxWorker& worker_;
  ucp::Memory memory_ = nullptr;
};

// Put and get. A window is over when all of it has been flushed.
class UcxWindow {
 public:
  // The peer's buffers begin at `address` of its memory, which has `room` bytes from there on.
  UcxWindow(UcxWorker& worker, std::string_view key, std::uint64_t address, std::size_t room)
      : worker_(worker),
        messages_(worker),
        put_(worker.calls.put),
        get_(worker.calls.get),
        flush_(worker.calls.flush_peer),
        operation_(worker.operations(3)[2]),
        address_(address),
        room_(room) {
    worker.calls.check("ucp_ep_rkey_unpack",
                       worker.calls.unpack_key(worker.peer, key.data(), &key_));
  }
  ~UcxWindow() {
    if (worker_.peer != nullptr) worker_.calls.destroy_key(key_);
  }
  UcxWindow(const UcxWindow&) = delete;
  UcxWindow& operator=(const UcxWindow&) = delete;

  // Both rings: a pattern uses one of them, and a configuration has two of the same layout.
  void check(const Buffers& buffers) const {
    if (std::max(buffers.out.extent(), buffers.in.extent()) > room_)
      throw std::invalid_argument("the buffers do not fit into the peer's window");
  }

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    leave(put_(worker_.peer, out, size, address_ + offset, key_, &kPlain));
  }

  void get(std::byte* in, std::size_t offset, std::size_t size) {
    leave(get_(worker_.peer, in, size, address_ + offset, key_, &kPlain));
  }

  void begin_put(const std::byte* out, std::size_t offset, std::size_t size) {
    const ucp::RequestParam param = ucx_param(operation_, &UcxCompleted::sent);
    worker_.begin(operation_, put_(worker_.peer, out, size, address_ + offset, key_, &param));
  }
  void complete() {
    worker_.finish(operation_, [] {});
  }

  template <class Ready>
  void wait_until(Ready ready) {
    worker_.until(ready);
  }

  // Not between begin_put() and complete(), which have the same operation.
  void flush() {
    const ucp::RequestParam param = ucx_param(operation_, &UcxCompleted::sent);
    worker_.begin(operation_, flush_(worker_.peer, &param));
    complete();
  }

  void synchronize() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // The peer waits for one in UCX meanwhile: some transports move nothing unless it does.
  void send_ack() { halftrip::send_ack(messages_); }
  void recv_ack() { halftrip::recv_ack(messages_); }

 private:
  static constexpr ucp::RequestParam kPlain{};

  // The flush waits for it.
  void leave(void* returned) {
    if (returned == nullptr) return;
    if (!ucp::is_request(returned)) worker_.fail(ucp::status_of(returned));
    worker_.calls.free_request(returned);
  }

  UcxWorker& worker_;
  Ucx<UcxTagged> messages_;
  decltype(ucp::Calls::put) put_;
  decltype(ucp::Calls::get) get_;
  decltype(ucp::Calls::flush_peer) flush_;
  UcxOperation& operation_;
  std::uint64_t address_;
  std::size_t room_;
  ucp::RemoteKey key_ = nullptr;
};

}  // namespace halftrip
