// Puts and gets of GASNet-EX's interface in all forms, between all ranks, with every kind of local completion.

#include "check.h"

#include <gasnetex.h>

enum { AREA = 64 << 10, MANY = 100 }; // bytes of each writer in every segment

static gex_TM_t world;
static gex_Rank_t me, ranks;

// Where in owner's segment writer may write.
static unsigned char *area(gex_Rank_t owner, gex_Rank_t writer) {
	void *addr;
	CHECK(gex_Segment_QueryBound(world, owner, &addr, NULL, NULL) == 0);
	return (unsigned char *)addr + (size_t)writer * AREA;
}

static unsigned char from[AREA], back[AREA];

static void fill(size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		from[i] = (unsigned char)(i * 13 + seed);
	}
}

// Gets what a peer has, and sees whether it was filled so.
static int there(gex_Rank_t peer, size_t n, unsigned seed) {
	memset(back, 0xEE, sizeof back);
	CHECK(gex_RMA_GetBlocking(world, back, peer, area(peer, me), n, 0) == 0);
	for (size_t i = 0; i < n; i++) {
		if (back[i] != (unsigned char)(i * 13 + seed)) {
			return 0;
		}
	}
	return 1;
}

static void transfers(gex_Rank_t peer, size_t n, unsigned seed) {
	unsigned char *to = area(peer, me);
	fill(n, seed);
	CHECK(gex_RMA_PutBlocking(world, peer, to, from, n, GEX_FLAG_IMMEDIATE) == 0);
	CHECK(there(peer, n, seed));

	fill(n, seed + 1);
	gex_Event_t root = gex_RMA_PutNB(world, peer, to, from, n, GEX_EVENT_NOW, 0);
	memset(from, 0, n); // it may be
	gex_Event_Wait(root);
	CHECK(there(peer, n, seed + 1));

	fill(n, seed + 2);
	root = gex_RMA_PutNB(world, peer, to, from, n, GEX_EVENT_DEFER, 0);
	while (gex_Event_Test(root) != GASNET_OK) {
		gasnet_AMPoll(); // a test does not
	}
	CHECK(there(peer, n, seed + 2));

	gex_Event_t leaf = GEX_EVENT_NO_OP;
	fill(n, seed + 3);
	root = gex_RMA_PutNB(world, peer, to, from, n, &leaf, 0);
	CHECK(leaf != GEX_EVENT_NO_OP);
	gex_Event_t again = gex_Event_QueryLeaf(root, GEX_EC_LC);
	CHECK(again == leaf || again == GEX_EVENT_INVALID);
	gex_Event_Wait(leaf);
	memset(from, 0, n);
	gex_Event_Wait(root);
	CHECK(there(peer, n, seed + 3));

	gex_Event_t *const lc[] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP};
	for (unsigned i = 0; i < 3; i++) {
		fill(n, seed + 4 + i);
		CHECK(gex_RMA_PutNBI(world, peer, to, from, n, lc[i], 0) == 0);
		if (lc[i] == GEX_EVENT_GROUP) {
			gex_NBI_Wait(GEX_EC_LC, 0);
		}
		if (lc[i] != GEX_EVENT_DEFER) {
			memset(from, 0, n);
		}
		while (gex_NBI_Test(GEX_EC_PUT | GEX_EC_AM, 0) != GASNET_OK) {
			gasnet_AMPoll();
		}
		CHECK(there(peer, n, seed + 4 + i));
	}

	// Both interfaces have the same implicit operations.
	fill(n, seed + 6);
	CHECK(gex_RMA_PutNBI(world, peer, to, from, n, GEX_EVENT_DEFER, 0) == 0);
	gasnet_wait_syncnbi_puts();
	CHECK(gex_NBI_Test(GEX_EC_PUT, 0) == GASNET_OK);
	gex_NBI_BeginAccessRegion(0);
	gasnet_put_nbi_bulk(gex_TM_TranslateRankToJobrank(world, peer), to, from, n);
	gex_Event_Wait(gex_NBI_EndAccessRegion(0));
	gasnet_wait_syncnbi_all();

	memset(back, 0, n);
	gex_Event_t events[3] = {GEX_EVENT_INVALID, gex_RMA_GetNB(world, back, peer, to, n, 0), GEX_EVENT_INVALID};
	gex_Event_WaitSome(events, 3, 0);
	CHECK(events[1] == GEX_EVENT_INVALID && (n == 0 || back[0] == (unsigned char)(seed + 6)));
	CHECK(gex_Event_TestSome(events, 3, 0) == GASNET_OK && gex_Event_TestAll(events, 3, 0) == GASNET_OK && gex_Event_TestAll(NULL, 0, 0) == GASNET_OK);
	memset(back, 0, n);
	CHECK(gex_RMA_GetNBI(world, back, peer, to, n, 0) == 0);
	gex_NBI_Wait(GEX_EC_GET, 0);
	CHECK(n == 0 || back[n - 1] == (unsigned char)((n - 1) * 13 + seed + 6));
}

