// The interface of GASNet-EX, after "GASNet-EX API Description", version 0.13, for programs in C99 or later and C++11 or later.
// docs/c.md says what of it there is, how programs are built and started, and what is particular to this library. gasnet.h
// includes it.

#ifndef GASNETEX_H
#define GASNETEX_H

#include "gasneti/base.h"
#include "gasneti/names.h"

GASNETI_BEGIN_C

#define GEX_SPEC_VERSION_MAJOR 0
#define GEX_SPEC_VERSION_MINOR 13
#define GASNETEX_VERSION_MAJOR GEX_SPEC_VERSION_MAJOR
#define GASNETEX_VERSION_MINOR GEX_SPEC_VERSION_MINOR

// Handlers run on the program's own threads only.
#define GASNET_HIDDEN_AM_CONCURRENCY_LEVEL 0
#define GASNET_MAXEPS 1

// A process has one client and one endpoint. What these point to is the library's.
typedef struct gasneti_ex_client *gex_Client_t;
typedef struct gasneti_ex_ep *gex_EP_t;
typedef struct gasneti_ex_tm *gex_TM_t;
typedef struct gasneti_ex_segment *gex_Segment_t;
typedef struct gasneti_ex_ad *gex_AD_t;
typedef struct gasneti_ex_mk *gex_MK_t;
typedef struct gasneti_ex_srcdesc *gex_AM_SrcDesc_t;
typedef gasnet_handle_t gex_Event_t;
typedef gasnet_token_t gex_Token_t;
typedef gasnet_node_t gex_Rank_t;
typedef gasnet_handler_t gex_AM_Index_t;
typedef gasnet_handlerarg_t gex_AM_Arg_t;
typedef gasneti_fn_t gex_AM_Fn_t;
typedef uint64_t gex_RMA_Value_t;
#define SIZEOF_GEX_RMA_VALUE_T 8
typedef void *gex_Addr_t;
typedef uint32_t gex_Flags_t;
typedef uint16_t gex_EP_Index_t;
typedef uint32_t gex_EP_Capabilities_t;
typedef uint32_t gex_EC_t;
typedef uint32_t gex_TI_t;
typedef uint32_t gex_DT_t;
typedef uint32_t gex_OP_t;

#define GEX_CLIENT_INVALID ((gex_Client_t)GASNETI_NULL)
#define GEX_EP_INVALID ((gex_EP_t)GASNETI_NULL)
#define GEX_TM_INVALID ((gex_TM_t)GASNETI_NULL)
#define GEX_SEGMENT_INVALID ((gex_Segment_t)GASNETI_NULL)
#define GEX_AD_INVALID ((gex_AD_t)GASNETI_NULL)
#define GEX_MK_INVALID ((gex_MK_t)GASNETI_NULL)
#define GEX_MK_HOST ((gex_MK_t)(uintptr_t)1)
#define GEX_RANK_INVALID ((gex_Rank_t)-1)
#define GEX_AM_SRCDESC_NO_OP ((gex_AM_SrcDesc_t)GASNETI_NULL)
#define GEX_EVENT_INVALID ((gex_Event_t)GASNETI_NULL)
#define GEX_EVENT_NO_OP ((gex_Event_t)(uintptr_t)1)

// When the source of a message or put may be overwritten: when the call returns, when the operation is complete, or when the
// calling thread's implicit operations are (of the category GEX_EC_LC for puts, GEX_EC_AM for requests). The address of an
// event in their place has the call write one there.
#define GEX_EVENT_NOW ((gex_Event_t *)(uintptr_t)1)
#define GEX_EVENT_DEFER ((gex_Event_t *)(uintptr_t)2)
#define GEX_EVENT_GROUP ((gex_Event_t *)(uintptr_t)3)

