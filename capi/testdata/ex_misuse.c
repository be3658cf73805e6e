// What must not be done with GASNet-EX's interface, by name. Rank 0 does it.

#include "check.h"

#include <gasnet_mk.h>
#include <gasnetex.h>

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t world;
static gex_Segment_t segment;
static char bytes[100];

static void on_message(gex_Token_t t) {
	(void)t;
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
}

// An operator of a reduction that communicates.
static void reduce(const void *a, void *b, size_t n, const void *cdata) {
	(void)a, (void)b, (void)n, (void)cdata;
	gex_AM_RequestShort0(world, 1, 128, 0);
}

// Before there are segments.
static void early(const char *what, void *to) {
	gex_Event_t event;
	if (strcmp(what, "put early") == 0) {
		gex_RMA_PutBlocking(world, 1, to, bytes, 8, 0);
	} else if (strcmp(what, "long early") == 0) {
		gex_AM_RequestLong0(world, 1, 128, bytes, 8, to, GEX_EVENT_NOW, 0);
	} else if (strcmp(what, "rank") == 0) {
		gex_AM_RequestShort0(world, 77, 128, 0);
	} else if (strcmp(what, "team") == 0) {
		gex_AM_RequestShort0(GEX_TM_INVALID, 0, 128, 0);
	} else if (strcmp(what, "defer") == 0) {
		gex_AM_RequestMedium0(world, 0, 128, bytes, 8, GEX_EVENT_DEFER, 0);
	} else if (strcmp(what, "medium") == 0) {
		gex_AM_RequestMedium0(world, 0, 128, bytes, gex_AM_LUBRequestMedium() + 1, &event, 0);
	} else if (strcmp(what, "handler") == 0) {
		gex_AM_RequestShort0(world, 0, 128, 0);
		gasnet_AMPoll();
		gasnet_AMPoll();
	} else if (strcmp(what, "token") == 0) {
		gex_Token_Info_t info;
		gex_Token_Info(NULL, &info, GEX_TI_ALL);
	} else if (strcmp(what, "reply") == 0) {
		gex_AM_ReplyShort0(NULL, 128, 0);
	} else if (strcmp(what, "least") == 0) {
		bytes[0] = gex_AM_PrepareRequestMedium(world, 0, NULL, (size_t)-1, (size_t)-1, NULL, 0, 0) == NULL;
	} else if (strcmp(what, "prepared") == 0) {
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, 0, NULL, 8, 8, NULL, 0, 0);
		gex_RMA_PutNBI(world, 0, gex_AM_SrcDescAddr(sd), bytes, 8, GEX_EVENT_NOW, 0);
	} else if (strcmp(what, "twice") == 0) {
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, 0, NULL, 8, 8, NULL, 0, 0);
		sd = gex_AM_PrepareRequestMedium(world, 0, NULL, gex_AM_SrcDescSize(sd), 8, NULL, 0, 0);
	} else if (strcmp(what, "commit") == 0) {
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, 0, NULL, 8, 8, NULL, 0, 0);
		gex_AM_CommitReplyMedium0(sd, 128, 8);
	} else if (strcmp(what, "arguments") == 0) {
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, 0, NULL, 8, 8, NULL, 0, 1);
		gex_AM_CommitRequestMedium0(sd, 128, 8);
	} else if (strcmp(what, "reduction") == 0) {
		event = gex_Coll_ReduceToAllNB(world, bytes, bytes, GEX_DT_I32, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
		gex_Event_Wait(event);
	} else if (strcmp(what, "function") == 0) {
		event = gex_Coll_ReduceToOneNB(world, 0, bytes, bytes, GEX_DT_USER, 8, 1, GEX_OP_USER, NULL, NULL, 0);
		gex_Event_Wait(event);
	} else if (strcmp(what, "destroy") == 0) {
		gex_TM_Destroy(world, NULL, 0);
	} else if (strcmp(what, "color") == 0) {
		gex_TM_t tm;
		gex_TM_Split(&tm, world, -1, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	}
}

static void late(const char *what, char *to, uintptr_t size, gex_AD_t ad) {
	uint64_t word = 0;
	gex_Event_t event = GEX_EVENT_INVALID;
	if (strcmp(what, "outside") == 0) {
		gex_RMA_PutBlocking(world, 1, to + size - 7, bytes, 8, 0);
	} else if (strcmp(what, "long outside") == 0) {
		gex_AM_RequestLong0(world, 1, 128, bytes, 8, to + size - 7, GEX_EVENT_NOW, 0);
	} else if (strcmp(what, "prepare outside") == 0) {
		bytes[0] = gex_AM_PrepareRequestLong(world, 1, NULL, 8, 8, to + size - 7, NULL, 0, 0) == NULL;
	} else if (strcmp(what, "null") == 0) {
		gex_RMA_PutBlocking(world, 1, to, NULL, 8, 0);
	} else if (strcmp(what, "group") == 0) {
		event = gex_RMA_PutNB(world, 1, to, bytes, 8, GEX_EVENT_GROUP, 0);
	} else if (strcmp(what, "bind") == 0) {
		gex_EP_BindSegment(ep, segment, 0);
	} else if (strcmp(what, "kind") == 0) {
		gex_MK_Destroy(GEX_MK_HOST, 0);
	} else if (strcmp(what, "lc") == 0) {
		gex_RMA_PutNBI(world, 1, to, bytes, 8, &event, 0);
	} else if (strcmp(what, "value") == 0) {
		word = gex_RMA_GetBlockingVal(world, 1, to, 9, 0);
	} else if (strcmp(what, "event") == 0) {
		event = (gex_Event_t)(uintptr_t)0x1234567;
	} else if (strcmp(what, "events") == 0) {
		gex_Event_TestSome(NULL, 2, 0);
	} else if (strcmp(what, "region") == 0) {
		event = gex_NBI_EndAccessRegion(0);
	} else if (strcmp(what, "leaf") == 0) {
		event = gex_Event_QueryLeaf(event, GEX_EC_ALL);
	} else if (strcmp(what, "operation") == 0) {
		event = gex_AD_OpNB_U64(ad, &word, 1, to, GEX_OP_ADD, 1, 0, 0);
	} else if (strcmp(what, "type") == 0) {
		event = gex_AD_OpNB_I64(ad, (int64_t *)&word, 1, to, GEX_OP_FADD, 1, 0, 0);
	} else if (strcmp(what, "alignment") == 0) {
		event = gex_AD_OpNB_U64(ad, &word, 1, to + 4, GEX_OP_FADD, 1, 0, 0);
	} else if (strcmp(what, "result") == 0) {
		event = gex_AD_OpNB_U64(ad, NULL, 1, to, GEX_OP_FADD, 1, 0, 0);
	} else if (strcmp(what, "vector") == 0) {
		gex_Memvec_t far = {to, 8}, near = {bytes, 7};
		gex_VIS_VectorPutBlocking(world, 1, 1, &far, 1, &near, 0);
	}
	gex_Event_Wait(event);
}

int main(int argc, char **argv) {
	const char *what = argv[1];
	if (strcmp(what, "before init") == 0) {
		gasnet_QueryGexObjects(&client, &ep, &world, &segment);
	}
	OK(gex_Client_Init(&client, &ep, &world, "misuse", &argc, &argv, 0));
	CHECK(gex_Client_Init(&client, &ep, &world, "misuse", &argc, &argv, 0) == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) == GASNET_ERR_NOT_INIT);
	gex_AM_Entry_t table[] = {{128, (gex_AM_Fn_t)on_message, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "message"}};
	OK(gex_EP_RegisterHandlers(ep, table, 1));
	CHECK(gex_System_GetVerboseErrors() == 1);
	CHECK(gex_EP_RegisterHandlers(ep, table, 1) == GASNET_ERR_BAD_ARG); // the index is taken
	table[0].gex_index = 5;
	gex_System_SetVerboseErrors(0); // of this error nothing is said
	CHECK(gex_EP_RegisterHandlers(ep, table, 1) == GASNET_ERR_BAD_ARG);
	CHECK(gex_EP_RegisterHandlers(GEX_EP_INVALID, NULL, 0) == GASNET_ERR_BAD_ARG);
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	if (strcmp(what, "operator") == 0) {
		gex_Event_Wait(gex_Coll_ReduceToAllNB(world, bytes, bytes + 8, GEX_DT_USER, 8, 1, GEX_OP_USER, reduce, NULL, 0));
	}
	if (gex_TM_QueryRank(world) == 0) {
		early(what, bytes);
	}
	CHECK(gex_Segment_Attach(NULL, world, GASNET_PAGESIZE) == GASNET_ERR_BAD_ARG);
	CHECK(gex_Segment_Attach(&segment, GEX_TM_INVALID, GASNET_PAGESIZE) == GASNET_ERR_BAD_ARG);
	CHECK(gex_Segment_Attach(&segment, world, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gex_Segment_Attach(&segment, world, gasnet_getMaxLocalSegmentSize() + GASNET_PAGESIZE) == GASNET_ERR_BAD_ARG);
	OK(gex_Segment_Attach(&segment, world, GASNET_PAGESIZE));
	gex_AD_t ad;
	gex_AD_Create(&ad, world, GEX_DT_U64, GEX_OP_FADD, 0);
	void *to;
	uintptr_t size;
	OK(gex_Segment_QueryBound(world, 1, &to, NULL, &size));
	if (gex_TM_QueryRank(world) == 0) {
		late(what, to, size, ad);
	}
	gex_AD_Destroy(ad);
	printf("codes of rank %d are right\n", (int)gex_TM_QueryRank(world));
	return 0;
}