static void values(gex_Rank_t peer) {
	unsigned char *to = area(peer, me);
	for (size_t n = 1; n <= 8; n++) {
		uint64_t mask = n == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * n) - 1, value = 0x8877665544332211u + n;
		CHECK(gex_RMA_PutBlockingVal(world, peer, to, value, n, 0) == 0);
		CHECK(gex_RMA_GetBlockingVal(world, peer, to, n, 0) == (value & mask));
		gex_Event_Wait(gex_RMA_PutNBVal(world, peer, to, ~value, n, 0));
		CHECK(gex_RMA_GetBlockingVal(world, peer, to, n, 0) == (~value & mask));
		CHECK(gex_RMA_PutNBIVal(world, peer, to, value, n, 0) == 0);
		gex_NBI_Wait(GEX_EC_ALL, 0);
		CHECK(gex_RMA_GetBlockingVal(world, peer, to, n, 0) == (value & mask));
	}
}

// Many operations at once, explicit ones, and implicit ones in a region and outside of one.
static void many(void) {
	static uint64_t word[MANY], copy[MANY];
	static gex_Event_t events[MANY];
	for (int i = 0; i < MANY; i++) {
		word[i] = (uint64_t)me * MANY + (uint64_t)i;
		events[i] = gex_RMA_PutNB(world, (gex_Rank_t)i % ranks, area((gex_Rank_t)i % ranks, me) + 8 * i, &word[i], 8, GEX_EVENT_DEFER, 0);
	}
	gex_Event_WaitAll(events, MANY, 0);
	gex_NBI_BeginAccessRegion(0);
	for (int i = 0; i < MANY; i++) {
		gex_RMA_GetNBI(world, &copy[i], (gex_Rank_t)i % ranks, area((gex_Rank_t)i % ranks, me) + 8 * i, 8, 0);
	}
	gex_Event_t region = gex_NBI_EndAccessRegion(0);
	gex_NBI_Wait(GEX_EC_ALL, 0); // of others
	gex_Event_Wait(region);
	CHECK(memcmp(word, copy, sizeof word) == 0);
	gex_NBI_BeginAccessRegion(0);
	CHECK(gex_NBI_EndAccessRegion(0) == GEX_EVENT_INVALID);
}

// A handler that gasnet_attach has registered may ask what those of GASNet-EX may, but for its entry.
static int asked;
static void on_ask(gex_Token_t t, int from) {
	gex_Token_Info_t info;
	CHECK(gex_Token_Info(t, &info, GEX_TI_ALL) == (GEX_TI_ALL & ~GEX_TI_ENTRY) && info.gex_srcrank == (gex_Rank_t)from && info.gex_is_req && !info.gex_is_long);
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(t, NULL, 4, 4, NULL, 0, 0);
	memcpy(gex_AM_SrcDescAddr(sd), &from, 4);
	gex_AM_CommitReplyMedium0(sd, 201, 4);
}

static void on_told(gex_Token_t t, void *buf, size_t nbytes) {
	(void)t;
	CHECK(nbytes == 4 && memcmp(buf, &me, 4) == 0);
	asked++;
}

int main(int argc, char **argv) {
	gex_Client_t client;
	gex_EP_t ep;
	gex_Segment_t segment;
	static const size_t sizes[] = {0, 1, 7, 8, 64, 1000, 4096, 5000, AREA};
	if (argc > 1) { // the interface of GASNet-1 has started the job
		OK(gasnet_init(&argc, &argv));
		gasnet_handlerentry_t table[] = {{200, (gex_AM_Fn_t)on_ask}, {201, (gex_AM_Fn_t)on_told}};
		OK(gasnet_attach(table, 2, 4 * AREA, 0));
		gasnet_QueryGexObjects(&client, NULL, NULL, NULL);
		gasnet_QueryGexObjects(NULL, &ep, &world, &segment);
		CHECK(gex_EP_QuerySegment(ep) == segment && gex_Client_QueryFlags(client) == GEX_FLAG_USES_GASNET1);
	} else {
		OK(gex_Client_Init(&client, &ep, &world, "transfers", NULL, NULL, 0));
		OK(gex_Segment_Attach(&segment, world, gasnet_getMaxLocalSegmentSize() < 4 * AREA ? gasnet_getMaxLocalSegmentSize() : 4 * AREA));
	}
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	for (gex_Rank_t i = 0; i < ranks; i++) {
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			transfers((me + i) % ranks, sizes[s], 17 * me + (unsigned)s);
		}
		values((me + i) % ranks);
	}
	many();
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	for (gex_Rank_t i = 0; argc > 1 && i < ranks; i++) {
		gex_AM_RequestShort1(world, i, 200, 0, me);
		GASNET_BLOCKUNTIL(asked > (int)i);
	}
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	printf("transfers of rank %d of %d are right\n", (int)me, (int)ranks);
	return 0;
}
