// An MPI window: the peer's memory, which a rank reaches by MPI_Put and MPI_Get.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "mpi.hpp"

namespace halftrip {

// MPI_Put, MPI_Get and MPI_Win_flush in an epoch that MPI_Win_lock_all has opened. MPI_Win_sync
// orders this rank's own accesses to its window.
template <class Handle>
class MpiWindow {
 public:
  // `target` is the peer's rank in the window. The peer's memory there has `size` bytes; its
  // buffers begin `base` bytes into it. The addresses of: MPI_Put, MPI_Get, MPI_Win_flush,
  // MPI_Win_sync, MPI_Send, MPI_Recv.
  MpiWindow(MpiPath<Handle> path, const MpiAddresses& functions, Handle window, int target,
            std::size_t base, std::size_t size)
      : path_(path),
        put_(mpi_function<Put>(functions, 0)),
        get_(mpi_function<Get>(functions, 1)),
        flush_(mpi_function<Flush>(functions, 2)),
        sync_(mpi_function<Sync>(functions, 3)),
        acks_(path, functions, 4, 5),
        window_(window),
        target_(target),
        base_(static_cast<std::ptrdiff_t>(base)),
        room_(size) {
    if (base > size) throw std::invalid_argument("the buffers begin behind the peer's window");
    room_ -= base;
  }

  // Both rings: a pattern uses one of them, and a configuration has two of the same layout.
  void check(const Buffers& buffers) const {
    path_.check_message(buffers.out.size());
    if (std::max(extent(buffers.out), extent(buffers.in)) > room_)
      throw std::invalid_argument("the buffers do not fit into the peer's window");
  }

  void put(const std::byte* out, std::size_t offset, std::size_t size) {
    const MpiCount count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(put_(out, count, type, target_, base_ + static_cast<std::ptrdiff_t>(offset), count,
                   type, window_));
  }

  void get(std::byte* in, std::size_t offset, std::size_t size) {
    const MpiCount count = path_.count(size);
    const Handle type = path_.type(size);
    check_mpi(get_(in, count, type, target_, base_ + static_cast<std::ptrdiff_t>(offset), count,
                   type, window_));
  }

  void flush() { check_mpi(flush_(target_, window_)); }
  void synchronize() { check_mpi(sync_(window_)); }

  // The peer sits in MPI_Recv meanwhile: some MPIs move nothing unless both ends are in a call.
  void send_ack() { acks_.send_ack(); }
  void recv_ack() { acks_.recv_ack(); }

 private:
  using Put = int (*)(const void*, MpiCount, Handle, int, std::ptrdiff_t, MpiCount, Handle, Handle);
  using Get = int (*)(void*, MpiCount, Handle, int, std::ptrdiff_t, MpiCount, Handle, Handle);
  using Flush = int (*)(int, Handle);
  using Sync = int (*)(Handle);

  std::size_t extent(const Ring& ring) const {
    return ring.extent() - ring.size() + path_.extent(ring.size());
  }

  MpiPath<Handle> path_;
  Put put_;
  Get get_;
  Flush flush_;
  Sync sync_;
  MpiSendRecv<Handle> acks_;
  Handle window_;
  int target_;
  std::ptrdiff_t base_;
  std::size_t room_;  // from `base_` to the end of the window
};

}  // namespace halftrip
