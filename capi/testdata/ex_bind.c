// Segments that the program makes of its own memory, or has the library make, and binds to its endpoint.

#include "check.h"

#include <gasnetex.h>

enum { PING = 150, PONG, TOLD, CELLS = 64, SPARE = 40 };

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t world;
static gex_Rank_t me, ranks;
static volatile int pongs, told;

// A segment's cells.
enum { ZERO, PUT, ASKED, ANSWERED, COUNTER, FIRST_OF_ROW, ROW = 8 };

static void on_ping(gex_Token_t t, void *buf, size_t n, gex_AM_Arg_t high, gex_AM_Arg_t low) {
	gex_Token_Info_t info;
	gex_Token_Info(t, &info, GEX_TI_SRCRANK);
	CHECK(n == sizeof(uint64_t) && *(uint64_t *)buf == info.gex_srcrank + 7u);
	uint64_t answer = me + 9u;
	gex_AM_ReplyLong0(t, PONG, &answer, sizeof answer, (void *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low), GEX_EVENT_NOW, 0);
}

static void on_pong(gex_Token_t t, void *buf, size_t n) {
	(void)t;
	CHECK(n == sizeof(uint64_t) && buf != NULL);
	pongs++;
}

static uint64_t *row; // of this rank, which its left neighbour writes

static void on_told(gex_Token_t t, void *buf, size_t n) {
	(void)t;
	CHECK(n == 4 && memcmp(buf, "done", 4) == 0);
	for (uint64_t i = 0; i < ROW; i++) {
		CHECK(row[2 * i] == i * i); // all of it has come
	}
	told++;
}

