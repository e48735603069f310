// That what native/libfabric_abi.hpp says of libfabric's ABI is as its headers have it.
#include "../../native/libfabric_abi.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

namespace ours = halftrip::ofi;

// A field that both have by the same name.
#define FIELD(our, their, name)                                              \
  static_assert(offsetof(ours::our, name) == offsetof(struct their, name) && \
                sizeof(ours::our::name) == sizeof(((struct their*)nullptr)->name))
#define VALUE(our, their) \
  static_assert(static_cast<long long>(ours::our) == static_cast<long long>(their))
// A structure that the library reads or writes as a whole.
#define WHOLE(our, their) static_assert(sizeof(ours::our) == sizeof(struct their))

WHOLE(TxAttr, fi_tx_attr);
FIELD(TxAttr, fi_tx_attr, msg_order);
FIELD(TxAttr, fi_tx_attr, inject_size);
FIELD(TxAttr, fi_tx_attr, size);
WHOLE(RxAttr, fi_rx_attr);
FIELD(RxAttr, fi_rx_attr, msg_order);
FIELD(RxAttr, fi_rx_attr, size);
WHOLE(EpAttr, fi_ep_attr);
FIELD(EpAttr, fi_ep_attr, type);
FIELD(EpAttr, fi_ep_attr, protocol);
FIELD(EpAttr, fi_ep_attr, max_msg_size);
FIELD(DomainAttr, fi_domain_attr, name);
FIELD(DomainAttr, fi_domain_attr, threading);
FIELD(DomainAttr, fi_domain_attr, resource_mgmt);
FIELD(DomainAttr, fi_domain_attr, av_type);
FIELD(DomainAttr, fi_domain_attr, mr_mode);
WHOLE(FabricAttr, fi_fabric_attr);
FIELD(FabricAttr, fi_fabric_attr, prov_name);
FIELD(FabricAttr, fi_fabric_attr, prov_version);
FIELD(Info, fi_info, next);
FIELD(Info, fi_info, caps);
FIELD(Info, fi_info, mode);
FIELD(Info, fi_info, tx_attr);
FIELD(Info, fi_info, rx_attr);
FIELD(Info, fi_info, ep_attr);
FIELD(Info, fi_info, domain_attr);
FIELD(Info, fi_info, fabric_attr);
WHOLE(Parameter, fi_param);
FIELD(Parameter, fi_param, name);
FIELD(Parameter, fi_param, help_string);
FIELD(Parameter, fi_param, value);
WHOLE(AvAttr, fi_av_attr);
FIELD(AvAttr, fi_av_attr, type);
FIELD(AvAttr, fi_av_attr, count);
WHOLE(CqAttr, fi_cq_attr);
FIELD(CqAttr, fi_cq_attr, format);
FIELD(CqAttr, fi_cq_attr, wait_obj);
WHOLE(RmaIov, fi_rma_iov);
FIELD(RmaIov, fi_rma_iov, addr);
FIELD(RmaIov, fi_rma_iov, len);
FIELD(RmaIov, fi_rma_iov, key);
WHOLE(RmaMessage, fi_msg_rma);
FIELD(RmaMessage, fi_msg_rma, msg_iov);
FIELD(RmaMessage, fi_msg_rma, iov_count);
FIELD(RmaMessage, fi_msg_rma, addr);
FIELD(RmaMessage, fi_msg_rma, rma_iov);
FIELD(RmaMessage, fi_msg_rma, rma_iov_count);
FIELD(RmaMessage, fi_msg_rma, context);
WHOLE(CqEntry, fi_cq_entry);
WHOLE(CqErrorEntry, fi_cq_err_entry);
FIELD(CqErrorEntry, fi_cq_err_entry, err);
static_assert(ours::kContextPointers * sizeof(void*) == sizeof(struct fi_context2));

FIELD(Fid, fid, ops);
FIELD(Ops, fi_ops, close);
FIELD(Ops, fi_ops, bind);
FIELD(Ops, fi_ops, control);
FIELD(Fabric, fid_fabric, ops);
FIELD(FabricOps, fi_ops_fabric, domain);
FIELD(FabricOps, fi_ops_fabric, trywait);
FIELD(Domain, fid_domain, ops);
FIELD(Domain, fid_domain, mr);
FIELD(DomainOps, fi_ops_domain, av_open);
FIELD(DomainOps, fi_ops_domain, cq_open);
FIELD(DomainOps, fi_ops_domain, endpoint);
FIELD(MrOps, fi_ops_mr, reg);
FIELD(MemoryRegion, fid_mr, key);
FIELD(AddressVector, fid_av, ops);
FIELD(AvOps, fi_ops_av, insert);
FIELD(CompletionQueue, fid_cq, ops);
FIELD(CqOps, fi_ops_cq, read);
FIELD(CqOps, fi_ops_cq, readerr);
FIELD(Endpoint, fid_ep, cm);
FIELD(Endpoint, fid_ep, rma);
FIELD(Endpoint, fid_ep, tagged);
FIELD(CmOps, fi_ops_cm, getname);
FIELD(TaggedOps, fi_ops_tagged, recv);
FIELD(TaggedOps, fi_ops_tagged, send);
FIELD(TaggedOps, fi_ops_tagged, inject);
FIELD(RmaOps, fi_ops_rma, readmsg);
FIELD(RmaOps, fi_ops_rma, writemsg);

VALUE(kRma, FI_RMA);
VALUE(kTagged, FI_TAGGED);
VALUE(kRecv, FI_RECV);
VALUE(kSend, FI_SEND);
VALUE(kRemoteRead, FI_REMOTE_READ);
VALUE(kRemoteWrite, FI_REMOTE_WRITE);
VALUE(kCompletion, FI_COMPLETION);
VALUE(kDeliveryComplete, FI_DELIVERY_COMPLETE);
VALUE(kRemoteComm, FI_REMOTE_COMM);
VALUE(kContext, FI_CONTEXT);
VALUE(kContext2, FI_CONTEXT2);
VALUE(kMrVirtAddr, FI_MR_VIRT_ADDR);
VALUE(kMrAllocated, FI_MR_ALLOCATED);
VALUE(kMrProvKey, FI_MR_PROV_KEY);
VALUE(kMrEndpoint, FI_MR_ENDPOINT);
VALUE(kOrderSas, FI_ORDER_SAS);
VALUE(kAnyAddress, FI_ADDR_UNSPEC);
VALUE(kThreadDomain, FI_THREAD_DOMAIN);
VALUE(kResourcesManaged, FI_RM_ENABLED);
VALUE(kReliableDatagrams, FI_EP_RDM);
VALUE(kWaitNone, FI_WAIT_NONE);
VALUE(kWaitFd, FI_WAIT_FD);
VALUE(kCqFormatContext, FI_CQ_FORMAT_CONTEXT);
VALUE(kGetWait, FI_GETWAIT);
VALUE(kEnable, FI_ENABLE);
VALUE(kTypeProtocol, FI_TYPE_PROTOCOL);
VALUE(kEavail, FI_EAVAIL);
