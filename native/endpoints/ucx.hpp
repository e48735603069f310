// Messages by UCX's calls: tagged, active, or in a stream of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "ucx_worker.hpp"

namespace halftrip {

// How messages go: each begins an operation by one of UCX's interfaces. advance() is called while
// one is waited for.
class UcxTagged {
 public:
  static constexpr std::uint64_t kFeature = ucp::kTag;

  explicit UcxTagged(UcxWorker& worker)
      : worker_(worker), send_(worker.calls.tag_send), recv_(worker.calls.tag_recv) {}

  void send(const std::byte* out, std::size_t size, UcxOperation& operation) {
    const ucp::RequestParam param = ucx_param(operation, &UcxCompleted::sent);
    worker_.begin(operation, send_(worker_.peer, out, size, kTag, &param));
  }

  void recv(std::byte* in, std::size_t size, UcxOperation& operation) {
    const ucp::RequestParam param = ucx_param(operation, &UcxCompleted::tagged);
    worker_.begin(operation, recv_(worker_.worker, in, size, kTag, kAll, &param));
  }

  void advance() noexcept {}

 private:
  static constexpr std::uint64_t kTag = 1, kAll = ~std::uint64_t{0};

  UcxWorker& worker_;
  decltype(ucp::Calls::tag_send) send_;
  decltype(ucp::Calls::tag_recv) recv_;
};

class UcxStreamed {
 public:
  static constexpr std::uint64_t kFeature = ucp::kStream;

  explicit UcxStreamed(UcxWorker& worker)
      : worker_(worker), send_(worker.calls.stream_send), recv_(worker.calls.stream_recv) {}

  void send(const std::byte* out, std::size_t size, UcxOperation& operation) {
    const ucp::RequestParam param = ucx_param(operation, &UcxCompleted::sent);
    worker_.begin(operation, send_(worker_.peer, out, size, &param));
  }

  void recv(std::byte* in, std::size_t size, UcxOperation& operation) {
    ucp::RequestParam param = ucx_param(operation, &UcxCompleted::received);
    param.fields |= ucp::kHasFlags;
    param.flags = ucp::kWaitAll;
    worker_.begin(operation, recv_(worker_.peer, in, size, &operation.received, &param));
  }

  void advance() noexcept {}

 private:
  UcxWorker& worker_;
  decltype(ucp::Calls::stream_send) send_;
  decltype(ucp::Calls::stream_recv) recv_;
};

// A handler gets each message that arrives, and copies it to where the next receive wants it.
class UcxActive {
 public:
  static constexpr std::uint64_t kFeature = ucp::kActiveMessages;

  explicit UcxActive(UcxWorker& worker) : worker_(worker), send_(worker.calls.am_send) {
    const ucp::HandlerParam param{ucp::HandlerParam::kAll, kId, ucp::kWholeMessage,
                                  &UcxInbox::handle, &worker.inbox};
    worker.calls.check("ucp_worker_set_am_recv_handler",
                       worker.calls.set_am_handler(worker.worker, &param));
  }

  void send(const std::byte* out, std::size_t size, UcxOperation& operation) {
    const ucp::RequestParam param = ucx_param(operation, &UcxCompleted::sent);
    worker_.begin(operation, send_(worker_.peer, kId, nullptr, 0, out, size, &param));
  }

  void recv(std::byte* in, std::size_t size, UcxOperation& operation) {
    operation.status = ucp::kInProgress;
    worker_.inbox.wanted.push_back({in, size, &operation});
    advance();
  }

  void advance() {
    UcxInbox& inbox = worker_.inbox;
    while (!inbox.arrived.empty() && !inbox.wanted.empty()) {
      const UcxInbox::Wanted next = inbox.wanted.front();
      const UcxInbox::Arrived found = std::move(inbox.arrived.front());
      inbox.wanted.pop_front();
      inbox.arrived.pop_front();
      if (found.rendezvous == nullptr) {
        next.take(found.bytes.data(), found.bytes.size());
        continue;
      }
      const ucp::RequestParam param = ucx_param(*next.operation, &UcxCompleted::received);
      worker_.begin(*next.operation, worker_.calls.am_recv_data(worker_.worker, found.rendezvous,
                                                                next.in, next.size, &param));
    }
  }

 private:
  static constexpr unsigned kId = 1;

  UcxWorker& worker_;
  decltype(ucp::Calls::am_send) send_;
};

// Calls that block: each message is waited for by itself.
template <class Interface>
class Ucx {
 public:
  explicit Ucx(UcxWorker& worker)
      : worker_(worker), interface_(worker), operations_(worker.operations(2)) {}

  void send(const std::byte* out, std::size_t size) {
    interface_.send(out, size, operations_[0]);
    finish(operations_[0]);
  }

  void recv(std::byte* in, std::size_t size) {
    interface_.recv(in, size, operations_[1]);
    finish(operations_[1]);
  }

  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (order == Order::sends_first) interface_.send(out.next(), out.size(), operations_[0]);
      interface_.recv(in.next(), in.size(), operations_[1]);
      if (order == Order::in_turn) interface_.send(out.next(), out.size(), operations_[0]);
      finish(operations_[1]);
      finish(operations_[0]);
    }
    received();
  }

 private:
  void finish(UcxOperation& operation) {
    worker_.finish(operation, [this] { interface_.advance(); });
  }

  UcxWorker& worker_;
  Interface interface_;
  UcxOperation* operations_;
};

// A window of messages is begun, and then waited for. An iteration has at most `max_window` each
// way.
template <class Interface>
class UcxNonblocking {
 public:
  UcxNonblocking(UcxWorker& worker, std::size_t max_window)
      : worker_(worker),
        interface_(worker),
        most_(std::max<std::size_t>(max_window, 1)),
        operations_(worker.operations(2 * most_)) {}

  void check(const Buffers& buffers) const {
    if (buffers.window > static_cast<std::int64_t>(most_))
      throw std::invalid_argument("the window is longer than the endpoint was made for");
    if (begun_ > 0) throw std::runtime_error("requests of a call that failed are still active");
  }

  void begin_send(const std::byte* out, std::size_t size) {
    interface_.send(out, size, operations_[begun_++]);
  }

  void begin_recv(std::byte* in, std::size_t size) {
    interface_.recv(in, size, operations_[begun_++]);
  }

  void finish() {
    finish(static_cast<std::int64_t>(begun_));
    begun_ = finished_ = 0;
  }

  void finish(std::int64_t count) {
    for (; finished_ < static_cast<std::size_t>(count); ++finished_)
      worker_.finish(operations_[finished_], [this] { interface_.advance(); });
  }

  void send_ack() {
    acknowledge([this](std::byte& ack) { begin_send(&ack, 1); });
  }
  void recv_ack() {
    acknowledge([this](std::byte& ack) { begin_recv(&ack, 1); });
  }

 private:
  template <class Begin>
  void acknowledge(Begin begin) {
    begin(ack_);
    finish();
  }

  UcxWorker& worker_;
  Interface interface_;
  std::size_t most_;
  UcxOperation* operations_;
  std::size_t begun_ = 0, finished_ = 0;
  // A send that a stop has left goes on.
  std::byte ack_{};
};

}  // namespace halftrip