int main(int argc, char **argv) {
	OK(gex_Client_Init(&client, &ep, &world, "ex_bind", &argc, &argv, 0));
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	gex_AM_Entry_t table[] = {
		{PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 2, NULL, NULL},
		{PONG, (gex_AM_Fn_t)on_pong, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 0, NULL, NULL},
		{TOLD, (gex_AM_Fn_t)on_told, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, NULL},
	};
	OK(gex_EP_RegisterHandlers(ep, table, 3));

	// Memory of the library's on one rank, and of the program's on the others, with something in it and around it.
	gex_Segment_t segment, other;
	unsigned char *block = NULL, *before = NULL;
	size_t size = 2 * GASNET_PAGESIZE + CELLS * sizeof(uint64_t), around = size + 2 * SPARE;
	int automatic;
	CHECK(gex_Segment_Create(&other, client, &automatic, sizeof automatic, GEX_MK_HOST, 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_Segment_Create(&other, client, table, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG);
	OK(gex_Segment_Create(&other, client, NULL, 100, GEX_MK_HOST, 0));
	CHECK(gex_Segment_QuerySize(other) == 100 && gex_Segment_QueryAddr(other) != NULL);
	if (me == 1) {
		OK(gex_Segment_Create(&segment, client, NULL, size, GEX_MK_HOST, 0));
	} else {
		block = malloc(around);
		before = malloc(around);
		for (size_t i = 0; i < around; i++) {
			block[i] = before[i] = (unsigned char)(i * 3 + me);
		}
		OK(gex_Segment_Create(&segment, client, block + SPARE, size, GEX_MK_HOST, 0));
		CHECK(gex_Segment_QueryAddr(segment) == block + SPARE);
	}
	uint64_t *cells = gex_Segment_QueryAddr(segment);
	CHECK(gex_Segment_QuerySize(segment) == size && gex_Segment_QueryClient(segment) == client);

	void *addr, *here;
	uintptr_t length;
	CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID && gex_Segment_QueryBound(world, me, &addr, NULL, NULL) != 0);
	OK(gex_EP_PublishBoundSegment(world, &ep, 1, 0)); // nothing
	OK(gex_EP_BindSegment(ep, segment, 0));
	gex_Segment_Destroy(other, 0);
	CHECK(gex_EP_QuerySegment(ep) == segment);
	CHECK(gex_Segment_QueryBound(world, me, &addr, NULL, &length) == 0 && addr == cells && length == size);
	gex_TM_t turned;
	gex_TM_Split(&turned, world, 0, (int)(ranks - me), NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	OK(gex_EP_PublishBoundSegment(turned, &ep, me % 2, 0));
	OK(gex_EP_PublishBoundSegment(turned, &ep, (me + 1) % 2, 0));
	OK(gex_EP_PublishBoundSegment(world, &ep, 1, 0));
	CHECK(gex_Segment_QueryBound(world, me, &addr, &here, &length) == 0 && addr == cells && here == cells && length == size);
	CHECK(block == NULL || memcmp(block, before, around) == 0);
	memset(cells, 0, size);
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));

	gex_Rank_t peer = (me + 1) % ranks;
	CHECK(gex_Segment_QueryBound(world, peer, &addr, &here, &length) == 0 && length == size);
	uint64_t *theirs = addr, value = me + 5, got = 1;
	CHECK(gex_RMA_PutBlocking(world, peer, theirs + PUT, &value, sizeof value, 0) == 0);
	gex_Event_Wait(gex_RMA_GetNB(world, &got, peer, theirs + ZERO, sizeof got, 0));
	CHECK(got == 0);
	if (here != NULL) {
		CHECK(((uint64_t *)here)[PUT] == value);
	}
	value = me + 7;
	uintptr_t to = (uintptr_t)(cells + ANSWERED);
	gex_AM_RequestLong2(world, peer, PING, &value, sizeof value, theirs + ASKED, GEX_EVENT_NOW, 0, (gex_AM_Arg_t)(to >> 32), (gex_AM_Arg_t)to);
	GASNET_BLOCKUNTIL(pongs == 1);
	CHECK(cells[ANSWERED] == peer + 9u);

	gex_AD_t ad;
	gex_AD_Create(&ad, world, GEX_DT_U64, GEX_OP_FADD | GEX_OP_ADD, 0);
	for (gex_Rank_t i = 0; i < ranks; i++) {
		void *base;
		CHECK(gex_Segment_QueryBound(world, i, &base, NULL, NULL) == 0);
		gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, i, (uint64_t *)base + COUNTER, GEX_OP_ADD, me + 1, 0, 0));
	}

	row = cells + FIRST_OF_ROW;
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	uint64_t squares[ROW];
	for (uint64_t i = 0; i < ROW; i++) {
		squares[i] = i * i;
	}
	const ptrdiff_t apart[] = {2 * sizeof(uint64_t)}, together[] = {sizeof(uint64_t)};
	const size_t count[] = {ROW};
	gex_VIS_SetPeerCompletionHandler(TOLD, "done", 4, 0);
	gex_Event_Wait(gex_VIS_StridedPutNB(world, peer, theirs + FIRST_OF_ROW, apart, squares, together, sizeof(uint64_t), count, 1, 0));
	gex_VIS_StridedPutBlocking(world, peer, theirs + FIRST_OF_ROW, apart, squares, together, sizeof(uint64_t), count, 1, 0); // which tells nobody
	GASNET_BLOCKUNTIL(told == 1);
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	CHECK(told == 1 && cells[PUT] == (me + ranks - 1) % ranks + 5u && cells[ASKED] == (me + ranks - 1) % ranks + 7u);
	CHECK(cells[COUNTER] == (uint64_t)ranks * (ranks + 1) / 2);
	CHECK(block == NULL || (memcmp(block, before, SPARE) == 0 && memcmp(block + SPARE + size, before + SPARE + size, SPARE) == 0));
	gex_AD_Destroy(ad);
	CHECK(gex_Segment_Attach(&other, world, GASNET_PAGESIZE) == GASNET_ERR_NOT_INIT);
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	printf("segments of rank %d are right\n", (int)me);
	gasnet_exit(0);
}
