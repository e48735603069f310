// A library of libfabric, loaded by name at run time, and what it offers.
#pragma once

#include <dlfcn.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "errors.hpp"
#include "libfabric_abi.hpp"

namespace halftrip {

// Which endpoints are asked for. Those of another host, or of the same one; with `rma`, whose
// memory can be reached, too. An empty name of a provider or a domain is any.
struct LibfabricHints {
  std::string provider, domain;
  bool same_host, rma;
};

// What a provider offers, as fi_info has it. `inject` is up to which size a message is copied at
// once, `most` the longest message, both bytes; `sends` and `receives` are how many of each may be
// on their way.
struct LibfabricOffer {
  std::string provider, domain, protocol;
  std::uint32_t version;
  bool rma;
  std::size_t inject, most, sends, receives;
};

// Keeps the handlers of this process: providers for shared memory catch signals, to remove their
// segments.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < kCaught.size(); ++i) sigaction(kCaught[i], nullptr, &own_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < kCaught.size(); ++i) sigaction(kCaught[i], &own_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array kCaught{SIGBUS, SIGSEGV, SIGTERM, SIGINT};
  std::array<struct sigaction, kCaught.size()> own_;
};

// A library. Loaded, it stays: some providers leave threads behind.
class Libfabric {
 public:
  using InfoPointer = std::unique_ptr<ofi::Info, void (*)(ofi::Info*)>;

  // Throws LibraryError where `file` cannot be loaded, or is too old.
  explicit Libfabric(const std::string& file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw LibraryError(dlerror());
    take(version_, "fi_version", nullptr);
    take(strerror_, "fi_strerror", nullptr);
    take(tostr_, "fi_tostr", nullptr);
    take(fabric_, "fi_fabric", nullptr);
    take(getparams_, "fi_getparams", nullptr);
    take(freeparams_, "fi_freeparams", nullptr);
    take(getinfo_, "fi_getinfo", ofi::kAbi);
    take(dupinfo_, "fi_dupinfo", ofi::kAbi);
    take(freeinfo_, "fi_freeinfo", ofi::kAbi);
  }

  std::uint32_t version() const { return version_(); }

  // The file that it was found in.
  std::string file() const {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(version_), &info) != 0 ? info.dli_fname : "";
  }

  // What there is, in the order of the library, which is that of speed; none where there is none.
  InfoPointer find(const LibfabricHints& wish) const {
    const KeptSignals kept;
    InfoPointer hints = info(dupinfo_(nullptr));
    if (!hints) throw LibraryError("fi_dupinfo: no memory");
    hints->caps = ofi::kTagged;
    // Within a host there is no such question: not all providers for shared memory know
    // FI_LOCAL_COMM.
    if (!wish.same_host) hints->caps |= ofi::kRemoteComm;
    if (wish.rma) hints->caps |= ofi::kRma;
    hints->mode = ofi::kContext | ofi::kContext2;
    hints->ep_attr->type = ofi::kReliableDatagrams;
    // A path is used by one thread.
    hints->domain_attr->threading = ofi::kThreadDomain;
    hints->domain_attr->resource_mgmt = ofi::kResourcesManaged;
    hints->domain_attr->mr_mode =
        ofi::kMrVirtAddr | ofi::kMrAllocated | ofi::kMrProvKey | ofi::kMrEndpoint;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = ofi::kOrderSas;
    // fi_freeinfo frees the names.
    if (!wish.provider.empty()) hints->fabric_attr->prov_name = strdup(wish.provider.c_str());
    if (!wish.domain.empty()) hints->domain_attr->name = strdup(wish.domain.c_str());
    ofi::Info* found = nullptr;
    const int code =
        getinfo_(std::min(version(), ofi::kNewest), nullptr, nullptr, 0, hints.get(), &found);
    if (code != 0 && code != -ENODATA) fail("fi_getinfo", code);
    return info(code == 0 ? found : nullptr);
  }

  std::vector<LibfabricOffer> offers(const LibfabricHints& wish) const {
    std::vector<LibfabricOffer> offers;
    const InfoPointer found = find(wish);
    for (const ofi::Info* each = found.get(); each != nullptr; each = each->next)
      offers.push_back(offer(*each));
    return offers;
  }

  LibfabricOffer offer(const ofi::Info& info) const {
    return {text(info.fabric_attr->prov_name),
            text(info.domain_attr->name),
            text(tostr_(&info.ep_attr->protocol, ofi::kTypeProtocol)),
            info.fabric_attr->prov_version,
            (info.caps & ofi::kRma) != 0,
            info.tx_attr->inject_size,
            info.ep_attr->max_msg_size,
            info.tx_attr->size,
            info.rx_attr->size};
  }

  // The environment variables that settings have, with their values, empty where they are not set,
  // and what is said of them.
  std::vector<std::array<std::string, 3>> settings() const {
    ofi::Parameter* found = nullptr;
    int count = 0;
    check("fi_getparams", getparams_(&found, &count));
    std::vector<std::array<std::string, 3>> settings;
    for (const ofi::Parameter& each : std::span(found, static_cast<std::size_t>(count)))
      settings.push_back({text(each.name), text(each.value), text(each.help_string)});
    freeparams_(found);
    return settings;
  }

  void open_fabric(ofi::FabricAttr* attributes, ofi::Fabric** fabric) const {
    check("fi_fabric", fabric_(attributes, fabric, nullptr));
  }

  void check(const char* call, ssize_t code) const {
    if (code < 0) [[unlikely]]
      fail(call, code);
  }

  [[noreturn]] void fail(const char* call, ssize_t code) const {
    const int error = static_cast<int>(-code);
    // What a socket says of a peer that has gone.
    for (const int gone : {ECONNRESET, ECONNABORTED, ENOTCONN, ESHUTDOWN, EPIPE})
      if (error == gone) throw PeerClosed{};
    throw LibraryError(std::string(call) + ": " + strerror_(error));
  }

 private:
  template <class Function>
  void take(Function& function, const char* name, const char* abi) {
    void* found = abi == nullptr ? dlsym(handle_, name) : dlvsym(handle_, name, abi);
    if (found == nullptr)
      throw LibraryError(dlsym(handle_, name) == nullptr
                             ? std::string("it has no ") + name
                             : "it is too old: libfabric 1.9 or later is needed");
    function = reinterpret_cast<Function>(found);
  }

  static std::string text(const char* known) { return known == nullptr ? "" : known; }

  InfoPointer info(ofi::Info* made) const { return {made, freeinfo_}; }

  void* handle_;
  std::uint32_t (*version_)();
  const char* (*strerror_)(int);
  char* (*tostr_)(const void*, int type);
  int (*getparams_)(ofi::Parameter**, int* count);
  void (*freeparams_)(ofi::Parameter*);
  int (*fabric_)(ofi::FabricAttr*, ofi::Fabric**, void* context);
  int (*getinfo_)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                  const ofi::Info* hints, ofi::Info** found);
  ofi::Info* (*dupinfo_)(const ofi::Info*);
  void (*freeinfo_)(ofi::Info*);
};

}  // namespace halftrip