// Flags. Where the meaning depends on the call, values are used again.
#define GEX_NO_FLAGS 0 // as programs that predate the name define it
#define GEX_FLAG_IMMEDIATE ((gex_Flags_t)1 << 0)
#define GEX_FLAG_AD_MY_RANK ((gex_Flags_t)1 << 1)
#define GEX_FLAG_AD_MY_NBRHD ((gex_Flags_t)1 << 2)
#define GEX_FLAG_AD_ACQ ((gex_Flags_t)1 << 3)
#define GEX_FLAG_AD_REL ((gex_Flags_t)1 << 4)
#define GEX_FLAG_RANK_IS_JOBRANK ((gex_Flags_t)1 << 5)
#define GEX_FLAG_ENABLE_LEAF_LC ((gex_Flags_t)1 << 6)
#define GEX_FLAG_PEER_NEVER_SELF ((gex_Flags_t)1 << 7)
#define GEX_FLAG_PEER_NEVER_NBRHD ((gex_Flags_t)1 << 8)
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT ((gex_Flags_t)1 << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC ((gex_Flags_t)1 << 12)
#define GEX_FLAG_AD_FAVOR_MY_RANK ((gex_Flags_t)1 << 13)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD ((gex_Flags_t)1 << 14)
#define GEX_FLAG_AD_FAVOR_REMOTE ((gex_Flags_t)1 << 15)
#define GEX_FLAG_TM_GLOBAL_SCRATCH ((gex_Flags_t)1 << 16)
#define GEX_FLAG_TM_LOCAL_SCRATCH ((gex_Flags_t)1 << 17)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH ((gex_Flags_t)1 << 18)
#define GEX_FLAG_TM_NO_SCRATCH ((gex_Flags_t)1 << 19)
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN ((gex_Flags_t)1 << 20)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED ((gex_Flags_t)1 << 21)
#define GEX_FLAG_GLOBALLY_QUIESCED ((gex_Flags_t)1 << 22)
#define GEX_FLAG_USES_GASNET1 ((gex_Flags_t)1 << 23)
#define GEX_FLAG_DEFER_THREADS ((gex_Flags_t)1 << 24)
// Of handlers: the categories and directions of the messages that they are for.
#define GEX_FLAG_AM_SHORT ((gex_Flags_t)1 << 0)
#define GEX_FLAG_AM_MEDIUM ((gex_Flags_t)1 << 1)
#define GEX_FLAG_AM_LONG ((gex_Flags_t)1 << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST ((gex_Flags_t)1 << 3)
#define GEX_FLAG_AM_REPLY ((gex_Flags_t)1 << 4)
#define GEX_FLAG_AM_REQREP (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)

// Joining the job, with one client, its endpoint and the team of all ranks. It is collective over the job, and a barrier.
#ifndef GASNETI_LIBRARY
#define gex_Client_Init(client_p, ep_p, tm_p, client_name, argc, argv, flags) \
	gasneti_ex_Client_Init(GASNETI_INIT(GASNETI_CHECKED, argc, argv), client_p, ep_p, tm_p, client_name, flags)
#endif
extern int gasneti_ex_Client_Init(int joined, gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *client_name, gex_Flags_t flags);

// The same objects, for a program that has called gasnet_init. What is NULL is not written.
extern void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, gex_Segment_t *segment_p);

// A word of the program's with each object, NULL at first.
extern void gex_Client_SetCData(gex_Client_t client, const void *val);
extern void *gex_Client_QueryCData(gex_Client_t client);
extern void gex_EP_SetCData(gex_EP_t ep, const void *val);
extern void *gex_EP_QueryCData(gex_EP_t ep);
extern void gex_TM_SetCData(gex_TM_t tm, const void *val);
extern void *gex_TM_QueryCData(gex_TM_t tm);
extern void gex_Segment_SetCData(gex_Segment_t segment, const void *val);
extern void *gex_Segment_QueryCData(gex_Segment_t segment);
extern void gex_AD_SetCData(gex_AD_t ad, const void *val);
extern void *gex_AD_QueryCData(gex_AD_t ad);

