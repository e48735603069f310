// What halftrip knows of libfabric, which is loaded by name at run time: its ABI 1.3, which all
// versions from 1.9 on have, each structure as far as it is used. Nothing is built against it;
// tests/native/libfabric_abi.cpp compares the two.
//
// All but a few functions are reached through tables of the object that they belong to: see
// fabric(7) and the pages of each object, fi_domain(3), fi_endpoint(3), fi_cq(3), fi_av(3),
// fi_mr(3), fi_tagged(3) and fi_rma(3). Names are those of libfabric without their prefixes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace halftrip::ofi {

inline constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor) {
  return major << 16 | minor;
}

// The oldest that has the ABI, and the newest whose behaviour is asked for.
inline constexpr std::uint32_t kOldest = version(1, 9), kNewest = version(1, 17);
inline constexpr const char* kAbi = "FABRIC_1.3";

inline constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }

// Capabilities, modes and flags of operations.
inline constexpr std::uint64_t kRma = bit(2), kTagged = bit(3), kRecv = bit(10), kSend = bit(11),
                               kRemoteRead = bit(12), kRemoteWrite = bit(13), kCompletion = bit(24),
                               kDeliveryComplete = bit(28), kRemoteComm = bit(52),
                               kContext = bit(59), kContext2 = bit(52);
// Of memory regions.
inline constexpr int kMrVirtAddr = 1 << 4, kMrAllocated = 1 << 5, kMrProvKey = 1 << 6,
                     kMrEndpoint = 1 << 9;
inline constexpr std::uint64_t kOrderSas = bit(8);
inline constexpr std::uint64_t kAnyAddress = ~std::uint64_t{0};
inline constexpr int kThreadDomain = 3, kResourcesManaged = 2, kReliableDatagrams = 3;
inline constexpr int kWaitNone = 0, kWaitFd = 3, kCqFormatContext = 1;
// Commands of control().
inline constexpr int kGetWait = 5, kEnable = 6;
// What fi_tostr prints.
inline constexpr int kTypeProtocol = 12;
// The error that says that an error is to be read, which is none of the system's.
inline constexpr int kEavail = 259;
// What a provider may write to for as long as an operation goes on (struct fi_context2), pointers.
inline constexpr std::size_t kContextPointers = 8;

struct Fid;

struct Ops {
  std::size_t size;
  int (*close)(Fid*);
  int (*bind)(Fid*, Fid*, std::uint64_t flags);
  int (*control)(Fid*, int command, void* argument);
};

// Every object begins with it.
struct Fid {
  std::size_t fclass;
  void* context;
  Ops* ops;
};

struct Fabric;
struct Domain;
struct Endpoint;
struct CompletionQueue;
struct AddressVector;

struct TxAttr {
  std::uint64_t caps, mode, op_flags, msg_order, comp_order;
  std::size_t inject_size, size, iov_limit, rma_iov_limit;
  std::uint32_t tclass;
};

struct RxAttr {
  std::uint64_t caps, mode, op_flags, msg_order, comp_order;
  std::size_t total_buffered_recv, size, iov_limit;
};

struct EpAttr {
  int type;
  std::uint32_t protocol, protocol_version;
  std::size_t max_msg_size, msg_prefix_size, max_order_raw_size, max_order_war_size,
      max_order_waw_size;
  std::uint64_t mem_tag_format;
  std::size_t tx_ctx_cnt, rx_ctx_cnt, auth_key_size;
  std::uint8_t* auth_key;
};

// As far as it is used.
struct DomainAttr {
  Domain* domain;
  char* name;
  int threading, control_progress, data_progress, resource_mgmt, av_type, mr_mode;
};

struct FabricAttr {
  Fabric* fabric;
  char *name, *prov_name;
  std::uint32_t prov_version, api_version;
};

struct Info {
  Info* next;
  std::uint64_t caps, mode;
  std::uint32_t addr_format;
  std::size_t src_addrlen, dest_addrlen;
  void *src_addr, *dest_addr;
  Fid* handle;
  TxAttr* tx_attr;
  RxAttr* rx_attr;
  EpAttr* ep_attr;
  DomainAttr* domain_attr;
  FabricAttr* fabric_attr;
};

