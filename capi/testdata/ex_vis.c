// Vector, indexed and strided transfers of GASNet-EX's interface, in all forms, between all ranks.

#include "check.h"

#include <gasnetex.h>

enum { AREA = 32 << 10, SIDE = 24, ELEM = 8, ROW = SIDE * ELEM, MATRIX = SIDE * ROW, MANY = 40 };

static gex_TM_t world;
static gex_Rank_t me, ranks;
static unsigned char from[AREA], back[AREA];

static unsigned char *area(gex_Rank_t owner, gex_Rank_t writer) {
	void *addr;
	CHECK(gex_Segment_QueryBound(world, owner, &addr, NULL, NULL) == 0);
	return (unsigned char *)addr + (size_t)writer * AREA;
}

static void fill(unsigned seed) {
	for (size_t i = 0; i < AREA; i++) {
		from[i] = (unsigned char)(i * 29 + (i >> 8) + seed);
	}
	memset(back, 0, AREA);
}

// Waits for an operation: one of an event, or the implicit ones. Its source may be overwritten before.
static void finish(int nbi, gex_Event_t event, gex_EC_t category) {
	if (nbi) {
		if (category == GEX_EC_PUT) {
			gex_NBI_Wait(GEX_EC_LC, 0);
			gasnet_wait_syncnbi_puts(); // both interfaces have the same implicit operations
			CHECK(gex_NBI_Test(category, 0) == GASNET_OK);
		}
		gex_NBI_Wait(category, 0);
		return;
	}
	gex_Event_Wait(gex_Event_QueryLeaf(event, GEX_EC_LC));
	gex_Event_Wait(event);
}

// Elements of a matrix, transposed and with the rows backwards.
static void strided(gex_Rank_t peer, int form) {
	unsigned char *to = area(peer, me);
	const ptrdiff_t plain[2] = {ELEM, ROW}, turned[2] = {ROW, -ELEM};
	const size_t count[2] = {SIDE, SIDE};
	unsigned char *corner = to + (SIDE - 1) * ELEM;
	fill(me + (unsigned)form);
	if (form == 0) {
		gex_VIS_StridedPutBlocking(world, peer, corner, turned, from, plain, ELEM, count, 2, 0);
	} else if (form == 1) {
		finish(0, gex_VIS_StridedPutNB(world, peer, corner, turned, from, plain, ELEM, count, 2, GEX_FLAG_ENABLE_LEAF_LC), GEX_EC_PUT);
	} else {
		gex_VIS_StridedPutNBI(world, peer, corner, turned, from, plain, ELEM, count, 2, GEX_FLAG_ENABLE_LEAF_LC);
		finish(1, GEX_EVENT_INVALID, GEX_EC_PUT);
	}
	gex_RMA_GetBlocking(world, back, peer, to, MATRIX, 0);
	for (size_t i = 0; i < SIDE; i++) {
		for (size_t j = 0; j < SIDE; j++) {
			CHECK(memcmp(back + i * ROW + j * ELEM, from + (SIDE - 1 - j) * ROW + i * ELEM, ELEM) == 0);
		}
	}
	memset(back, 0, AREA);
	unsigned char *end = back + (SIDE - 1) * ELEM;
	if (form == 0) {
		gex_VIS_StridedGetBlocking(world, back, plain, peer, corner, turned, ELEM, count, 2, 0);
	} else if (form == 1) {
		finish(0, gex_VIS_StridedGetNB(world, back, plain, peer, corner, turned, ELEM, count, 2, 0), GEX_EC_GET);
	} else {
		gex_VIS_StridedGetNBI(world, back, plain, peer, corner, turned, ELEM, count, 2, 0);
		finish(1, GEX_EVENT_INVALID, GEX_EC_GET);
	}
	CHECK(memcmp(back, from, MATRIX) == 0);
	// Backwards on this side, and a plain copy.
	gex_VIS_StridedGetBlocking(world, end, turned, peer, to, plain, ELEM, count, 2, 0);
	gex_RMA_GetBlocking(world, from, peer, to, MATRIX, 0);
	for (size_t i = 0; i < SIDE; i++) {
		CHECK(memcmp(back + i * ROW + (SIDE - 1) * ELEM, from + i * ELEM, ELEM) == 0);
	}
	gex_VIS_StridedPutBlocking(world, peer, to, NULL, from, NULL, 100, NULL, 0, 0);
	// Nothing, of which nothing is looked at.
	const size_t none[2] = {3, 0};
	gex_VIS_StridedPutBlocking(world, 99, NULL, plain, NULL, plain, 8, none, 2, 0);
	CHECK(gex_VIS_StridedGetNB(GEX_TM_INVALID, NULL, NULL, 99, NULL, NULL, 0, NULL, 7, 0) == GEX_EVENT_INVALID);
}

