// libfabric between two ranks: tagged messages between reliable datagram endpoints.
#pragma once

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../buffers.hpp"
#include "../endpoint.hpp"
#include "../errors.hpp"
#include "../libfabric.hpp"
#include "../wait.hpp"

namespace halftrip {

// A message, or a part of a window, that has begun.
struct LibfabricOperation {
  void* of_provider[ofi::kContextPointers];
  bool done;
};

// One end of a path: an endpoint of a domain of its own, which one thread uses.
class LibfabricPath {
 public:
  // The first of what `wish` finds. With `blocks`, waits sleep; else they poll, and where `yields`,
  // give the core away between polls. Throws LibraryError.
  LibfabricPath(const Libfabric& library, const LibfabricHints& wish, bool blocks, bool yields)
      : library_(library), info_(library.find(wish)), yields_(yields) {
    if (!info_) throw LibraryError("no provider offers what is asked for");
    try {
      open(blocks);
    } catch (...) {
      close();
      throw;
    }
  }

  ~LibfabricPath() { close(); }

  LibfabricPath(const LibfabricPath&) = delete;
  LibfabricPath& operator=(const LibfabricPath&) = delete;

  LibfabricOffer taken() const { return library_.offer(*info_); }

  // What the peer's connect() takes.
  std::vector<std::byte> address() const {
    std::size_t length = 0;
    endpoint_->cm->getname(&endpoint_->fid, nullptr, &length);
    std::vector<std::byte> name(length);
    library_.check("fi_getname", endpoint_->cm->getname(&endpoint_->fid, name.data(), &length));
    return name;
  }

  void connect(std::span<const std::byte> address) {
    const int inserted = addresses_->ops->insert(addresses_, address.data(), 1, &peer_, 0, nullptr);
    if (inserted != 1) library_.fail("fi_av_insert", inserted < 0 ? inserted : -EADDRNOTAVAIL);
  }

  // Gives everything back; a second time does nothing.
  void close() noexcept {
    for (ofi::MemoryRegion* region : regions_) region->fid.ops->close(&region->fid);
    regions_.clear();
    for (auto close = opened_.rbegin(); close != opened_.rend(); ++close)
      (*close)->ops->close(*close);
    opened_.clear();
  }

  // Memory that the peer reaches: its key, and the address by which it begins for the peer.
  std::pair<std::uint64_t, std::uint64_t> expose(std::byte* memory, std::size_t size) {
    ofi::MemoryRegion* region = nullptr;
    const int mode = info_->domain_attr->mr_mode;
    library_.check("fi_mr_reg", domain_->mr->reg(&domain_->fid, memory, size,
                                                 ofi::kRemoteRead | ofi::kRemoteWrite, 0,
                                                 next_key_++, 0, &region, nullptr));
    regions_.push_back(region);
    if (mode & ofi::kMrEndpoint) {
      library_.check("fi_mr_bind", region->fid.ops->bind(&region->fid, &endpoint_->fid, 0));
      library_.check("fi_mr_enable", region->fid.ops->control(&region->fid, ofi::kEnable, nullptr));
    }
    const auto base = mode & ofi::kMrVirtAddr ? reinterpret_cast<std::uintptr_t>(memory) : 0;
    return {region->key, base};
  }

  // Ends the access to the memory of that key.
  void hide(std::uint64_t key) {
    const auto found = std::ranges::find(regions_, key, [](auto* region) { return region->key; });
    if (found == regions_.end()) return;
    (*found)->fid.ops->close(&(*found)->fid);
    regions_.erase(found);
  }

  // Room for so many operations at once: their addresses stay.
  void reserve(std::size_t operations) {
    while (operations_.size() < operations) operations_.emplace_back();
  }
  LibfabricOperation& operation(std::size_t number) { return operations_[number]; }

  void check_message(std::size_t size) const {
    if (size > info_->ep_attr->max_msg_size)
      throw std::invalid_argument("this provider has messages of no more than " +
                                  std::to_string(info_->ep_attr->max_msg_size) + " bytes");
  }

  void begin_send(const std::byte* out, std::size_t size, LibfabricOperation& operation) {
    operation.done = size <= inject_;
    if (operation.done) {
      again("fi_tinject",
            [&] { return endpoint_->tagged->inject(endpoint_, out, size, peer_, kTag); });
    } else {
      again("fi_tsend", [&] {
        return endpoint_->tagged->send(endpoint_, out, size, nullptr, peer_, kTag, &operation);
      });
    }
  }

  void begin_recv(std::byte* in, std::size_t size, LibfabricOperation& operation) {
    operation.done = false;
    again("fi_trecv", [&] {
      return endpoint_->tagged->recv(endpoint_, in, size, nullptr, ofi::kAnyAddress, kTag, 0,
                                     &operation);
    });
  }