// A setting, which an environment variable of this name sets; `value` is null where none does.
struct Parameter {
  const char* name;
  int type;
  const char *help_string, *value;
};

struct FabricOps {
  std::size_t size;
  int (*domain)(Fabric*, Info*, Domain**, void* context);
  void *passive_ep, *eq_open, *wait_open;
  int (*trywait)(Fabric*, Fid**, int count);
};

struct Fabric {
  Fid fid;
  FabricOps* ops;
};

struct AvAttr {
  int type, rx_ctx_bits;
  std::size_t count, ep_per_node;
  const char* name;
  void* map_addr;
  std::uint64_t flags;
};

struct CqAttr {
  std::size_t size;
  std::uint64_t flags;
  int format, wait_obj, signaling_vector, wait_cond;
  void* wait_set;
};

struct DomainOps {
  std::size_t size;
  int (*av_open)(Domain*, AvAttr*, AddressVector**, void* context);
  int (*cq_open)(Domain*, CqAttr*, CompletionQueue**, void* context);
  int (*endpoint)(Domain*, Info*, Endpoint**, void* context);
};

struct MemoryRegion {
  Fid fid;
  void* mem_desc;
  std::uint64_t key;
};

struct MrOps {
  std::size_t size;
  int (*reg)(Fid* domain, const void*, std::size_t, std::uint64_t access, std::uint64_t offset,
             std::uint64_t requested_key, std::uint64_t flags, MemoryRegion**, void* context);
};

struct Domain {
  Fid fid;
  DomainOps* ops;
  MrOps* mr;
};

struct AvOps {
  std::size_t size;
  int (*insert)(AddressVector*, const void* address, std::size_t count, std::uint64_t* found,
                std::uint64_t flags, void* context);
};

struct AddressVector {
  Fid fid;
  AvOps* ops;
};

struct CqEntry {
  void* context;
};

struct CqErrorEntry {
  void* context;
  std::uint64_t flags;
  std::size_t len;
  void* buf;
  std::uint64_t data, tag;
  std::size_t olen;
  int err, prov_errno;
  void* err_data;
  std::size_t err_data_size;
};

struct CqOps {
  std::size_t size;
  ssize_t (*read)(CompletionQueue*, void* entries, std::size_t count);
  void* readfrom;
  ssize_t (*readerr)(CompletionQueue*, CqErrorEntry*, std::uint64_t flags);
};

struct CompletionQueue {
  Fid fid;
  CqOps* ops;
};

struct CmOps {
  std::size_t size;
  void* setname;
  int (*getname)(Fid*, void* address, std::size_t* length);
};

struct TaggedOps {
  std::size_t size;
  ssize_t (*recv)(Endpoint*, void*, std::size_t, void* desc, std::uint64_t from, std::uint64_t tag,
                  std::uint64_t ignore, void* context);
  void *recvv, *recvmsg;
  ssize_t (*send)(Endpoint*, const void*, std::size_t, void* desc, std::uint64_t to,
                  std::uint64_t tag, void* context);
  void *sendv, *sendmsg;
  ssize_t (*inject)(Endpoint*, const void*, std::size_t, std::uint64_t to, std::uint64_t tag);
};

struct RmaIov {
  std::uint64_t addr;
  std::size_t len;
  std::uint64_t key;
};

struct RmaMessage {
  const iovec* msg_iov;
  void** desc;
  std::size_t iov_count;
  std::uint64_t addr;
  const RmaIov* rma_iov;
  std::size_t rma_iov_count;
  void* context;
  std::uint64_t data;
};

struct RmaOps {
  std::size_t size;
  void *read, *readv;
  ssize_t (*readmsg)(Endpoint*, const RmaMessage*, std::uint64_t flags);
  void *write, *writev;
  ssize_t (*writemsg)(Endpoint*, const RmaMessage*, std::uint64_t flags);
};

struct Endpoint {
  Fid fid;
  void* ops;
  CmOps* cm;
  void* msg;
  RmaOps* rma;
  TaggedOps* tagged;
};

}  // namespace halftrip::ofi
