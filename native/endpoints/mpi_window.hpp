// An MPI window: memory of the peer's that a rank reaches by itself.
#pragma once

#include <cstddef>

#include "mpi.hpp"

namespace halftrip {

// MPI_Put, MPI_Get and MPI_Win_flush in an epoch that MPI_Win_lock_all has opened.
template <class Handle>
class MpiWindow {
 public:
  // `target` is the peer's rank in the window, in which the buffers begin at `base`. The addresses
  // of: MPI_Put, MPI_Get, MPI_Win_flush, MPI_Send, MPI_Recv.
  MpiWindow(MpiPath<Handle> path, const MpiAddresses& functions, Handle window, int target,
            std::ptrdiff_t base)
      : path_(path),
        put_(mpi_function<Put>(functions, 0)),
        get_(mpi_function<Get>(functions, 1)),
        flush_(mpi_function<Flush>(functions, 2)),
        blocking_(path, {functions.at(3), functions.at(4), 0, 0, 0}),
        window_(window),
        target_(target),
        base_(base) {}

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    const int count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(put_(out, count, type, target_, base_ + static_cast<std::ptrdiff_t>(offset), count,
                   type, window_));
  }

  void get(std::byte* in, std::size_t offset, std::size_t size) {
    const int count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(get_(in, count, type, target_, base_ + static_cast<std::ptrdiff_t>(offset), count,
                   type, window_));
  }

  void flush() { check_mpi(flush_(target_, window_)); }

  // The peer sits in MPI_Recv meanwhile: some MPIs move nothing unless both ends are in a call.
  void send_ack() { blocking_.send(nullptr, 0); }
  void recv_ack() { blocking_.recv(nullptr, 0); }

 private:
  using Put = int (*)(const void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle);
  using Get = int (*)(void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle);
  using Flush = int (*)(int, Handle);

  MpiPath<Handle> path_;
  Put put_;
  Get get_;
  Flush flush_;
  Mpi<Handle> blocking_;
  Handle window_;
  int target_;
  std::ptrdiff_t base_;
};

}  // namespace halftrip
