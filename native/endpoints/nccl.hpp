// NCCL's point-to-point calls on a stream, each waited for by the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../buffers.hpp"
#include "../cuda.hpp"
#include "../endpoint.hpp"
#include "../errors.hpp"

namespace halftrip {

// NCCL's functions, by address. Names and types are those of nccl.h, NCCL 2.
class NcclCalls {
 public:
  static constexpr const char* kNames[] = {"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd",
                                           "ncclGetErrorString"};

  explicit NcclCalls(const std::vector<std::uintptr_t>& functions)
      : send_(reinterpret_cast<Send>(functions.at(0))),
        recv_(reinterpret_cast<Recv>(functions.at(1))),
        group_start_(reinterpret_cast<Group>(functions.at(2))),
        group_end_(reinterpret_cast<Group>(functions.at(3))),
        error_string_(reinterpret_cast<ErrorString>(functions.at(4))) {}

  void send(const void* out, std::size_t size, int peer, void* comm, void* stream) {
    check("ncclSend", send_(out, size, kUint8, peer, comm, stream));
  }
  void recv(void* in, std::size_t size, int peer, void* comm, void* stream) {
    check("ncclRecv", recv_(in, size, kUint8, peer, comm, stream));
  }
  void group_start() { check("ncclGroupStart", group_start_()); }
  void group_end() { check("ncclGroupEnd", group_end_()); }

 private:
  static constexpr int kUint8 = 1;
  using Send = int (*)(const void*, std::size_t, int, int, void*, void*);
  using Recv = int (*)(void*, std::size_t, int, int, void*, void*);
  using Group = int (*)();
  using ErrorString = const char* (*)(int);

  void check(const char* call, int code) const {
    if (code != 0) [[unlikely]]
      throw DeviceError(std::string(call) + ": " + error_string_(code));
  }

  Send send_;
  Recv recv_;
  Group group_start_, group_end_;
  ErrorString error_string_;
};

// A communicator of two ranks, which stays the caller's, and a byte of the device's memory for
// acknowledgements: NCCL has no empty messages.
class NcclLink {
 public:
  NcclLink(NcclCalls calls, CudaStream& stream, std::uintptr_t comm, int peer, std::uintptr_t ack)
      : calls_(calls),
        stream_(stream),
        comm_(reinterpret_cast<void*>(comm)),
        ack_(reinterpret_cast<std::byte*>(ack)),
        peer_(peer) {}

  void begin_send(const std::byte* out, std::size_t size) {
    calls_.send(out, size, peer_, comm_, stream_.handle());
  }
  void begin_recv(std::byte* in, std::size_t size) {
    calls_.recv(in, size, peer_, comm_, stream_.handle());
  }
  void begin_group() { calls_.group_start(); }
  void end_group() { calls_.group_end(); }
  void synchronize() { stream_.synchronize(); }

  void send_ack() {
    begin_send(ack_, 1);
    synchronize();
  }
  void recv_ack() {
    begin_recv(ack_, 1);
    synchronize();
  }

 private:
  NcclCalls calls_;
  CudaStream& stream_;
  void* comm_;
  std::byte* ack_;
  int peer_;
};

// Calls that block: each is waited for by itself.
class Nccl {
 public:
  explicit Nccl(NcclLink link) : link_(link) {}

  void send(const std::byte* out, std::size_t size) {
    link_.begin_send(out, size);
    link_.synchronize();
  }

  void recv(std::byte* in, std::size_t size) {
    link_.begin_recv(in, size);
    link_.synchronize();
  }

  // What is in one group moves at once, in whatever order it was begun.
  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order, Received received) {
    link_.begin_group();
    for (std::int64_t i = 0; i < count; ++i) {
      link_.begin_send(out.next(), out.size());
      link_.begin_recv(in.next(), in.size());
    }
    link_.end_group();
    link_.synchronize();
    received();
  }

  void send_ack() { link_.send_ack(); }
  void recv_ack() { link_.recv_ack(); }

 private:
  NcclLink link_;
};

// A window of messages in one group, waited for once.
class NcclNonblocking {
 public:
  explicit NcclNonblocking(NcclLink link) : link_(link) {}

  void begin_send(const std::byte* out, std::size_t size) {
    open();
    link_.begin_send(out, size);
  }

  void begin_recv(std::byte* in, std::size_t size) {
    open();
    link_.begin_recv(in, size);
  }

  // All of a group completes together.
  void finish(std::int64_t) { finish(); }

  void finish() {
    if (!is_open_) return;
    is_open_ = false;
    link_.end_group();
    link_.synchronize();
  }

  void send_ack() { link_.send_ack(); }
  void recv_ack() { link_.recv_ack(); }

 private:
  void open() {
    if (is_open_) return;
    link_.begin_group();
    is_open_ = true;
  }

  NcclLink link_;
  bool is_open_ = false;
};

}  // namespace halftrip
