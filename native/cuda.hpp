// CUDA's driver, reached by address: nothing here is built against it. Names and types are those of
// cuda.h, CUDA 12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "errors.hpp"

namespace halftrip {

// A stream of one device, which has to be current in the calling thread: what is begun on it
// happens in order, and synchronize() waits for all of it.
class CudaStream {
 public:
  // The addresses of: cuMemcpyAsync, cuStreamSynchronize, cuStreamWriteValue32, cuGetErrorName,
  // cuGetErrorString; and of cuMemcpyBatchAsync, where copy engines shall copy, or 0.
  CudaStream(const std::vector<std::uintptr_t>& functions, std::uintptr_t batch,
             std::uintptr_t stream)
      : memcpy_(function<Memcpy>(functions, 0)),
        synchronize_(function<Synchronize>(functions, 1)),
        write_value_(function<WriteValue>(functions, 2)),
        error_name_(function<ErrorText>(functions, 3)),
        error_string_(function<ErrorText>(functions, 4)),
        batch_(reinterpret_cast<MemcpyBatch>(batch)),
        stream_(reinterpret_cast<void*>(stream)) {}

  // Begins a copy. The driver tells by the addresses where the bytes are.
  void copy(void* to, const void* from, std::size_t size) {
    if (size == 0) return;
    if (batch_ == nullptr)
      check("cuMemcpyAsync", memcpy_(address(to), address(from), size, stream_));
    else
      copy_by_engine(address(to), address(from), size);
  }

  // Begins to write `value` to what `word` is for the device, behind all that was begun before.
  void write(std::uint64_t word, std::uint32_t value) {
    check("cuStreamWriteValue32", write_value_(stream_, word, value, 0));
  }

  void synchronize() { check("cuStreamSynchronize", synchronize_(stream_)); }

  void* handle() const noexcept { return stream_; }

  // Throws DeviceError for what a call has returned, unless it is CUDA_SUCCESS.
  void check(const char* call, int code) const {
    if (code != 0) [[unlikely]]
      fail(call, code);
  }

 private:
  using Pointer = std::uint64_t;  // CUdeviceptr
  using Memcpy = int (*)(Pointer, Pointer, std::size_t, void*);
  using Synchronize = int (*)(void*);
  using WriteValue = int (*)(void*, Pointer, std::uint32_t, unsigned);
  using ErrorText = int (*)(int, const char**);

  struct Location {
    int type, id;
  };
  struct Attributes {  // CUmemcpyAttributes
    int source_access_order;
    Location source, destination;
    unsigned flags;
  };
  using MemcpyBatch = int (*)(Pointer*, Pointer*, std::size_t*, std::size_t, Attributes*,
                              std::size_t*, std::size_t, std::size_t*, void*);

  template <class Function>
  static Function function(const std::vector<std::uintptr_t>& addresses, std::size_t number) {
    return reinterpret_cast<Function>(addresses.at(number));
  }

  static Pointer address(const void* pointer) { return reinterpret_cast<Pointer>(pointer); }

  // "Prefer to overlap with compute work" is how cuda.h asks for a copy engine.
  void copy_by_engine(Pointer to, Pointer from, std::size_t size) {
    constexpr int kInStreamOrder = 1;
    constexpr unsigned kPreferOverlap = 1;
    Attributes attributes{kInStreamOrder, {}, {}, kPreferOverlap};
    std::size_t first = 0, failed = 0;
    check("cuMemcpyBatchAsync",
          batch_(&to, &from, &size, 1, &attributes, &first, 1, &failed, stream_));
  }

  [[noreturn, gnu::noinline]] void fail(const char* call, int code) const {
    const char *name = nullptr, *text = nullptr;
    error_name_(code, &name);
    error_string_(code, &text);
    std::string said = std::string(call) + ": ";
    said += name != nullptr ? name : "error " + std::to_string(code);
    if (text != nullptr) said += " (" + std::string(text) + ")";
    throw DeviceError(said);
  }

  Memcpy memcpy_;
  Synchronize synchronize_;
  WriteValue write_value_;
  ErrorText error_name_, error_string_;
  MemcpyBatch batch_;
  void* stream_;
};

}  // namespace halftrip
