// Names of gasnetex.h in use, as programs write them, in C and in C++. It is only compiled.

#include <gasnetex.h>
#include <gasnet_mk.h>
#include <gasnet_ratomic.h>

#include <string.h>

#if GEX_SPEC_VERSION_MAJOR != 0 || GEX_SPEC_VERSION_MINOR < 12 || SIZEOF_GEX_RMA_VALUE_T != 8 || GASNET_MAXEPS < 1 || GASNET_HIDDEN_AM_CONCURRENCY_LEVEL
#error "constants are for the preprocessor too"
#endif
#if GASNETI_MAX_THREADS < 1 || defined(GASNET_HAVE_MK_CLASS_CUDA_UVA) || defined(GASNET_HAVE_MK_CLASS_HIP) || defined(GASNET_HAVE_MK_CLASS_ZE)
#error "programs size tables by the first, and look for memory of devices by the others"
#endif

// Programs have these numbers of GASNet-EX's built in.
typedef char numbers[GEX_DT_U64 == 1 << 3 && GEX_OP_ADD == 1 << 3 && GEX_FLAG_IMMEDIATE == 1 << 0 && GEX_EP_CAPABILITY_RMA == 1 << 0 &&
	GEX_FLAG_AM_PREPARE_LEAST_CLIENT == 1 << 11 && GEX_FLAG_AM_PREPARE_LEAST_ALLOC == 1 << 12 && GASNET_ERR_NOT_READY == 10004 ? 1 : -1];

static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static volatile int done;

static void on_short(gex_Token_t t, gex_AM_Arg_t a) {
	gex_Token_Info_t info;
	if (gex_Token_Info(t, &info, GEX_TI_SRCRANK | GEX_TI_IS_REQ) & GEX_TI_IS_REQ) {
		done = (int)info.gex_srcrank + a;
	}
	gex_AM_ReplyShort1(t, 129, 0, a);
	gex_AM_ReplyShort(t, 129, 0);
}

static void on_medium(gex_Token_t t, void *buf, size_t nbytes, gex_AM_Arg_t a, gex_AM_Arg_t b) {
	gex_AM_ReplyMedium2(t, 130, buf, nbytes, GEX_EVENT_NOW, 0, a, b);
	gex_AM_ReplyLong(t, 131, buf, nbytes, buf, GEX_EVENT_NOW, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 'x');
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(t, GASNETI_NULL, 1, 2, GASNETI_NULL, 0, 1);
	memset(gex_AM_SrcDescAddr(sd), 0, gex_AM_SrcDescSize(sd));
	gex_AM_CommitReplyMedium1(sd, 3, 1, a);
	gex_AM_CommitReplyLong(sd, 3, 1, buf, a, b);
}

static gex_Event_t pass(gex_Event_t event) { return event; }

