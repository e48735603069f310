// What halftrip knows of UCP, the API of UCX that MPIs use: reached by address, nothing here is
// built against it.
//
// Names, values and the order of fields are those of ucp.h, UCX 1.10 to 1.22. A mask says which
// fields of a structure count, and structures have only grown at their ends, so each is declared as
// far as it is used. tests/native/ucx_abi.cpp compares them with the header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "errors.hpp"

namespace halftrip::ucp {

using Context = struct ContextTag*;
using Worker = struct WorkerTag*;
using Peer = struct PeerTag*;  // ucp_ep_h
using Memory = struct MemoryTag*;
using RemoteKey = struct RemoteKeyTag*;
using Config = struct ConfigTag*;
using Status = std::int8_t;  // ucs_status_t

inline constexpr Status kOk = 0, kInProgress = 1, kBusy = -15, kLast = -100;
// What a call says of a peer that has gone: not connected, reset, no answer.
inline constexpr Status kNotConnected = -24, kReset = -25, kNoAnswer = -80;

// ucp_feature
inline constexpr std::uint64_t kTag = 1, kRma = 2, kWakeup = 16, kStream = 32, kActiveMessages = 64;
// ucp_op_attr_t: which fields of RequestParam count.
inline constexpr std::uint32_t kHasCallback = 2, kHasUserData = 4, kHasFlags = 16;
// Of a receive from a stream: all bytes of it.
inline constexpr std::uint32_t kWaitAll = 1;
// Of a handler of active messages, and of what it gets.
inline constexpr std::uint32_t kWholeMessage = 1;
inline constexpr std::uint64_t kIsRendezvous = 1 << 17;

struct Params {
  static constexpr std::uint64_t kFeatures = 1;
  std::uint64_t field_mask, features;
};

struct ContextAttributes {
  static constexpr std::uint64_t kMemoryTypes = 4;
  std::uint64_t field_mask;
  std::size_t request_size;
  int thread_mode;
  std::uint64_t memory_types;
};

struct WorkerParams {
  static constexpr std::uint64_t kThreadMode = 1;
  std::uint64_t field_mask;
  int thread_mode;  // 0: of a single thread
};

struct PeerParams {
  static constexpr std::uint64_t kAddress = 1, kErrorHandler = 4;
  std::uint64_t field_mask;
  const void* address;
  int error_mode;
  void (*error_handler)(void* argument, Peer peer, Status status);
  void* error_argument;
};

struct MapParams {
  static constexpr std::uint64_t kLength = 2, kFlags = 4;
  static constexpr unsigned kAllocate = 2;
  std::uint64_t field_mask;
  void* address;
  std::size_t length;
  unsigned flags;
};

struct MemoryAttributes {
  static constexpr std::uint64_t kAddress = 1;
  std::uint64_t field_mask;
  void* address;
};

struct RequestParam {
  std::uint32_t fields, flags;
  void* request;
  void* callback;
  std::uint64_t datatype;
  void* user_data;
  void* reply_buffer;
  int memory_type;
  void* received;
  void* memory;
};

struct ReceivedParam {
  std::uint64_t attributes;
  Peer reply_to;
};

using HandleMessage = Status (*)(void* argument, const void* header, std::size_t header_length,
                                 void* data, std::size_t length, const ReceivedParam* param);

struct HandlerParam {
  static constexpr std::uint64_t kAll = 15;
  std::uint64_t field_mask;
  unsigned id;
  std::uint32_t flags;
  HandleMessage handle;
  void* argument;
};

// The addresses of UCX's functions, in the order of `kNames`.
class Calls {
 public:
  static constexpr std::array kNames{"ucp_config_read",
                                     "ucp_config_modify",
                                     "ucp_config_release",
                                     "ucp_init_version",
                                     "ucp_cleanup",
                                     "ucp_context_query",
                                     "ucp_context_print_info",
                                     "ucp_worker_create",
                                     "ucp_worker_destroy",
                                     "ucp_worker_get_address",
                                     "ucp_worker_progress",
                                     "ucp_worker_release_address",
                                     "ucp_worker_get_efd",
                                     "ucp_worker_arm",
                                     "ucp_ep_create",
                                     "ucp_ep_close_nbx",
                                     "ucp_ep_flush_nbx",
                                     "ucp_ep_print_info",
                                     "ucp_tag_send_nbx",
                                     "ucp_tag_recv_nbx",
                                     "ucp_stream_send_nbx",
                                     "ucp_stream_recv_nbx",
                                     "ucp_am_send_nbx",
                                     "ucp_am_recv_data_nbx",
                                     "ucp_worker_set_am_recv_handler",
                                     "ucp_mem_map",
                                     "ucp_mem_unmap",
                                     "ucp_mem_query",
                                     "ucp_rkey_pack",
                                     "ucp_rkey_buffer_release",
                                     "ucp_ep_rkey_unpack",
                                     "ucp_rkey_destroy",
                                     "ucp_put_nbx",
                                     "ucp_get_nbx",
                                     "ucp_request_check_status",
                                     "ucp_request_free",
                                     "ucs_status_string"};

