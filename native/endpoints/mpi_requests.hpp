// MPI's nonblocking calls: requests that are made anew for each message, or persistent ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mpi.hpp"

namespace halftrip {

// A pattern without windows has one message each way.
inline constexpr std::size_t kShortestWindow = 1;

// The requests of one iteration that have begun and not completed, in order.
template <class Handle>
class ActiveRequests {
 public:
  using Waitall = int (*)(int, Handle*, void*);

  // Room for `max_window` messages each way.
  explicit ActiveRequests(std::size_t max_window)
      : max_window_(std::max(max_window, kShortestWindow)) {
    if (max_window_ > std::numeric_limits<int>::max() / 2)
      throw std::invalid_argument("MPI counts no more than 2147483647 requests");
    requests_.resize(2 * max_window_);
  }

  // To be called once before a loop whose iterations have `window` messages each way: nothing in
  // the loop checks.
  void check(std::int64_t window) const {
    if (window > static_cast<std::int64_t>(max_window_))
      throw std::invalid_argument("the window is longer than the endpoint was made for");
    if (begun_ > 0) throw std::runtime_error("requests of a call that failed are still active");
  }

  // The place of the next request. Call added() when it is there and has begun.
  Handle& next() { return requests_[static_cast<std::size_t>(begun_)]; }
  void added() { ++begun_; }

  void finish(Waitall waitall, void* no_statuses) {
    check_mpi(waitall(begun_ - finished_, requests_.data() + finished_, no_statuses));
    begun_ = finished_ = 0;
  }

  // The first `count` of them.
  void finish(Waitall waitall, void* no_statuses, std::int64_t count) {
    check_mpi(waitall(static_cast<int>(count), requests_.data(), no_statuses));
    finished_ = static_cast<int>(count);
  }

 private:
  std::size_t max_window_;
  std::vector<Handle> requests_;
  int begun_ = 0, finished_ = 0;
};

// MPI_Isend, MPI_Irecv, MPI_Waitall.
template <class Handle>
class MpiNonblocking {
 public:
  // An iteration has at most `max_window` messages each way. The addresses of: MPI_Isend,
  // MPI_Irecv, MPI_Waitall, MPI_Send, MPI_Recv.
  MpiNonblocking(MpiPath<Handle> path, const MpiAddresses& functions, std::size_t max_window)
      : path_(path),
        isend_(mpi_function<Begin>(functions, 0)),
        irecv_(mpi_function<Begin>(functions, 1)),
        waitall_(mpi_function<Waitall>(functions, 2)),
        acks_(path, functions, 3, 4),
        active_(max_window) {}

  void check(const Buffers& buffers) const {
    path_.check_message(buffers.out.size());
    active_.check(buffers.window);
  }

  void begin_send(const std::byte* out, std::size_t size) {
    begin(isend_, const_cast<std::byte*>(out), size);
  }

  void begin_recv(std::byte* in, std::size_t size) { begin(irecv_, in, size); }

  void finish() { active_.finish(waitall_, path_.no_statuses()); }
  void finish(std::int64_t count) { active_.finish(waitall_, path_.no_statuses(), count); }

  void send_ack() { acks_.send_ack(); }
  void recv_ack() { acks_.recv_ack(); }

 private:
  using Begin = int (*)(void*, MpiCount, Handle, int, int, Handle, Handle*);
  using Waitall = ActiveRequests<Handle>::Waitall;

  void begin(Begin call, std::byte* buffer, std::size_t size) {
    check_mpi(call(buffer, path_.count(size), path_.type(size), path_.peer, path_.tag,
                   path_.communicator, &active_.next()));
    active_.added();
  }

  MpiPath<Handle> path_;
  Begin isend_, irecv_;
  Waitall waitall_;
  MpiSendRecv<Handle> acks_;
  ActiveRequests<Handle> active_;
};

// Persistent requests for the buffers of a ring, in order: one for each, or several where a window
// is longer than the ring. The destructor frees all that were made, also after bind() has thrown.
template <class Handle>
class BoundRequests {
 public:
  using Init = int (*)(void*, MpiCount, Handle, int, int, Handle, Handle*);
  using Free = int (*)(Handle*);