extern gex_Flags_t gex_Client_QueryFlags(gex_Client_t client);
extern const char *gex_Client_QueryName(gex_Client_t client);
extern gex_Client_t gex_EP_QueryClient(gex_EP_t ep);
extern gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep);
extern gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep);
extern gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep);

// The job, and which ranks share a host. Those of a neighbourhood reach each other's segments by loads and stores.
typedef struct {
	const gex_Rank_t gex_jobrank;
} gex_RankInfo_t;
extern gex_Rank_t gex_System_QueryJobRank(void);
extern gex_Rank_t gex_System_QueryJobSize(void);
extern void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p);
extern void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p);
extern void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size, gex_Rank_t *nbrhd_set_rank, gex_Rank_t *host_set_size, gex_Rank_t *host_set_rank);
extern int gex_System_GetVerboseErrors(void);
extern void gex_System_SetVerboseErrors(int enable);
extern uint64_t gex_System_QueryMaxThreads(void);
extern int gex_System_QueryHiddenAMConcurrencyLevel(void);

// The library has no threads for progress that a program could run instead.
typedef struct {
	int (*gex_progress_fn)(void *arg);
	void *gex_progress_arg;
	const char *gex_device_list;
	unsigned int gex_thread_roles;
} gex_ProgressThreadInfo_t;
#define GEX_THREAD_ROLE_RCV 1u
#define GEX_THREAD_ROLE_SND 2u
extern int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p, const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags);

// Segments. Attaching is collective over the job, and a barrier, and so is publishing segments that are bound. A process has
// one segment: of the library's memory, by gex_Segment_Attach, or of its own, by gex_Segment_Create and gex_EP_BindSegment before the
// first segment is published.
extern int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t length);
extern int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p);
GASNETI_WARN_UNUSED extern gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags);
extern gex_Client_t gex_Segment_QueryClient(gex_Segment_t segment);
extern gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t segment);
extern void *gex_Segment_QueryAddr(gex_Segment_t segment);
extern uintptr_t gex_Segment_QuerySize(gex_Segment_t segment);

// There are no further endpoints, nor memory of devices: creating one returns GASNET_ERR_RESOURCE. Segments that were attached
// are known to all ranks, so publishing them is no more than a barrier of the team.
#define GEX_EP_CAPABILITY_RMA ((gex_EP_Capabilities_t)1 << 0)
#define GEX_EP_CAPABILITY_AM ((gex_EP_Capabilities_t)1 << 1)
#define GEX_EP_CAPABILITY_VIS ((gex_EP_Capabilities_t)1 << 2)
#define GEX_EP_CAPABILITY_COLL ((gex_EP_Capabilities_t)1 << 3)
#define GEX_EP_CAPABILITY_AD ((gex_EP_Capabilities_t)1 << 4)
#define GEX_EP_CAPABILITY_ALL ((gex_EP_Capabilities_t)31)
extern int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities, gex_Flags_t flags);
extern int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t length, gex_MK_t kind, gex_Flags_t flags);
extern void gex_Segment_Destroy(gex_Segment_t segment, gex_Flags_t flags); // of one that is not bound
extern int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t segment, gex_Flags_t flags);
extern int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags);

// Teams. The calls that make and end them are collective. Scratch memory of the program's is not used.
extern gex_Client_t gex_TM_QueryClient(gex_TM_t tm);
extern gex_EP_t gex_TM_QueryEP(gex_TM_t tm);
extern gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm);
extern gex_Rank_t gex_TM_QueryRank(gex_TM_t tm);
extern gex_Rank_t gex_TM_QuerySize(gex_TM_t tm);
typedef struct {
	void *gex_addr;
	size_t gex_len;
} gex_Memvec_t;
typedef struct {
	gex_Rank_t gex_rank;
	gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;
extern size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr, size_t scratch_size, gex_Flags_t flags);
extern size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent, gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size, gex_Flags_t flags);
extern int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags);
extern gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_index);
extern gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank);
extern gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank);
extern gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags);

