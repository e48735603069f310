// MPI's nonblocking calls: requests that are made anew for each message, or persistent ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi.hpp"

namespace halftrip {

// Requests that have been begun and not been finished, in order.
template <class Handle>
class ActiveRequests {
 public:
  using Waitall = int (*)(int, Handle*, void*);

  explicit ActiveRequests(std::size_t most) : requests_(most) {}

  // Where the next one is to be.
  Handle& add() { return requests_[static_cast<std::size_t>(begun_++)]; }

  void finish(Waitall waitall, void* no_statuses) {
    check_mpi(waitall(begun_ - finished_, requests_.data() + finished_, no_statuses));
    begun_ = finished_ = 0;
  }

  // The first so many of them.
  void finish(Waitall waitall, void* no_statuses, std::int64_t count) {
    check_mpi(waitall(static_cast<int>(count), requests_.data(), no_statuses));
    finished_ = static_cast<int>(count);
  }

 private:
  std::vector<Handle> requests_;
  int begun_ = 0, finished_ = 0;
};

// MPI_Isend, MPI_Irecv, MPI_Waitall.
template <class Handle>
class MpiNonblocking {
 public:
  // `most` requests are begun before a finish(), at most. The addresses of: MPI_Isend, MPI_Irecv,
  // MPI_Waitall, MPI_Send, MPI_Recv.
  MpiNonblocking(MpiPath<Handle> path, const MpiAddresses& functions, std::size_t most)
      : path_(path),
        isend_(mpi_function<Begin>(functions, 0)),
        irecv_(mpi_function<Begin>(functions, 1)),
        waitall_(mpi_function<Waitall>(functions, 2)),
        blocking_(path, {functions.at(3), functions.at(4), 0, 0, 0}),
        active_(most) {}

  void begin_send(const std::byte* out, std::size_t size) {
    begin(isend_, const_cast<std::byte*>(out), size);
  }

  void begin_recv(std::byte* in, std::size_t size) { begin(irecv_, in, size); }

  void finish() { active_.finish(waitall_, path_.no_statuses()); }
  void finish(std::int64_t count) { active_.finish(waitall_, path_.no_statuses(), count); }

  void send_ack() { blocking_.send(nullptr, 0); }
  void recv_ack() { blocking_.recv(nullptr, 0); }

 private:
  using Begin = int (*)(void*, int, Handle, int, int, Handle, Handle*);
  using Waitall = ActiveRequests<Handle>::Waitall;

  void begin(Begin call, std::byte* buffer, std::size_t size) {
    check_mpi(call(buffer, path_.count(size), path_.type(size), path_.peer, path_.tag,
                   path_.communicator, &active_.add()));
  }

  MpiPath<Handle> path_;
  Begin isend_, irecv_;
  Waitall waitall_;
  Mpi<Handle> blocking_;
  ActiveRequests<Handle> active_;
};

// MPI_Send_init, MPI_Recv_init, MPI_Start, MPI_Waitall: every request is bound to its buffer once.
template <class Handle>
class MpiPersistent {
 public:
  // `most` messages are begun in one direction before a finish(), at most. They must be those of
  // `out` and `in`, in order. The addresses of: MPI_Send_init, MPI_Recv_init, MPI_Start,
  // MPI_Waitall, MPI_Wait, MPI_Request_free, MPI_Send, MPI_Recv.
  MpiPersistent(MpiPath<Handle> path, const MpiAddresses& functions, Ring out, Ring in,
                std::size_t most)
      : path_(path),
        start_(mpi_function<Start>(functions, 2)),
        waitall_(mpi_function<Waitall>(functions, 3)),
        wait_(mpi_function<WaitOne>(functions, 4)),
        free_(mpi_function<Start>(functions, 5)),
        blocking_(path, {functions.at(6), functions.at(7), 0, 0, 0}),
        sends_(bind(mpi_function<Init>(functions, 0), out, most)),
        recvs_(bind(mpi_function<Init>(functions, 1), in, most)),
        active_(2 * most) {}

  MpiPersistent(const MpiPersistent&) = delete;
  MpiPersistent& operator=(const MpiPersistent&) = delete;

  ~MpiPersistent() {
    for (Bound* bound : {&sends_, &recvs_})
      for (Handle& request : bound->requests) free_(&request);
  }

  void begin_send(const std::byte*, std::size_t) { begin(sends_.next()); }
  void begin_recv(std::byte*, std::size_t) { begin(recvs_.next()); }

  void finish() { active_.finish(waitall_, path_.no_statuses()); }
  void finish(std::int64_t count) { active_.finish(waitall_, path_.no_statuses(), count); }

  void send(const std::byte*, std::size_t) { complete(sends_.next()); }
  void recv(std::byte*, std::size_t) { complete(recvs_.next()); }

  void send_ack() { blocking_.send(nullptr, 0); }
  void recv_ack() { blocking_.recv(nullptr, 0); }

 private:
  using Init = int (*)(void*, int, Handle, int, int, Handle, Handle*);
  using Start = int (*)(Handle*);
  using Waitall = ActiveRequests<Handle>::Waitall;
  using WaitOne = int (*)(Handle*, void*);

  // One request for each buffer of a ring, or several where a window is longer than the ring.
  struct Bound {
    std::vector<Handle> requests;
    std::size_t at = 0;

    Handle& next() {
      Handle& request = requests[at];
      if (++at == requests.size()) at = 0;
      return request;
    }
  };

  Bound bind(Init init, Ring ring, std::size_t most) {
    const std::size_t rounds = (most + ring.slots() - 1) / ring.slots();
    Bound bound{std::vector<Handle>(rounds * ring.slots())};
    for (Handle& request : bound.requests)
      check_mpi(init(ring.next(), path_.count(ring.size()), path_.type(ring.size()), path_.peer,
                     path_.tag, path_.communicator, &request));
    return bound;
  }

  void begin(Handle& request) {
    check_mpi(start_(&request));
    active_.add() = request;
  }

  void complete(Handle& request) {
    check_mpi(start_(&request));
    check_mpi(wait_(&request, &status_));
  }

  MpiPath<Handle> path_;
  Start start_;
  Waitall waitall_;
  WaitOne wait_;
  Start free_;
  Mpi<Handle> blocking_;
  Bound sends_, recvs_;
  ActiveRequests<Handle> active_;
  MpiStatus status_;
};

}  // namespace halftrip