  BoundRequests(Free free, Ring ring) : free_(free), ring_(ring) {}
  BoundRequests(const BoundRequests&) = delete;
  BoundRequests& operator=(const BoundRequests&) = delete;

  ~BoundRequests() {
    for (Handle& request : requests_) free_(&request);
  }

  void bind(const MpiPath<Handle>& path, Init init, std::size_t max_window) {
    path.check_message(ring_.size());
    const std::size_t rounds =
        (std::max(max_window, kShortestWindow) + ring_.slots() - 1) / ring_.slots();
    const std::size_t count = rounds * ring_.slots();
    requests_.reserve(count);
    Ring ring = ring_;
    while (requests_.size() < count) {
      Handle request;
      check_mpi(init(ring.next(), path.count(ring.size()), path.type(ring.size()), path.peer,
                     path.tag, path.communicator, &request));
      requests_.push_back(request);
    }
  }

  // Whether the next request is bound to the next buffer of `ring`.
  bool is_in_step_with(const Ring& ring) const {
    return ring.has_same_memory_as(ring_) &&
           ring.position() == (ring_.position() + at_) % ring_.slots();
  }

  Handle& next() {
    Handle& request = requests_[at_];
    if (++at_ == requests_.size()) at_ = 0;
    return request;
  }

 private:
  Free free_;
  Ring ring_;
  std::vector<Handle> requests_;
  std::size_t at_ = 0;
};

// MPI_Send_init, MPI_Recv_init, MPI_Start, MPI_Waitall: each request is bound to its buffer once.
template <class Handle>
class MpiPersistent {
 public:
  static constexpr bool bound_to_buffers = true;

  // An iteration has at most `max_window` messages each way, from and to the buffers of `out` and
  // `in`, in order. The addresses of: MPI_Send_init, MPI_Recv_init, MPI_Start, MPI_Waitall,
  // MPI_Wait, MPI_Request_free, MPI_Send, MPI_Recv.
  MpiPersistent(MpiPath<Handle> path, const MpiAddresses& functions, Ring out, Ring in,
                std::size_t max_window)
      : path_(path),
        start_(mpi_function<Start>(functions, 2)),
        waitall_(mpi_function<Waitall>(functions, 3)),
        wait_(mpi_function<WaitOne>(functions, 4)),
        acks_(path, functions, 6, 7),
        sends_(mpi_function<Free>(functions, 5), out),
        recvs_(mpi_function<Free>(functions, 5), in),
        active_(max_window) {
    sends_.bind(path, mpi_function<Init>(functions, 0), max_window);
    recvs_.bind(path, mpi_function<Init>(functions, 1), max_window);
  }

  void check(const Buffers& buffers) const {
    active_.check(buffers.window);
    if (!sends_.is_in_step_with(buffers.out) || !recvs_.is_in_step_with(buffers.in))
      throw std::invalid_argument("the requests are bound to other buffers");
  }

  void begin_send(const std::byte*, std::size_t) { begin(sends_.next()); }
  void begin_recv(std::byte*, std::size_t) { begin(recvs_.next()); }

  void finish() { active_.finish(waitall_, path_.no_statuses()); }
  void finish(std::int64_t count) { active_.finish(waitall_, path_.no_statuses(), count); }

  void send(const std::byte*, std::size_t) { complete(sends_.next()); }
  void recv(std::byte*, std::size_t) { complete(recvs_.next()); }

  void send_ack() { acks_.send_ack(); }
  void recv_ack() { acks_.recv_ack(); }

 private:
  using Init = BoundRequests<Handle>::Init;
  using Free = BoundRequests<Handle>::Free;
  using Start = int (*)(Handle*);
  using Waitall = ActiveRequests<Handle>::Waitall;
  using WaitOne = int (*)(Handle*, void*);

  void begin(Handle& request) {
    check_mpi(start_(&request));
    active_.next() = request;
    active_.added();
  }

  void complete(Handle& request) {
    check_mpi(start_(&request));
    check_mpi(wait_(&request, &status_));
  }

  MpiPath<Handle> path_;
  Start start_;
  Waitall waitall_;
  WaitOne wait_;
  MpiSendRecv<Handle> acks_;
  BoundRequests<Handle> sends_, recvs_;
  ActiveRequests<Handle> active_;
  MpiStatus status_;
};

}  // namespace halftrip
