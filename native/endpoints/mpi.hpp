// MPI's blocking point-to-point calls, reached by address: nothing here knows which MPI it is.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace halftrip {

// A call that returned something other than MPI_SUCCESS.
struct MpiError : std::runtime_error {
  explicit MpiError(int code) : std::runtime_error(std::to_string(code)) {}
};

// Handle is how this MPI represents a communicator and a datatype: int (MPICH and its kin) or a
// pointer (Open MPI, the MPI-5 standard ABI).
template <class Handle>
class Mpi {
 public:
  using Send = int (*)(const void*, int, Handle, int, int, Handle);
  using Recv = int (*)(void*, int, Handle, int, int, Handle, void*);

  Mpi(std::uintptr_t send, std::uintptr_t recv, Handle communicator, Handle byte, int peer)
      : send_(reinterpret_cast<Send>(send)),
        recv_(reinterpret_cast<Recv>(recv)),
        communicator_(communicator),
        byte_(byte),
        peer_(peer) {}

  void send(const std::byte* out, std::size_t size) {
    check(send_(out, static_cast<int>(size), byte_, peer_, kTag, communicator_));
  }

  void recv(std::byte* in, std::size_t size) {
    check(recv_(in, static_cast<int>(size), byte_, peer_, kTag, communicator_, status_.data()));
  }

 private:
  // Next to the group's, in src/halftrip/mpi.py: programs that call halftrip may use others.
  static constexpr int kTag = 18516;

  static void check(int code) {
    if (code != 0) [[unlikely]]
      throw MpiError(code);
  }

  Send send_;
  Recv recv_;
  Handle communicator_, byte_;
  int peer_;
  // MPI_STATUS_IGNORE is a different constant in each MPI; a real status serves all of them. The
  // largest known takes 40 bytes.
  alignas(64) std::array<std::byte, 256> status_{};
};

}  // namespace halftrip