// Active messages.
typedef struct {
	gex_AM_Index_t gex_index; // 128 to 255, or 0 for any, which is then written here
	gex_AM_Fn_t gex_fnptr;
	gex_Flags_t gex_flags;
	unsigned int gex_nargs;
	const void *gex_cdata;
	const char *gex_name;
} gex_AM_Entry_t;
#define GEX_AM_INDEX_BASE 128
extern int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries);

extern unsigned int gex_AM_MaxArgs(void);
extern size_t gex_AM_LUBRequestMedium(void);
extern size_t gex_AM_LUBReplyMedium(void);
extern size_t gex_AM_LUBRequestLong(void);
extern size_t gex_AM_LUBReplyLong(void);
extern size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
extern size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);

// What a handler may ask of its message. The result says what of it was filled in.
typedef struct {
	gex_Rank_t gex_srcrank; // in the job
	gex_EP_t gex_ep;
	const gex_AM_Entry_t *gex_entry; // of a handler that gex_EP_RegisterHandlers has registered
	int gex_is_req;
	int gex_is_long;
} gex_Token_Info_t;
#define GEX_TI_SRCRANK ((gex_TI_t)1 << 0)
#define GEX_TI_EP ((gex_TI_t)1 << 1)
#define GEX_TI_ENTRY ((gex_TI_t)1 << 2)
#define GEX_TI_IS_REQ ((gex_TI_t)1 << 3)
#define GEX_TI_IS_LONG ((gex_TI_t)1 << 4)
#define GEX_TI_ALL ((gex_TI_t)31)
#define GASNET_SUPPORTS_TI_SRCRANK 1
#define GASNET_SUPPORTS_TI_EP 1
#define GASNET_SUPPORTS_TI_ENTRY 1
#define GASNET_SUPPORTS_TI_IS_REQ 1
#define GASNET_SUPPORTS_TI_IS_LONG 1
extern gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask);

// Messages whose payload is negotiated. A thread prepares one at a time, and then commits it.
GASNETI_WARN_UNUSED extern gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
GASNETI_WARN_UNUSED extern gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
GASNETI_WARN_UNUSED extern gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
GASNETI_WARN_UNUSED extern gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs);
// A message that was prepared may be given up instead. Nothing is sent, and the result is 0.
#define GASNET_SUPPORTS_AM_CANCEL 1
extern int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
extern int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
extern int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
extern int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags);
extern void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd);
extern size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd);

#include "gasneti/ex_am.h"

// Puts and gets. The integers are 0, as no call refuses to wait (GEX_FLAG_IMMEDIATE).
extern int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags);
extern int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags);
extern int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags);
extern int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags);
extern int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags);
extern int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags);
extern gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags);

