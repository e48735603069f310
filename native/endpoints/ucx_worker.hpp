// A worker of UCX's, which moves bytes only while it is called: every wait makes progress.
#pragma once

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "../clock.hpp"
#include "../errors.hpp"
#include "../ucx.hpp"
#include "../wait.hpp"

namespace halftrip {

// A message on its way: a callback writes its status, and gives UCX its request back by `free`.
// `received` is how many bytes of a stream came.
struct UcxOperation {
  void (*free)(void* request);
  ucp::Status status = ucp::kOk;
  std::size_t received = 0;
};

// Active messages, in order: receives that wait for one, and those that came before anybody asked
// for them. Of a large one, UCX has the bytes until they are fetched.
struct UcxInbox {
  struct Wanted {
    std::byte* in;
    std::size_t size;
    UcxOperation* operation;

    void take(const std::byte* data, std::size_t length) const {
      if (length > 0) std::memcpy(in, data, std::min(size, length));
      operation->status = ucp::kOk;
    }
  };
  struct Arrived {
    std::vector<std::byte> bytes;
    void* rendezvous;
  };

  // Of ucp_am_recv_callback_t.
  static ucp::Status handle(void* argument, const void*, std::size_t, void* data,
                            std::size_t length, const ucp::ReceivedParam* param) {
    UcxInbox& inbox = *static_cast<UcxInbox*>(argument);
    if ((param->attributes & ucp::kIsRendezvous) != 0) {
      inbox.arrived.push_back({{}, data});
      return ucp::kInProgress;
    }
    const auto* first = static_cast<const std::byte*>(data);
    if (inbox.arrived.empty() && !inbox.wanted.empty()) {
      inbox.wanted.front().take(first, length);
      inbox.wanted.pop_front();
    } else {
      inbox.arrived.push_back({{first, first + length}, nullptr});
    }
    return ucp::kOk;
  }

  std::deque<Wanted> wanted;
  std::deque<Arrived> arrived;
};

// What a function of UCX's prints.
template <class Print>
std::string printed(Print print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) throw std::system_error(errno, std::generic_category());
  print(stream);
  std::fclose(stream);
  std::string found(text, size);
  std::free(text);
  return found;
}

