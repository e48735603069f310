// The peer's memory by libfabric: fi_writemsg and fi_readmsg.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "libfabric.hpp"

namespace halftrip {

// The peer's memory, which begins at `address` there and has `size` bytes.
class LibfabricWindow {
 public:
  LibfabricWindow(LibfabricPath& path, std::size_t max_window, std::uint64_t address,
                  std::uint64_t key, std::size_t size)
      : path_(path),
        messages_(path),
        begun_(path, max_window),
        address_(address),
        key_(key),
        size_(size) {}

  // Both rings: a pattern uses one of them, and a configuration has two of the same layout.
  void check(const Buffers& buffers) const {
    path_.check_message(buffers.out.size());
    begun_.check(static_cast<std::size_t>(buffers.window));
    if (std::max(buffers.out.extent(), buffers.in.extent()) > size_)
      throw std::invalid_argument("the buffers do not fit into the peer's window");
  }

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    write(out, offset, size, ofi::kDeliveryComplete);
  }
  void get(std::byte* in, std::size_t offset, std::size_t size) {
    path_.begin_get(in, size, address_ + offset, key_, begun_.next());
  }

  // The peer sees what comes, and says so by its reply.
  void begin_put(const std::byte* out, std::size_t offset, std::size_t size) {
    write(out, offset, size, 0);
  }
  void complete() { begun_.finish(); }

  template <class Ready>
  void wait_until(Ready ready) {
    path_.wait_until(ready);
  }

  void flush() { complete(); }
  void synchronize() {}

  // The peer sits in a receive meanwhile: most providers move nothing unless both ends call them.
  void send_ack() { messages_.send_ack(); }
  void recv_ack() { messages_.recv_ack(); }

 private:
  void write(const std::byte* out, std::size_t offset, std::size_t size, std::uint64_t flags) {
    path_.begin_put(out, size, address_ + offset, key_, flags, begun_.next());
  }

  LibfabricPath& path_;
  LibfabricMessages messages_;
  LibfabricBegun begun_;
  std::uint64_t address_, key_;
  std::size_t size_;
};

}  // namespace halftrip