// Vector, indexed and strided transfers, whose lists and sections are read before a call returns. The source of a put may be
// overwritten when it is complete; with GEX_FLAG_ENABLE_LEAF_LC its event has a leaf for that, or it is in the category GEX_EC_LC.
// A section has count[i] elements along dimension i, of elemsz bytes, whose distance strides[i] may be negative.
// The calling thread's next put of this kind has the handler run at its peer, as of a Medium request, when all has come there. Such a
// put is complete when the call returns. Handler 0 takes that back.
#define GEX_VIS_MAX_PEERCOMPLETION 127
extern void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_VectorPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_VectorGetNB(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_IndexedPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_IndexedGetNB(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_StridedPutNB(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[], const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_VIS_StridedGetNB(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank, const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);
extern int gex_VIS_VectorPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
extern int gex_VIS_VectorGetNBI(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
extern int gex_VIS_IndexedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
extern int gex_VIS_IndexedGetNBI(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
extern int gex_VIS_StridedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[], const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);
extern int gex_VIS_StridedGetNBI(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank, const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);
extern int gex_VIS_VectorPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
extern int gex_VIS_VectorGetBlocking(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags);
extern int gex_VIS_IndexedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
extern int gex_VIS_IndexedGetBlocking(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags);
extern int gex_VIS_StridedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[], const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);
extern int gex_VIS_StridedGetBlocking(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank, const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags);

// Events, which any thread may synchronise. Tests do not poll.
extern int gex_Event_Test(gex_Event_t event);
extern void gex_Event_Wait(gex_Event_t event);
extern int gex_Event_TestSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern void gex_Event_WaitSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern int gex_Event_TestAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
extern void gex_Event_WaitAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t event_category);

// Categories of implicit operations, and of leaf events.
#define GEX_EC_PUT ((gex_EC_t)1 << 0)
#define GEX_EC_GET ((gex_EC_t)1 << 1)
#define GEX_EC_RMW ((gex_EC_t)1 << 2)
#define GEX_EC_LC ((gex_EC_t)1 << 3)
#define GEX_EC_AM ((gex_EC_t)1 << 4)
#define GEX_EC_ALL ((gex_EC_t)31)
extern int gex_NBI_Test(gex_EC_t event_mask, gex_Flags_t flags);
extern void gex_NBI_Wait(gex_EC_t event_mask, gex_Flags_t flags);
extern void gex_NBI_BeginAccessRegion(gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags);

// Types of elements, and operations on them, for atomics and reductions. x is the element, a and b are the operands.
#define GEX_DT_I32 ((gex_DT_t)1 << 0)
#define GEX_DT_U32 ((gex_DT_t)1 << 1)
#define GEX_DT_I64 ((gex_DT_t)1 << 2)
#define GEX_DT_U64 ((gex_DT_t)1 << 3)
#define GEX_DT_FLT ((gex_DT_t)1 << 4)
#define GEX_DT_DBL ((gex_DT_t)1 << 5)
#define GEX_DT_USER ((gex_DT_t)1 << 6)
#define GEX_OP_AND ((gex_OP_t)1 << 0)  // x & a; integers only
#define GEX_OP_OR ((gex_OP_t)1 << 1)   // x | a; integers only
#define GEX_OP_XOR ((gex_OP_t)1 << 2)  // x ^ a; integers only
#define GEX_OP_ADD ((gex_OP_t)1 << 3)  // x + a
#define GEX_OP_SUB ((gex_OP_t)1 << 4)  // x - a
#define GEX_OP_MULT ((gex_OP_t)1 << 5) // x * a
#define GEX_OP_MIN ((gex_OP_t)1 << 6)  // the lesser of x and a
#define GEX_OP_MAX ((gex_OP_t)1 << 7)  // the greater of x and a
#define GEX_OP_INC ((gex_OP_t)1 << 8)  // x + 1
#define GEX_OP_DEC ((gex_OP_t)1 << 9)  // x - 1
#define GEX_OP_SET ((gex_OP_t)1 << 10) // a
#define GEX_OP_CAS ((gex_OP_t)1 << 11) // b if x has the bits of a, else x
#define GEX_OP_USER ((gex_OP_t)1 << 14)    // a function of the program's, which commutes
#define GEX_OP_USER_NC ((gex_OP_t)1 << 15) // one that does not
// The fetching forms return what was there before.
#define GEX_OP_FAND (GEX_OP_AND << 16)
#define GEX_OP_FOR (GEX_OP_OR << 16)
#define GEX_OP_FXOR (GEX_OP_XOR << 16)
#define GEX_OP_FADD (GEX_OP_ADD << 16)
#define GEX_OP_FSUB (GEX_OP_SUB << 16)
#define GEX_OP_FMULT (GEX_OP_MULT << 16)
#define GEX_OP_FMIN (GEX_OP_MIN << 16)
#define GEX_OP_FMAX (GEX_OP_MAX << 16)
#define GEX_OP_FINC (GEX_OP_INC << 16)
#define GEX_OP_FDEC (GEX_OP_DEC << 16)
#define GEX_OP_SWAP (GEX_OP_SET << 16)
#define GEX_OP_FCAS (GEX_OP_CAS << 16)
#define GEX_OP_CSWAP GEX_OP_FCAS
#define GEX_OP_GET ((gex_OP_t)1 << 28) // x itself
#define GEX_OP_TO_FETCHING(op) ((gex_OP_t)(op) << 16)
#define GEX_OP_TO_NONFETCHING(op) ((gex_OP_t)(op) >> 16)

// Collective calls, of which many may be under way. Buffers may lie anywhere.
typedef void (*gex_Coll_ReduceFn_t)(const void *arg1, void *arg2_and_out, size_t count, const void *cdata);
GASNETI_WARN_UNUSED extern gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags);
GASNETI_WARN_UNUSED extern gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags);