  explicit Calls(const std::vector<std::uintptr_t>& addresses) {
    if (addresses.size() != kNames.size())
      throw std::invalid_argument("one address for each of UCX's functions");
    std::size_t number = 0;
    const auto take = [&]<class... Function>(Function&... function) {
      ((function = reinterpret_cast<Function>(addresses[number++])), ...);
    };
    take(config_read, config_modify, config_release);
    take(init_version, cleanup, context_query, print_context, worker_create, worker_destroy,
         get_address);
    take(progress, release_address, get_descriptor, arm);
    take(create_peer, close_peer, flush_peer, print_peer);
    take(tag_send, tag_recv, stream_send, stream_recv);
    take(am_send, am_recv_data, set_am_handler);
    take(map, unmap, query_memory, pack_key, release_key_buffer, unpack_key, destroy_key);
    take(put, get, check_status, free_request, status_text_);
  }

  std::string text(Status status) const { return status_text_(status); }

  void check(const char* call, Status status) const {
    if (status < 0) [[unlikely]]
      fail(call, status);
  }

  [[noreturn]] void fail(const char* call, Status status) const {
    throw LibraryError(std::string(call) + ": " + text(status));
  }

  Status (*config_read)(const char* prefix, const char* file, Config* config);
  Status (*config_modify)(Config config, const char* name, const char* value);
  void (*config_release)(Config config);
  Status (*init_version)(unsigned major, unsigned minor, const Params* params, Config config,
                         Context* context);
  void (*cleanup)(Context context);
  Status (*context_query)(Context context, ContextAttributes* attributes);
  void (*print_context)(Context context, std::FILE* stream);
  Status (*worker_create)(Context context, const WorkerParams* params, Worker* worker);
  void (*worker_destroy)(Worker worker);
  Status (*get_address)(Worker worker, void** address, std::size_t* length);
  unsigned (*progress)(Worker worker);
  void (*release_address)(Worker worker, void* address);
  Status (*get_descriptor)(Worker worker, int* descriptor);
  Status (*arm)(Worker worker);
  Status (*create_peer)(Worker worker, const PeerParams* params, Peer* peer);
  void* (*close_peer)(Peer peer, const RequestParam* param);
  void* (*flush_peer)(Peer peer, const RequestParam* param);
  void (*print_peer)(Peer peer, std::FILE* stream);
  void* (*tag_send)(Peer peer, const void* out, std::size_t size, std::uint64_t tag,
                    const RequestParam* param);
  void* (*tag_recv)(Worker worker, void* in, std::size_t size, std::uint64_t tag,
                    std::uint64_t mask, const RequestParam* param);
  void* (*stream_send)(Peer peer, const void* out, std::size_t size, const RequestParam* param);
  void* (*stream_recv)(Peer peer, void* in, std::size_t size, std::size_t* length,
                       const RequestParam* param);
  void* (*am_send)(Peer peer, unsigned id, const void* header, std::size_t header_length,
                   const void* out, std::size_t size, const RequestParam* param);
  void* (*am_recv_data)(Worker worker, void* data, void* in, std::size_t size,
                        const RequestParam* param);
  Status (*set_am_handler)(Worker worker, const HandlerParam* param);
  Status (*map)(Context context, const MapParams* params, Memory* memory);
  Status (*unmap)(Context context, Memory memory);
  Status (*query_memory)(Memory memory, MemoryAttributes* attributes);
  Status (*pack_key)(Context context, Memory memory, void** buffer, std::size_t* size);
  void (*release_key_buffer)(void* buffer);
  Status (*unpack_key)(Peer peer, const void* buffer, RemoteKey* key);
  void (*destroy_key)(RemoteKey key);
  void* (*put)(Peer peer, const void* out, std::size_t size, std::uint64_t to, RemoteKey key,
               const RequestParam* param);
  void* (*get)(Peer peer, void* in, std::size_t size, std::uint64_t from, RemoteKey key,
               const RequestParam* param);
  Status (*check_status)(void* request);
  void (*free_request)(void* request);

 private:
  const char* (*status_text_)(Status status);
};

// What a call returns that may go on: null where it is over, an error, or a request.
inline bool is_request(const void* returned) noexcept {
  return reinterpret_cast<std::uintptr_t>(returned) - 1 <
         static_cast<std::uintptr_t>(static_cast<std::intptr_t>(kLast)) - 1;
}
inline Status status_of(const void* returned) noexcept {
  return is_request(returned) ? kInProgress
                              : static_cast<Status>(reinterpret_cast<std::intptr_t>(returned));
}

}  // namespace halftrip::ucp