int main(int argc, char **argv) {
	gex_Client_t client = GEX_CLIENT_INVALID;
	gex_EP_t ep = GEX_EP_INVALID;
	gex_TM_t tm = GEX_TM_INVALID, part;
	gex_Segment_t segment = GEX_SEGMENT_INVALID;
	gex_AM_Entry_t table[] = {
		{200, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 1, GASNETI_NULL, "short"},
		{0, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 2, &lock, GASNETI_NULL},
	};
	char buf[64] = "";
	long wide = argc;
	if (gex_Client_Init(&client, &ep, &tm, "USE", &argc, &argv, 0) || gex_EP_RegisterHandlers(ep, table, 2) || gex_Segment_Attach(&segment, tm, gasnet_getMaxLocalSegmentSize())) {
		gasnet_exit(1);
	}
	gex_Rank_t peer = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
	gex_Addr_t to;
	uintptr_t size;
	if (gex_Segment_QueryBound(tm, peer, &to, GASNETI_NULL, &size)) gasnet_exit(2);
	int refused = gex_AM_RequestShort0(tm, peer, 200, GEX_FLAG_IMMEDIATE) + gex_AM_RequestShort1(tm, peer, 200, 0, wide);
	refused += gex_AM_RequestShort(tm, peer, 200, 0) + gex_AM_RequestShort(tm, peer, 200, 0, wide, 'c', 3u);
	gex_Event_t local, events[2];
	refused += gex_AM_RequestMedium(tm, peer, 201, buf, sizeof buf, &local, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, wide);
	refused += gex_AM_RequestLong2(tm, peer, 201, buf, sizeof buf, to, GEX_EVENT_GROUP, 0, wide, 'x');
	if (refused) GASNET_BLOCKUNTIL(done && memcmp(buf, "a,b", 3) == 0);
	else gasnet_AMPoll();
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestLong(tm, peer, buf, 0, sizeof buf, to, &local, 0, 16);
	if (sd != GEX_AM_SRCDESC_NO_OP) gex_AM_CommitRequestLong(sd, 201, 8, to, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, wide);
	gex_HSL_t own;
	gex_HSL_Init(&own);
	gex_HSL_Lock(&own);
	gex_HSL_Unlock(&own);
	if (gex_HSL_Trylock(&lock) == GASNET_OK) gex_HSL_Unlock(&lock);
	gex_HSL_Destroy(&own);
	gex_RMA_PutBlocking(tm, peer, to, "read only", 9, 0);
	gex_Event_Wait(pass(gex_RMA_PutNB(tm, peer, to, buf, 8, GEX_EVENT_DEFER, 0)));
	events[0] = gex_RMA_PutNB(tm, peer, to, buf, 8, &local, GEX_FLAG_PEER_NEVER_SELF);
	events[1] = gex_RMA_GetNB(tm, buf, peer, to, 8, 0);
	if (gex_Event_TestSome(events, 2, 0) != GASNET_OK) gex_Event_WaitSome(events, 2, 0);
	if (gex_Event_TestAll(events, 2, 0) == GASNET_ERR_NOT_READY) gex_Event_WaitAll(events, 2, 0);
	gex_NBI_BeginAccessRegion(0);
	refused += gex_RMA_PutNBI(tm, peer, to, buf, 8, GEX_EVENT_NOW, 0) + gex_RMA_GetNBI(tm, buf, peer, to, 8, 0);
	gex_RMA_PutNBIVal(tm, peer, to, 5, 4, 0);
	gex_Event_Wait(gex_NBI_EndAccessRegion(0));
	if (gex_NBI_Test(GEX_EC_PUT | GEX_EC_RMW, 0)) gex_NBI_Wait(GEX_EC_ALL, 0);
	gex_RMA_Value_t v = gex_RMA_GetBlockingVal(tm, peer, to, 4, 0);
	if (gex_TM_Split(&part, tm, 0, 0, GASNETI_NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN)) {
		gex_TM_Split(&part, tm, 0, 0, GASNETI_NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
		gex_Event_Wait(gex_Coll_BroadcastNB(part, 0, buf, buf, 8, 0));
		gex_Event_Wait(gex_Coll_ReduceToAllNB(part, &v, &v, GEX_DT_U64, sizeof v, 1, GEX_OP_ADD, GASNETI_NULL, GASNETI_NULL, 0));
		gex_AD_t ad;
		gex_AD_Create(&ad, part, GEX_DT_DBL, GEX_OP_FADD | GEX_OP_SET, 0);
		double was;
		gex_Event_Wait(gex_AD_OpNB_DBL(ad, &was, 0, to, GEX_OP_FADD, 1.5, 0, GEX_FLAG_AD_ACQ));
		refused += gex_AD_OpNBI_DBL(ad, GASNETI_NULL, 0, to, GEX_OP_SET, was, 0, 0);
		gex_AD_Destroy(ad);
		gex_TM_Destroy(part, GASNETI_NULL, 0);
	}
	gex_MK_Create_args_t args;
	memset(&args, 0, sizeof args);
	args.gex_class = GEX_MK_CLASS_CUDA_UVA;
	args.gex_args.gex_class_cuda_uva.gex_CUdevice = 1;
	gex_MK_t kind;
	if (gex_MK_Create(&kind, client, &args, 0) == GASNET_OK) gex_MK_Destroy(kind, 0);
	gex_RankInfo_t *near;
	gex_Rank_t n, self;
	gex_System_QueryNbrhdInfo(&near, &n, &self);
	gex_Memvec_t vec = {buf, 8};
	const ptrdiff_t strides[1] = {-8};
	const size_t count[1] = {3};
	gex_VIS_VectorPutNBI(tm, peer, 1, &vec, 1, &vec, 0);
	gex_Event_Wait(gex_VIS_StridedGetNB(tm, buf, strides, peer, to, strides, 8, count, 1, 0));
	gasnet_exit(refused + (near[self].gex_jobrank == n));
}