// Atomic domains: elements of one type in the segments of a team's members, and operations that are atomic with respect to
// each other. Creating one is collective, as is destroying it. The result of a fetching operation is there when it is complete.
extern void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags);
extern void gex_AD_Destroy(gex_AD_t ad);
extern gex_Client_t gex_AD_QueryClient(gex_AD_t ad);
extern gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad);
extern gex_TM_t gex_AD_QueryTM(gex_AD_t ad);
extern gex_DT_t gex_AD_QueryDT(gex_AD_t ad);
extern gex_OP_t gex_AD_QueryOps(gex_AD_t ad);
GASNETI_WARN_UNUSED extern gex_Event_t gasneti_ex_ADNB(gex_AD_t ad, gex_DT_t dt, void *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, uint64_t a, uint64_t b, gex_Flags_t flags);
extern int gasneti_ex_ADNBI(gex_AD_t ad, gex_DT_t dt, void *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, uint64_t a, uint64_t b, gex_Flags_t flags);

// Operands travel as the bits that they have in memory, in the low bytes of a word.
#define GASNETI_AD(name, dt, type)                                                                                                                               \
	static GASNETI_INLINE uint64_t gasneti_ex_bits_##name(type value) {                                                                                          \
		uint64_t bits = 0;                                                                                                                                       \
		__builtin_memcpy(&bits, &value, sizeof value);                                                                                                           \
		return bits;                                                                                                                                             \
	}                                                                                                                                                            \
	GASNETI_WARN_UNUSED static GASNETI_INLINE gex_Event_t gex_AD_OpNB_##name(gex_AD_t ad, type *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, type op1, type op2, gex_Flags_t flags) { \
		return gasneti_ex_ADNB(ad, dt, result_p, tgt_rank, tgt_addr, op, gasneti_ex_bits_##name(op1), gasneti_ex_bits_##name(op2), flags);                        \
	}                                                                                                                                                            \
	static GASNETI_INLINE int gex_AD_OpNBI_##name(gex_AD_t ad, type *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, type op1, type op2, gex_Flags_t flags) { \
		return gasneti_ex_ADNBI(ad, dt, result_p, tgt_rank, tgt_addr, op, gasneti_ex_bits_##name(op1), gasneti_ex_bits_##name(op2), flags);                       \
	}
GASNETI_AD(I32, GEX_DT_I32, int32_t)
GASNETI_AD(U32, GEX_DT_U32, uint32_t)
GASNETI_AD(I64, GEX_DT_I64, int64_t)
GASNETI_AD(U64, GEX_DT_U64, uint64_t)
GASNETI_AD(FLT, GEX_DT_FLT, float)
GASNETI_AD(DBL, GEX_DT_DBL, double)

// Locks that handlers may take.
typedef gasnet_hsl_t gex_HSL_t;
#define GEX_HSL_INITIALIZER GASNET_HSL_INITIALIZER
#define gex_HSL_Init(hsl) gasnet_hsl_init(hsl)
#define gex_HSL_Destroy(hsl) gasnet_hsl_destroy(hsl)
#define gex_HSL_Lock(hsl) gasnet_hsl_lock(hsl)
#define gex_HSL_Unlock(hsl) gasnet_hsl_unlock(hsl)
#define gex_HSL_Trylock(hsl) gasnet_hsl_trylock(hsl)

GASNETI_END_C

#endif
