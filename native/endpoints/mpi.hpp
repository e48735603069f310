// MPI's calls, reached by address: nothing here knows which MPI it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../endpoint.hpp"
#include "../errors.hpp"

namespace halftrip {

inline void check_mpi(int code) {
  if (code != 0) [[unlikely]]
    throw MpiError(code);
}

// How to talk to one peer. Handle is how this MPI represents a communicator, a datatype, a request
// and a window: int (MPICH and its kin) or a pointer (Open MPI, the MPI-5 standard ABI).
//
// A message of `typed` bytes is one element of `datatype`; 0: all messages are plain bytes.
template <class Handle>
struct MpiPath {
  Handle communicator, byte, datatype;
  std::size_t typed;
  int peer, tag;

  Handle type(std::size_t size) const { return is_typed(size) ? datatype : byte; }
  int count(std::size_t size) const { return is_typed(size) ? 1 : static_cast<int>(size); }

  // MPI_STATUSES_IGNORE, which is a different constant in each family.
  static void* no_statuses() {
    return reinterpret_cast<void*>(std::is_same_v<Handle, int> ? std::uintptr_t{1} : 0);
  }

 private:
  bool is_typed(std::size_t size) const { return typed != 0 && size == typed; }
};

// MPI_STATUS_IGNORE differs too; a real status serves all. The largest known takes 40 bytes.
struct alignas(64) MpiStatus {
  std::array<std::byte, 256> bytes{};
};

// The addresses of the functions of these names, in order.
using MpiAddresses = std::vector<std::uintptr_t>;

template <class Function>
Function mpi_function(const MpiAddresses& addresses, std::size_t number) {
  return reinterpret_cast<Function>(addresses.at(number));
}

// Calls that block: MPI_Send or one of its kin, MPI_Recv, MPI_Sendrecv.
template <class Handle>
class Mpi {
 public:
  // The addresses of: a send, MPI_Recv, MPI_Sendrecv, MPI_Isend, MPI_Wait.
  Mpi(MpiPath<Handle> path, const MpiAddresses& functions)
      : path_(path),
        send_(mpi_function<Send>(functions, 0)),
        recv_(mpi_function<Recv>(functions, 1)),
        sendrecv_(mpi_function<Sendrecv>(functions, 2)),
        isend_(mpi_function<Isend>(functions, 3)),
        wait_(mpi_function<WaitOne>(functions, 4)) {}

  void send(const std::byte* out, std::size_t size) {
    check_mpi(
        send_(out, path_.count(size), path_.type(size), path_.peer, path_.tag, path_.communicator));
  }

  void recv(std::byte* in, std::size_t size) {
    check_mpi(recv_(in, path_.count(size), path_.type(size), path_.peer, path_.tag,
                    path_.communicator, &status_));
  }

  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (order == Order::in_turn)
        sendrecv(out.next(), in.next(), out.size());
      else
        send_then_recv(out.next(), in.next(), out.size());
    }
    received();
  }

 private:
  using Send = int (*)(const void*, int, Handle, int, int, Handle);
  using Recv = int (*)(void*, int, Handle, int, int, Handle, void*);
  using Sendrecv = int (*)(const void*, int, Handle, int, int, void*, int, Handle, int, int, Handle,
                           void*);
  using Isend = int (*)(const void*, int, Handle, int, int, Handle, Handle*);
  using WaitOne = int (*)(Handle*, void*);

  void sendrecv(const std::byte* out, std::byte* in, std::size_t size) {
    const int count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(sendrecv_(out, count, type, path_.peer, path_.tag, in, count, type, path_.peer,
                        path_.tag, path_.communicator, &status_));
  }

  // A blocking send that is received by nobody would block for ever where it is large.
  void send_then_recv(const std::byte* out, std::byte* in, std::size_t size) {
    Handle request;
    check_mpi(isend_(out, path_.count(size), path_.type(size), path_.peer, path_.tag,
                     path_.communicator, &request));
    recv(in, size);
    check_mpi(wait_(&request, &status_));
  }

  MpiPath<Handle> path_;
  Send send_;
  Recv recv_;
  Sendrecv sendrecv_;
  Isend isend_;
  WaitOne wait_;
  MpiStatus status_;
};

}  // namespace halftrip
