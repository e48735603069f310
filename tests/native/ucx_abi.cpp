// native/ucx.hpp beside the header of UCX: fails to compile where they differ.
#include <ucp/api/ucp.h>

#include "../../native/ucx.hpp"

namespace ucp = halftrip::ucp;

// That a field has the same place and size in both.
#define SAME_FIELD(ours, field, theirs, their_field)                          \
  static_assert(offsetof(ucp::ours, field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(ucp::ours::field) == sizeof(theirs::their_field))

SAME_FIELD(Params, features, ucp_params_t, features);
SAME_FIELD(ContextAttributes, memory_types, ucp_context_attr_t, memory_types);
SAME_FIELD(WorkerParams, thread_mode, ucp_worker_params_t, thread_mode);
SAME_FIELD(PeerParams, address, ucp_ep_params_t, address);
SAME_FIELD(PeerParams, error_handler, ucp_ep_params_t, err_handler.cb);
SAME_FIELD(PeerParams, error_argument, ucp_ep_params_t, err_handler.arg);
SAME_FIELD(MapParams, length, ucp_mem_map_params_t, length);
SAME_FIELD(MapParams, flags, ucp_mem_map_params_t, flags);
SAME_FIELD(MemoryAttributes, address, ucp_mem_attr_t, address);
SAME_FIELD(RequestParam, fields, ucp_request_param_t, op_attr_mask);
SAME_FIELD(RequestParam, flags, ucp_request_param_t, flags);
SAME_FIELD(RequestParam, callback, ucp_request_param_t, cb);
SAME_FIELD(RequestParam, user_data, ucp_request_param_t, user_data);
SAME_FIELD(ReceivedParam, attributes, ucp_am_recv_param_t, recv_attr);
SAME_FIELD(HandlerParam, id, ucp_am_handler_param_t, id);
SAME_FIELD(HandlerParam, flags, ucp_am_handler_param_t, flags);
SAME_FIELD(HandlerParam, handle, ucp_am_handler_param_t, cb);
SAME_FIELD(HandlerParam, argument, ucp_am_handler_param_t, arg);
static_assert(sizeof(ucp::RequestParam) == sizeof(ucp_request_param_t));
static_assert(sizeof(ucp::Status) == sizeof(ucs_status_t));

static_assert(ucp::kOk == UCS_OK && ucp::kInProgress == UCS_INPROGRESS);
static_assert(ucp::kBusy == UCS_ERR_BUSY && ucp::kLast == UCS_ERR_LAST);
static_assert(ucp::kNotConnected == UCS_ERR_NOT_CONNECTED);
static_assert(ucp::kReset == UCS_ERR_CONNECTION_RESET);
static_assert(ucp::kNoAnswer == UCS_ERR_ENDPOINT_TIMEOUT);
static_assert(ucp::kTag == UCP_FEATURE_TAG && ucp::kRma == UCP_FEATURE_RMA);
static_assert(ucp::kWakeup == UCP_FEATURE_WAKEUP && ucp::kStream == UCP_FEATURE_STREAM);
static_assert(ucp::kActiveMessages == UCP_FEATURE_AM);
static_assert(ucp::kHasCallback == UCP_OP_ATTR_FIELD_CALLBACK);
static_assert(ucp::kHasUserData == UCP_OP_ATTR_FIELD_USER_DATA);
static_assert(ucp::kHasFlags == UCP_OP_ATTR_FIELD_FLAGS);
static_assert(ucp::kWaitAll == UCP_STREAM_RECV_FLAG_WAITALL);
static_assert(ucp::kWholeMessage == UCP_AM_FLAG_WHOLE_MSG);
static_assert(ucp::kIsRendezvous == UCP_AM_RECV_ATTR_FLAG_RNDV);
static_assert(ucp::Params::kFeatures == UCP_PARAM_FIELD_FEATURES);
static_assert(ucp::ContextAttributes::kMemoryTypes == UCP_ATTR_FIELD_MEMORY_TYPES);
static_assert(ucp::WorkerParams::kThreadMode == UCP_WORKER_PARAM_FIELD_THREAD_MODE);
static_assert(UCS_THREAD_MODE_SINGLE == 0);
static_assert(ucp::PeerParams::kAddress == UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
static_assert(ucp::PeerParams::kErrorHandler == UCP_EP_PARAM_FIELD_ERR_HANDLER);
static_assert(ucp::MapParams::kLength == UCP_MEM_MAP_PARAM_FIELD_LENGTH);
static_assert(ucp::MapParams::kFlags == UCP_MEM_MAP_PARAM_FIELD_FLAGS);
static_assert(ucp::MapParams::kAllocate == UCP_MEM_MAP_ALLOCATE);
static_assert(ucp::MemoryAttributes::kAddress == UCP_MEM_ATTR_FIELD_ADDRESS);
static_assert(ucp::HandlerParam::kAll ==
              (UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
               UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG));

// That two pointers are to functions that are called alike: by as many arguments, each of the same
// size.
template <class Ours, class Theirs>
constexpr bool alike = false;
template <class R, class... A, class S, class... B>
constexpr bool alike<R (*)(A...), S (*)(B...)> = [] {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return ((sizeof(A) == sizeof(B)) && ...);
  }
}();

#define SAME_CALL(ours, theirs) static_assert(alike<decltype(ucp::Calls::ours), decltype(&theirs)>)

SAME_CALL(config_read, ucp_config_read);
SAME_CALL(config_modify, ucp_config_modify);
SAME_CALL(config_release, ucp_config_release);
SAME_CALL(init_version, ucp_init_version);
SAME_CALL(cleanup, ucp_cleanup);
SAME_CALL(context_query, ucp_context_query);
SAME_CALL(print_context, ucp_context_print_info);
SAME_CALL(worker_create, ucp_worker_create);
SAME_CALL(worker_destroy, ucp_worker_destroy);
SAME_CALL(get_address, ucp_worker_get_address);
SAME_CALL(progress, ucp_worker_progress);
SAME_CALL(release_address, ucp_worker_release_address);
SAME_CALL(get_descriptor, ucp_worker_get_efd);
SAME_CALL(arm, ucp_worker_arm);
SAME_CALL(create_peer, ucp_ep_create);
SAME_CALL(close_peer, ucp_ep_close_nbx);
SAME_CALL(flush_peer, ucp_ep_flush_nbx);
SAME_CALL(print_peer, ucp_ep_print_info);
SAME_CALL(tag_send, ucp_tag_send_nbx);
SAME_CALL(tag_recv, ucp_tag_recv_nbx);
SAME_CALL(stream_send, ucp_stream_send_nbx);
SAME_CALL(stream_recv, ucp_stream_recv_nbx);
SAME_CALL(am_send, ucp_am_send_nbx);
SAME_CALL(am_recv_data, ucp_am_recv_data_nbx);
SAME_CALL(set_am_handler, ucp_worker_set_am_recv_handler);
SAME_CALL(map, ucp_mem_map);
SAME_CALL(unmap, ucp_mem_unmap);
SAME_CALL(query_memory, ucp_mem_query);
SAME_CALL(pack_key, ucp_rkey_pack);
SAME_CALL(release_key_buffer, ucp_rkey_buffer_release);
SAME_CALL(unpack_key, ucp_ep_rkey_unpack);
SAME_CALL(destroy_key, ucp_rkey_destroy);
SAME_CALL(put, ucp_put_nbx);
SAME_CALL(get, ucp_get_nbx);
SAME_CALL(check_status, ucp_request_check_status);
SAME_CALL(free_request, ucp_request_free);
