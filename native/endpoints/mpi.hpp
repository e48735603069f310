// MPI's calls, reached by address: nothing here knows which MPI it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "../errors.hpp"

namespace halftrip {

inline void check_mpi(int code) {
  if (code != 0) [[unlikely]]
    throw MpiError(code);
}

// MPI-4's functions that end in _c count in this type, all others in int. One loop calls either:
// the calling conventions of 64-bit Linux pass both as one register or slot, of which a function
// that takes an int looks at the lower half, so no message costs an instruction more.
using MpiCount = std::int64_t;

// How to talk to one peer. Handle is how this MPI represents a communicator, a datatype, a request
// and a window: int (MPICH and its derivatives) or a pointer (Open MPI, the MPI-5 standard ABI).
//
// A message of `typed_size` bytes is one element of `datatype`, whose first and last byte are
// `typed_extent` bytes apart in memory, both included. All other messages are plain bytes, and so
// are all messages where `typed_size` is 0. `most` is what the functions of an endpoint count to.
template <class Handle>
struct MpiPath {
  Handle communicator, byte, datatype;
  std::size_t typed_size, typed_extent, most;
  int peer, tag;

  Handle type(std::size_t size) const { return is_typed(size) ? datatype : byte; }

  // check_message() has refused what does not fit.
  MpiCount count(std::size_t size) const {
    return is_typed(size) ? 1 : static_cast<MpiCount>(size);
  }

  // How many bytes of memory a message of `size` bytes spans.
  std::size_t extent(std::size_t size) const { return is_typed(size) ? typed_extent : size; }

  void check_message(std::size_t size) const {
    if (!is_typed(size) && size > most)
      throw std::invalid_argument("these functions of MPI count no more than " +
                                  std::to_string(most) + " bytes in a message");
  }

  // MPI_STATUSES_IGNORE, which is a different constant in each family.
  static void* no_statuses() {
    return reinterpret_cast<void*>(std::is_same_v<Handle, int> ? std::uintptr_t{1} : 0);
  }

 private:
  bool is_typed(std::size_t size) const { return typed_size != 0 && size == typed_size; }
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

// MPI_Send or one of its variants, and MPI_Recv.
template <class Handle>
class MpiSendRecv {
 public:
  MpiSendRecv(MpiPath<Handle> path, const MpiAddresses& functions, std::size_t send,
              std::size_t recv)
      : path_(path),
        send_(mpi_function<Send>(functions, send)),
        recv_(mpi_function<Recv>(functions, recv)) {}

  void send(const std::byte* out, std::size_t size) {
    check_mpi(
        send_(out, path_.count(size), path_.type(size), path_.peer, path_.tag, path_.communicator));
  }

  void recv(std::byte* in, std::size_t size) {
    check_mpi(recv_(in, path_.count(size), path_.type(size), path_.peer, path_.tag,
                    path_.communicator, &status_));
  }

  // Acknowledgements: MPI has empty messages.
  void send_ack() { send(nullptr, 0); }
  void recv_ack() { recv(nullptr, 0); }

 private:
  using Send = int (*)(const void*, MpiCount, Handle, int, int, Handle);
  using Recv = int (*)(void*, MpiCount, Handle, int, int, Handle, void*);

  MpiPath<Handle> path_;
  Send send_;
  Recv recv_;
  MpiStatus status_;
};

// Calls that block: MPI_Send or one of its variants, MPI_Recv, MPI_Sendrecv.
template <class Handle>
class Mpi {
 public:
  // The addresses of: a send, MPI_Recv, MPI_Sendrecv, MPI_Isend, MPI_Wait.
  Mpi(MpiPath<Handle> path, const MpiAddresses& functions)
      : path_(path),
        messages_(path, functions, 0, 1),
        sendrecv_(mpi_function<Sendrecv>(functions, 2)),
        isend_(mpi_function<Isend>(functions, 3)),
        wait_(mpi_function<WaitOne>(functions, 4)) {}

  void check_message(std::size_t size) const { path_.check_message(size); }

  void send(const std::byte* out, std::size_t size) { messages_.send(out, size); }
  void recv(std::byte* in, std::size_t size) { messages_.recv(in, size); }

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
  using Sendrecv = int (*)(const void*, MpiCount, Handle, int, int, void*, MpiCount, Handle, int,
                           int, Handle, void*);
  using Isend = int (*)(const void*, MpiCount, Handle, int, int, Handle, Handle*);
  using WaitOne = int (*)(Handle*, void*);

  void sendrecv(const std::byte* out, std::byte* in, std::size_t size) {
    const MpiCount count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(sendrecv_(out, count, type, path_.peer, path_.tag, in, count, type, path_.peer,
                        path_.tag, path_.communicator, &status_));
  }

  // A large blocking send would wait for ever for a peer that sends at the same time.
  void send_then_recv(const std::byte* out, std::byte* in, std::size_t size) {
    Handle request;
    check_mpi(isend_(out, path_.count(size), path_.type(size), path_.peer, path_.tag,
                     path_.communicator, &request));
    recv(in, size);
    check_mpi(wait_(&request, &status_));
  }

  MpiPath<Handle> path_;
  MpiSendRecv<Handle> messages_;
  Sendrecv sendrecv_;
  Isend isend_;
  WaitOne wait_;
  MpiStatus status_;
};

}  // namespace halftrip