// A context and a worker of their own for one path: the worker's address is what the peer connects
// to. One that `sleeps` waits in the kernel; one that `yields` gives its core away between polls.
class UcxWorker {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // `minor` is that of the API, 1.`minor`, and `settings` are those of UCX by name, without UCX_.
  UcxWorker(ucp::Calls calls, unsigned minor, std::uint64_t features, const Settings& settings,
            bool sleeps, bool yields)
      : calls(calls), yields_(yields) {
    try {
      open(minor, features | (sleeps ? ucp::kWakeup : 0), settings);
      if (sleeps) calls.check("ucp_worker_get_efd", calls.get_descriptor(worker, &descriptor_));
    } catch (...) {
      close();
      throw;
    }
  }
  ~UcxWorker() { close(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  std::string address() const {
    void* address = nullptr;
    std::size_t length = 0;
    calls.check("ucp_worker_get_address", calls.get_address(worker, &address, &length));
    std::string found(static_cast<const char*>(address), length);
    calls.release_address(worker, address);
    return found;
  }

  void connect(std::string_view address) {
    ucp::PeerParams params{};
    params.field_mask = ucp::PeerParams::kAddress | ucp::PeerParams::kErrorHandler;
    params.address = address.data();
    params.error_handler = [](void* self, ucp::Peer, ucp::Status status) {
      static_cast<UcxWorker*>(self)->failed_ = status;
    };
    params.error_argument = this;
    calls.check("ucp_ep_create", calls.create_peer(worker, &params, &peer));
  }

  // What UCX says of the connection: its lanes, and thresholds where it knows them.
  std::string connection() const {
    return printed([&](std::FILE* stream) { calls.print_peer(peer, stream); });
  }

  // What UCX could use.
  std::string resources() const {
    return printed([&](std::FILE* stream) { calls.print_context(context, stream); });
  }

  // A bit for each ucs_memory_type_t: 1 is the host's, 2 that of CUDA devices.
  std::uint64_t memory_types() const {
    ucp::ContextAttributes found{};
    found.field_mask = ucp::ContextAttributes::kMemoryTypes;
    calls.check("ucp_context_query", calls.context_query(context, &found));
    return found.memory_types;
  }

  // Makes progress until done().
  template <class Done>
  [[gnu::always_inline]] void until(Done done) {
    if (descriptor_ >= 0) return sleep_until(done);
    const int polls = yields_ ? 32 : 4096;
    for (;;) {
      for (int i = 0; i < polls; ++i) {
        calls.progress(worker);
        if (done()) [[likely]]
          return;
      }
      check();
      if (yields_) sched_yield();
    }
  }

  // Takes what a call has returned that may call back with `operation`: it does with a request,
  // which it may have freed by now.
  void begin(UcxOperation& operation, void* returned) {
    if (!ucp::is_request(returned)) operation.status = ucp::status_of(returned);
  }

  // Waits for an operation that has begun; calls advance() meanwhile.
  template <class Advance>
  [[gnu::always_inline]] void finish(UcxOperation& operation, Advance advance) {
    if (operation.status == ucp::kInProgress) {
      until([&] {
        advance();
        return operation.status != ucp::kInProgress;
      });
    }
    if (operation.status != ucp::kOk) [[unlikely]]
      fail(operation.status);
  }

  // Room for `count` operations, as long as this worker: what a wait that was stopped has left goes
  // on. Endpoints take turns, so they share it.
  UcxOperation* operations(std::size_t count) {
    if (rooms_.empty() || rooms_.back().size() < count)
      rooms_.emplace_back(count, UcxOperation{calls.free_request});
    return rooms_.back().data();
  }

  // What was sent leaves before this rank turns to other things: a transport that had no room for
  // the end of a message keeps it until it is called again. Waits no longer than for a moment: a
  // peer that takes nothing now is told of it by its next batch.
  void settle() {
    constexpr Ticks kLongest_ns = 10'000'000;
    void* flush = flush_peer();
    const Ticks begin = MonotonicClock::now();
    while (ucp::is_request(flush) && calls.check_status(flush) == ucp::kInProgress &&
           MonotonicClock::now() - begin < kLongest_ns)
      calls.progress(worker);
    if (ucp::is_request(flush)) calls.free_request(flush);
  }

  void* flush_peer() const {
    constexpr ucp::RequestParam kPlain{};
    return calls.flush_peer(peer, &kPlain);
  }

  void check() const {
    check_stop();
    if (failed_ != ucp::kOk) [[unlikely]]
      fail(failed_);
  }

  [[noreturn]] void fail(ucp::Status status) const {
    if (status == ucp::kReset || status == ucp::kNotConnected || status == ucp::kNoAnswer)
      throw PeerClosed{};
    throw LibraryError("UCX: " + calls.text(status));
  }

  // Called again, does nothing.
  void close() noexcept {
    if (peer != nullptr) {
      settle();
      constexpr ucp::RequestParam kPlain{};
      void* closing = calls.close_peer(std::exchange(peer, nullptr), &kPlain);
      constexpr Ticks kLongest_ns = 100'000'000;
      const Ticks begin = MonotonicClock::now();
      while (ucp::is_request(closing) && calls.check_status(closing) == ucp::kInProgress &&
             MonotonicClock::now() - begin < kLongest_ns)
        calls.progress(worker);
      if (ucp::is_request(closing)) calls.free_request(closing);
    }
    if (worker != nullptr) calls.worker_destroy(std::exchange(worker, nullptr));
    if (context != nullptr) calls.cleanup(std::exchange(context, nullptr));
  }

  const ucp::Calls calls;
  ucp::Context context = nullptr;
  ucp::Worker worker = nullptr;
  ucp::Peer peer = nullptr;
  UcxInbox inbox;

 private:
  void open(unsigned minor, std::uint64_t features, const Settings& settings) {
    ucp::Config config = nullptr;
    calls.check("ucp_config_read", calls.config_read(nullptr, nullptr, &config));
    const std::unique_ptr<std::remove_pointer_t<ucp::Config>, void (*)(ucp::Config)> held(
        config, calls.config_release);
    for (const auto& [name, value] : settings) {
      const ucp::Status status = calls.config_modify(config, name.c_str(), value.c_str());
      if (status < 0) throw LibraryError("UCX_" + name + "=" + value + ": " + calls.text(status));
    }
    const ucp::Params params{ucp::Params::kFeatures, features};
    calls.check("ucp_init", calls.init_version(1, minor, &params, config, &context));
    const ucp::WorkerParams of_worker{ucp::WorkerParams::kThreadMode, 0};
    calls.check("ucp_worker_create", calls.worker_create(context, &of_worker, &worker));
  }

  template <class Done>
  void sleep_until(Done done) {
    for (;;) {
      while (calls.progress(worker) != 0)
        if (done()) return;
      if (done()) return;
      check();
      // Busy: something came meanwhile.
      const ucp::Status armed = calls.arm(worker);
      if (armed == ucp::kBusy) continue;
      calls.check("ucp_worker_arm", armed);
      // A death of the peer may bring no event, and not every thread is interrupted then.
      constexpr int kPatienceMs = 100;
      pollfd event{descriptor_, POLLIN, 0};
      if (poll(&event, 1, kPatienceMs) < 0 && errno != EINTR)
        throw std::system_error(errno, std::generic_category());
    }
  }

  std::deque<std::vector<UcxOperation>> rooms_;
  int descriptor_ = -1;
  ucp::Status failed_ = ucp::kOk;
  bool yields_;
};

// Where UCX says that an operation is over: functions of the types that it calls. Freed here, in
// the cache, a request costs less than after the wait (1 to 2 % of 1 KiB by shared memory).
struct UcxCompleted {
  static void sent(void* request, ucp::Status status, void* operation) {
    end(request, status, operation);
  }
  static void tagged(void* request, ucp::Status status, const void*, void* operation) {
    end(request, status, operation);
  }
  static void received(void* request, ucp::Status status, std::size_t, void* operation) {
    end(request, status, operation);
  }

 private:
  static void end(void* request, ucp::Status status, void* operation) {
    auto& ended = *static_cast<UcxOperation*>(operation);
    ended.status = status;
    ended.free(request);
  }
};

template <class Callback>
ucp::RequestParam ucx_param(UcxOperation& operation, Callback callback) noexcept {
  operation.status = ucp::kInProgress;
  // No other field is read.
  ucp::RequestParam param;
  param.fields = ucp::kHasCallback | ucp::kHasUserData;
  param.callback = reinterpret_cast<void*>(callback);
  param.user_data = &operation;
  return param;
}

}  // namespace halftrip