  // Writes the peer's memory. With ofi::kDeliveryComplete in `flags` it is done when the peer would
  // see it, else when `own` may be written again.
  void begin_put(const std::byte* own, std::size_t size, std::uint64_t address, std::uint64_t key,
                 std::uint64_t flags, LibfabricOperation& operation) {
    begin_rma("fi_writemsg", endpoint_->rma->writemsg, const_cast<std::byte*>(own), size, address,
              key, flags, operation);
  }

  // Reads it.
  void begin_get(std::byte* own, std::size_t size, std::uint64_t address, std::uint64_t key,
                 LibfabricOperation& operation) {
    begin_rma("fi_readmsg", endpoint_->rma->readmsg, own, size, address, key, 0, operation);
  }

  void wait(const LibfabricOperation& operation) {
    wait_until([&] { return operation.done; });
  }

  // Makes progress until ready().
  template <class Ready>
  void wait_until(Ready ready) {
    constexpr int kPolls = 4096, kPollsOnSharedCore = 32;
    const int polls = yields_ ? kPollsOnSharedCore : kPolls;
    while (!ready()) {
      for (int i = 0; i < polls && !ready(); ++i)
        if (!progress() && descriptor_ >= 0) sleep();
      check_stop();
      if (yields_) sched_yield();
    }
  }

 private:
  static constexpr std::uint64_t kTag = 1;

  template <class Call>
  void begin_rma(const char* name, Call call, std::byte* own, std::size_t size,
                 std::uint64_t address, std::uint64_t key, std::uint64_t flags,
                 LibfabricOperation& operation) {
    operation.done = false;
    const iovec local{own, size};
    const ofi::RmaIov remote{address, size, key};
    const ofi::RmaMessage message{&local, nullptr, 1, peer_, &remote, 1, &operation, 0};
    again(name, [&] { return call(endpoint_, &message, flags | ofi::kCompletion); });
  }

  template <class Object>
  Object* kept(Object* object) {
    opened_.push_back(&object->fid);
    return object;
  }

  void open(bool blocks) {
    const KeptSignals signals;
    const auto opened = [&](const char* call, auto& object, auto make) {
      library_.check(call, make(&object));
      kept(object);
    };
    library_.open_fabric(info_->fabric_attr, &fabric_);
    kept(fabric_);
    opened("fi_domain", domain_,
           [&](auto** made) { return fabric_->ops->domain(fabric_, info_.get(), made, nullptr); });
    ofi::CqAttr queue{};
    queue.format = ofi::kCqFormatContext;
    queue.wait_obj = blocks ? ofi::kWaitFd : ofi::kWaitNone;
    opened("fi_cq_open", completions_, [&](auto** made) {
      const int code = domain_->ops->cq_open(domain_, &queue, made, nullptr);
      if (blocks && code == -ENOSYS)
        throw LibraryError("this provider has nothing to sleep on, tcp;ofi_rxm has");
      return code;
    });
    ofi::AvAttr vector{};
    vector.type = info_->domain_attr->av_type;
    vector.count = 1;
    opened("fi_av_open", addresses_,
           [&](auto** made) { return domain_->ops->av_open(domain_, &vector, made, nullptr); });
    opened("fi_endpoint", endpoint_, [&](auto** made) {
      return domain_->ops->endpoint(domain_, info_.get(), made, nullptr);
    });
    ofi::Fid* fid = &endpoint_->fid;
    library_.check("fi_ep_bind", fid->ops->bind(fid, &addresses_->fid, 0));
    library_.check("fi_ep_bind", fid->ops->bind(fid, &completions_->fid, ofi::kSend | ofi::kRecv));
    library_.check("fi_enable", fid->ops->control(fid, ofi::kEnable, nullptr));
    if (blocks)
      library_.check("fi_control", completions_->fid.ops->control(&completions_->fid, ofi::kGetWait,
                                                                  &descriptor_));
    inject_ = info_->tx_attr->inject_size;
    reserve(2);
  }

  // Takes the completions that there are; returns whether there were any.
  bool progress() {
    std::array<ofi::CqEntry, 16> found;
    const ssize_t count = completions_->ops->read(completions_, found.data(), found.size());
    for (ssize_t i = 0; i < count; ++i)
      if (found[i].context != nullptr)
        static_cast<LibfabricOperation*>(found[i].context)->done = true;
    if (count < 0 && count != -EAGAIN) [[unlikely]]
      fail(count);
    return count > 0;
  }

  [[noreturn]] void fail(ssize_t code) {
    ofi::CqErrorEntry error{};
    if (code == -ofi::kEavail && completions_->ops->readerr(completions_, &error, 0) > 0)
      code = -error.err;
    library_.fail("fi_cq_read", code);
  }