static void lists(gex_Rank_t peer, int form) {
	unsigned char *to = area(peer, me);
	static gex_Memvec_t far[MANY], near[2 * MANY], home[1];
	static void *far_chunks[MANY], *near_chunks[2 * MANY], *whole[1];
	size_t total = 0;
	fill(7 * me + (unsigned)form);
	for (size_t i = 0; i < MANY; i++) {
		far[i].gex_addr = to + i * 600;
		far[i].gex_len = i == 3 ? 0 : 10 * i;
		near[2 * i].gex_addr = from + total;
		near[2 * i].gex_len = far[i].gex_len / 3;
		near[2 * i + 1].gex_addr = from + total + near[2 * i].gex_len;
		near[2 * i + 1].gex_len = far[i].gex_len - near[2 * i].gex_len;
		total += far[i].gex_len;
	}
	home[0].gex_addr = back;
	home[0].gex_len = total;
	if (form == 0) {
		gex_VIS_VectorPutBlocking(world, peer, MANY, far, 2 * MANY, near, 0);
		gex_VIS_VectorGetBlocking(world, 1, home, peer, MANY, far, 0);
	} else if (form == 1) {
		finish(0, gex_VIS_VectorPutNB(world, peer, MANY, far, 2 * MANY, near, GEX_FLAG_ENABLE_LEAF_LC), GEX_EC_PUT);
		finish(0, gex_VIS_VectorGetNB(world, 1, home, peer, MANY, far, 0), GEX_EC_GET);
	} else {
		gex_VIS_VectorPutNBI(world, peer, MANY, far, 2 * MANY, near, GEX_FLAG_ENABLE_LEAF_LC);
		finish(1, GEX_EVENT_INVALID, GEX_EC_PUT);
		gex_VIS_VectorGetNBI(world, 1, home, peer, MANY, far, 0);
		finish(1, GEX_EVENT_INVALID, GEX_EC_GET);
	}
	CHECK(memcmp(back, from, total) == 0);

	fill(9 * me + (unsigned)form);
	for (size_t i = 0; i < MANY; i++) {
		far_chunks[i] = to + (MANY - 1 - i) * 300;
		near_chunks[2 * i] = from + 200 * i;
		near_chunks[2 * i + 1] = from + 200 * i + 100;
	}
	whole[0] = back;
	if (form == 0) {
		gex_VIS_IndexedPutBlocking(world, peer, MANY, far_chunks, 200, 2 * MANY, near_chunks, 100, 0);
		gex_VIS_IndexedGetBlocking(world, 1, whole, MANY * 200, peer, MANY, far_chunks, 200, 0);
	} else if (form == 1) {
		finish(0, gex_VIS_IndexedPutNB(world, peer, MANY, far_chunks, 200, 2 * MANY, near_chunks, 100, GEX_FLAG_ENABLE_LEAF_LC), GEX_EC_PUT);
		finish(0, gex_VIS_IndexedGetNB(world, 1, whole, MANY * 200, peer, MANY, far_chunks, 200, 0), GEX_EC_GET);
	} else {
		gex_VIS_IndexedPutNBI(world, peer, MANY, far_chunks, 200, 2 * MANY, near_chunks, 100, GEX_FLAG_ENABLE_LEAF_LC);
		finish(1, GEX_EVENT_INVALID, GEX_EC_PUT);
		gex_VIS_IndexedGetNBI(world, 1, whole, MANY * 200, peer, MANY, far_chunks, 200, 0);
		finish(1, GEX_EVENT_INVALID, GEX_EC_GET);
	}
	CHECK(memcmp(back, from, MANY * 200) == 0);
}

int main(int argc, char **argv) {
	gex_Client_t client;
	gex_EP_t ep;
	gex_Segment_t segment;
	OK(gex_Client_Init(&client, &ep, &world, "vis", &argc, &argv, 0));
	OK(gex_Segment_Attach(&segment, world, 4 * AREA));
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	for (gex_Rank_t i = 0; i < ranks; i++) {
		for (int form = 0; form < 3; form++) {
			strided((me + i) % ranks, form);
			lists((me + i) % ranks, form);
		}
	}
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	printf("transfers of rank %d of %d are right\n", (int)me, (int)ranks);
	return 0;
}