  // Calls `call` until it has begun: a provider may have no room, or still be connecting.
  template <class Call>
  void again(const char* name, Call call) {
    for (;;) {
      const ssize_t code = call();
      if (code == 0) [[likely]]
        return;
      if (code != -EAGAIN) library_.fail(name, code);
      progress();
      check_stop();
      if (yields_ || descriptor_ >= 0) sched_yield();
    }
  }

  // Until something may have happened, or a stop has to be looked for.
  void sleep() {
    constexpr int kPatienceMs = 100;
    ofi::Fid* queue = &completions_->fid;
    const int code = fabric_->ops->trywait(fabric_, &queue, 1);
    if (code == -EAGAIN) return;
    library_.check("fi_trywait", code);
    pollfd readable{descriptor_, POLLIN, 0};
    poll(&readable, 1, kPatienceMs);
    check_stop();
  }

  const Libfabric& library_;
  Libfabric::InfoPointer info_;
  bool yields_;
  int descriptor_ = -1;
  std::size_t inject_ = 0;
  std::uint64_t peer_ = ofi::kAnyAddress, next_key_ = 1;
  ofi::Fabric* fabric_ = nullptr;
  ofi::Domain* domain_ = nullptr;
  ofi::CompletionQueue* completions_ = nullptr;
  ofi::AddressVector* addresses_ = nullptr;
  ofi::Endpoint* endpoint_ = nullptr;
  std::vector<ofi::Fid*> opened_;
  std::vector<ofi::MemoryRegion*> regions_;
  std::deque<LibfabricOperation> operations_;
};

// Calls that block: a send returns when its buffer may be written again.
class LibfabricMessages {
 public:
  explicit LibfabricMessages(LibfabricPath& path) : path_(path) { path.reserve(2); }

  void check_message(std::size_t size) const { path_.check_message(size); }

  void send(const std::byte* out, std::size_t size) {
    path_.begin_send(out, size, path_.operation(0));
    path_.wait(path_.operation(0));
  }

  void recv(std::byte* in, std::size_t size) {
    path_.begin_recv(in, size, path_.operation(1));
    path_.wait(path_.operation(1));
  }

  // libfabric has empty messages.
  void send_ack() { send(nullptr, 0); }
  void recv_ack() { recv(nullptr, 0); }

  template <class Received>
  void exchange(Ring& out, Ring& in, std::int64_t count, Order order, Received received) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (order == Order::sends_first) path_.begin_send(out.next(), out.size(), path_.operation(0));
      path_.begin_recv(in.next(), in.size(), path_.operation(1));
      if (order == Order::in_turn) path_.begin_send(out.next(), out.size(), path_.operation(0));
      path_.wait(path_.operation(1));
      if (i == count - 1) received();
      path_.wait(path_.operation(0));
    }
  }

 private:
  LibfabricPath& path_;
};

// Operations of one iteration, in order, of which there may be `most`.
class LibfabricBegun {
 public:
  LibfabricBegun(LibfabricPath& path, std::size_t most) : path_(path), most_(most) {
    path.reserve(most);
  }

  // To be called once before a loop.
  void check(std::size_t operations) const {
    if (operations > most_)
      throw std::invalid_argument("the window is longer than the endpoint was made for");
    if (begun_ > 0) throw std::runtime_error("operations of a call that failed are still active");
  }

  LibfabricOperation& next() { return path_.operation(begun_++); }

  void finish() {
    finish(begun_);
    begun_ = finished_ = 0;
  }
  void finish(std::size_t count) {
    for (; finished_ < count; ++finished_) path_.wait(path_.operation(finished_));
  }

 private:
  LibfabricPath& path_;
  std::size_t most_, begun_ = 0, finished_ = 0;
};

// Calls that begin: an iteration has at most `max_window` messages each way.
class LibfabricNonblocking {
 public:
  LibfabricNonblocking(LibfabricPath& path, std::size_t max_window)
      : path_(path), messages_(path), begun_(path, 2 * std::max<std::size_t>(max_window, 1)) {}

  void check(const Buffers& buffers) const {
    path_.check_message(buffers.out.size());
    begun_.check(2 * static_cast<std::size_t>(buffers.window));
  }

  void begin_send(const std::byte* out, std::size_t size) {
    path_.begin_send(out, size, begun_.next());
  }
  void begin_recv(std::byte* in, std::size_t size) { path_.begin_recv(in, size, begun_.next()); }

  void finish() { begun_.finish(); }
  void finish(std::int64_t count) { begun_.finish(static_cast<std::size_t>(count)); }

  void send_ack() { messages_.send_ack(); }
  void recv_ack() { messages_.recv_ack(); }

 private:
  LibfabricPath& path_;
  LibfabricMessages messages_;
  LibfabricBegun begun_;
};

}  // namespace halftrip
