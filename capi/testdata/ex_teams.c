// Teams of GASNet-EX's interface, and what is done in them: collective calls, atomics, and transfers that name ranks of a team.

#include "check.h"

#include <gasnetex.h>

enum { ELEMENTS = 300, ROUNDS = 50, TEAMS = 200 };

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t world;
static gex_Rank_t me, ranks;

static void barrier(gex_TM_t tm) { gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)); }

static void *address(gex_TM_t tm, gex_Rank_t rank, size_t off) {
	void *addr;
	CHECK(gex_Segment_QueryBound(tm, rank, &addr, NULL, NULL) == 0);
	return (char *)addr + off;
}

// A function of the program's that does not commute: affine maps x -> a x + b, composed so that the first is done first.
typedef struct {
	uint32_t a, b;
} map_t;

static void compose(const void *arg1, void *arg2_and_out, size_t count, const void *cdata) {
	const map_t *first = arg1;
	map_t *second = arg2_and_out;
	CHECK(*(const int *)cdata == 42);
	for (size_t i = 0; i < count; i++) {
		second[i].b += second[i].a * first[i].b;
		second[i].a *= first[i].a;
	}
}

static void add_large(const void *arg1, void *arg2_and_out, size_t count, const void *cdata) {
	const unsigned char *x = arg1;
	unsigned char *y = arg2_and_out;
	size_t size = *(const size_t *)cdata;
	for (size_t i = 0; i < count * size; i++) {
		y[i] = (unsigned char)(y[i] + x[i]);
	}
}

static void collectives(gex_TM_t tm) {
	gex_Rank_t self = gex_TM_QueryRank(tm), n = gex_TM_QuerySize(tm);
	static int64_t src[ELEMENTS], dst[ELEMENTS];
	for (gex_Rank_t root = 0; root < n; root++) {
		for (int i = 0; i < ELEMENTS; i++) {
			src[i] = root * 1000 + i;
			dst[i] = self == root ? src[i] : -1;
		}
		gex_Event_Wait(gex_Coll_BroadcastNB(tm, root, dst, self == root ? (root % 2 ? dst : src) : NULL, sizeof dst, 0));
		CHECK(memcmp(src, dst, sizeof dst) == 0);
		for (int i = 0; i < ELEMENTS; i++) {
			src[i] = (int64_t)self + i;
			dst[i] = -7;
		}
		gex_Event_Wait(gex_Coll_ReduceToOneNB(tm, root, self == root ? dst : NULL, src, GEX_DT_I64, 8, ELEMENTS, GEX_OP_ADD, NULL, NULL, 0));
		for (int i = 0; i < ELEMENTS; i++) {
			CHECK(dst[i] == (self == root ? (int64_t)n * (n - 1) / 2 + (int64_t)n * i : -7));
		}
	}
	double x = self + 1, most = 0;
	uint32_t bits = (uint32_t)1 << self, all = 0;
	gex_Event_t events[3] = {
		gex_Coll_ReduceToAllNB(tm, &most, &x, GEX_DT_DBL, sizeof x, 1, GEX_OP_MAX, NULL, NULL, 0),
		gex_Coll_BarrierNB(tm, 0),
		gex_Coll_ReduceToAllNB(tm, &all, &bits, GEX_DT_U32, sizeof bits, 1, GEX_OP_OR, NULL, NULL, 0),
	};
	gex_Event_WaitAll(events, 3, 0);
	CHECK(most == n && all == ((uint32_t)1 << n) - 1);
	gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, &bits, &bits, GEX_DT_U32, sizeof bits, 1, GEX_OP_XOR, NULL, NULL, 0));
	CHECK(bits == all);

	int answer = 42;
	static map_t mine[ELEMENTS], composed[ELEMENTS];
	for (int i = 0; i < ELEMENTS; i++) {
		mine[i].a = self + 2;
		mine[i].b = (uint32_t)i + self;
	}
	gex_Event_Wait(gex_Coll_ReduceToAllNB(tm, composed, mine, GEX_DT_USER, sizeof *mine, ELEMENTS, GEX_OP_USER_NC, compose, &answer, 0));
	for (int i = 0; i < ELEMENTS; i++) {
		uint32_t a = 1, b = 0;
		for (gex_Rank_t r = 0; r < n; r++) {
			b = b * (r + 2) + (uint32_t)i + r;
			a *= r + 2;
		}
		CHECK(composed[i].a == a && composed[i].b == b);
	}
	size_t large = 32 << 10;
	unsigned char *block = malloc(large);
	memset(block, 1, large);
	gex_Event_Wait(gex_Coll_ReduceToOneNB(tm, n - 1, block, block, GEX_DT_USER, large, 1, GEX_OP_USER, add_large, &large, 0));
	if (self == n - 1) {
		CHECK(block[0] == n && block[large - 1] == n);
	}
	free(block);
}

// Atomics on counters in the segment of each member.
static void atomics(gex_TM_t tm, gex_Flags_t jobranks) {
	gex_Rank_t n = gex_TM_QuerySize(tm);
	uint64_t *own = address(tm, gex_TM_QueryRank(tm), 0);
	own[0] = own[1] = own[2] = 0;
	gex_AD_t u64, i32, dbl;
	gex_AD_Create(&u64, tm, GEX_DT_U64, GEX_OP_FADD | GEX_OP_ADD | GEX_OP_GET | GEX_OP_FCAS | GEX_OP_SET, GEX_FLAG_AD_FAVOR_REMOTE);
	gex_AD_Create(&i32, tm, GEX_DT_I32, GEX_OP_TO_FETCHING(GEX_OP_SUB) | GEX_OP_INC | GEX_OP_SWAP, 0);
	gex_AD_Create(&dbl, tm, GEX_DT_DBL, GEX_OP_ADD | GEX_OP_GET, 0);
	CHECK(gex_AD_QueryTM(u64) == tm && gex_AD_QueryDT(i32) == GEX_DT_I32 && gex_AD_QueryOps(dbl) == (GEX_OP_ADD | GEX_OP_GET));
	CHECK(gex_AD_QueryFlags(u64) == GEX_FLAG_AD_FAVOR_REMOTE && gex_AD_QueryClient(u64) == client && gex_AD_QueryCData(u64) == NULL);
	gex_AD_SetCData(u64, &u64);
	CHECK(gex_AD_QueryCData(u64) == &u64);
	barrier(tm);
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t name = jobranks ? gex_TM_TranslateRankToJobrank(tm, r) : r;
		uint64_t last = 0;
		for (int i = 0; i < ROUNDS; i++) {
			uint64_t was = ~(uint64_t)0;
			gex_Event_Wait(gex_AD_OpNB_U64(u64, &was, name, address(tm, r, 0), GEX_OP_FADD, 1, 0, jobranks | GEX_FLAG_AD_REL));
			CHECK(i == 0 || was > last);
			last = was;
			CHECK(gex_AD_OpNBI_DBL(dbl, NULL, name, address(tm, r, 8), GEX_OP_ADD, 0.5, 0, jobranks) == 0);
			gex_AD_OpNBI_I32(i32, NULL, name, address(tm, r, 16), GEX_OP_INC, 0, 0, jobranks);
		}
	}
	gex_NBI_Wait(GEX_EC_RMW, 0);
	barrier(tm);
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t name = jobranks ? gex_TM_TranslateRankToJobrank(tm, r) : r;
		uint64_t count = 0;
		double sum = 0;
		gex_AD_OpNBI_U64(u64, &count, name, address(tm, r, 0), GEX_OP_GET, 0, 0, jobranks);
		gex_AD_OpNBI_DBL(dbl, &sum, name, address(tm, r, 8), GEX_OP_GET, 0, 0, jobranks);
		gex_NBI_Wait(GEX_EC_GET, 0);
		CHECK(count == (uint64_t)n * ROUNDS && sum == n * ROUNDS * 0.5);
	}
	barrier(tm);
	if (gex_TM_QueryRank(tm) == 0) {
		gex_Rank_t name = jobranks ? gex_TM_TranslateRankToJobrank(tm, n - 1) : n - 1;
		int32_t was = 0;
		gex_Event_Wait(gex_AD_OpNB_I32(i32, &was, name, address(tm, n - 1, 16), GEX_OP_FSUB, -5, 0, jobranks | GEX_FLAG_AD_ACQ));
		CHECK(was == (int32_t)n * ROUNDS);
		gex_Event_Wait(gex_AD_OpNB_I32(i32, &was, name, address(tm, n - 1, 16), GEX_OP_SWAP, -1, 0, jobranks));
		CHECK(was == (int32_t)n * ROUNDS + 5);
		uint64_t old = 1;
		gex_Event_Wait(gex_AD_OpNB_U64(u64, &old, name, address(tm, n - 1, 0), GEX_OP_FCAS, 3, 4, jobranks));
		CHECK(old == (uint64_t)n * ROUNDS);
		gex_Event_Wait(gex_AD_OpNB_U64(u64, NULL, name, address(tm, n - 1, 0), GEX_OP_SET, 9, 0, jobranks));
		CHECK(gex_RMA_GetBlockingVal(tm, n - 1, address(tm, n - 1, 0), 8, 0) == 9 && gex_RMA_GetBlockingVal(tm, n - 1, address(tm, n - 1, 16), 4, 0) == 0xFFFFFFFF);
	}
	barrier(tm);
	gex_AD_Destroy(u64);
	gex_AD_Destroy(i32);
	gex_AD_Destroy(dbl);
}

static int came_from;
static void on_message(gex_Token_t t, int from) {
	gex_Token_Info_t info;
	CHECK(gex_Token_Info(t, &info, GEX_TI_SRCRANK) == GEX_TI_SRCRANK && info.gex_srcrank == (gex_Rank_t)from);
	came_from = from + 1;
}

// Ranks of a team in calls that name one peer.
static void peers(gex_TM_t tm) {
	gex_Rank_t self = gex_TM_QueryRank(tm), n = gex_TM_QuerySize(tm), next = (self + 1) % n, before = (self + n - 1) % n;
	uint64_t *own = address(tm, self, 64), word = 100 + self;
	came_from = 0;
	barrier(tm);
	CHECK(gex_RMA_PutBlocking(tm, next, address(tm, next, 64), &word, sizeof word, 0) == 0);
	gex_AM_RequestShort1(tm, next, 128, 0, me);
	GASNET_BLOCKUNTIL(came_from != 0);
	CHECK(*own == 100 + before && came_from - 1 == (int)gex_TM_TranslateRankToJobrank(tm, before));
	barrier(tm);
}

static void splits(void) {
	gex_TM_t tm = GEX_TM_INVALID, none = world;
	int color = (int)(me % 2);
	CHECK(gex_TM_Split(&tm, world, color, -(int)me, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) > 0);
	CHECK(gex_TM_Split(NULL, world, color, -(int)me, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_MIN) == 0 && tm == GEX_TM_INVALID);
	static char scratch[64];
	gex_TM_Split(&tm, world, color, -(int)me, scratch, sizeof scratch, 0); // in reverse order
	gex_Rank_t n = gex_TM_QuerySize(tm);
	CHECK(n == (ranks + 1 - (gex_Rank_t)color) / 2 && gex_TM_QueryEP(tm) == ep && gex_TM_QueryFlags(tm) == 0 && gex_TM_QueryCData(tm) == NULL);
	for (gex_Rank_t r = 0; r < n; r++) {
		gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(tm, r);
		CHECK(jobrank == (n - 1 - r) * 2 + (gex_Rank_t)color && gex_TM_TranslateJobrankToRank(tm, jobrank) == r);
		CHECK(gex_TM_TranslateRankToEP(tm, r, 0).gex_rank == jobrank && gex_TM_TranslateRankToEP(tm, r, 0).gex_ep_index == 0);
	}
	CHECK(ranks == 1 || gex_TM_TranslateJobrankToRank(tm, 1 - (gex_Rank_t)color) == GEX_RANK_INVALID);
	collectives(tm);
	peers(tm);
	atomics(tm, 0);
	atomics(tm, GEX_FLAG_RANK_IS_JOBRANK);
	gex_Memvec_t given;
	CHECK(gex_TM_Destroy(tm, &given, 0) == 1 && given.gex_addr == scratch && given.gex_len == sizeof scratch);

	// Rank 0 takes part, and joins none.
	gex_TM_Split(me == 0 ? NULL : &none, world, 5, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
	if (me == 0) {
		CHECK(none == world);
	} else {
		CHECK(gex_TM_QuerySize(none) == ranks - 1 && gex_TM_QueryRank(none) == me - 1);
		peers(none);
		CHECK(gex_TM_Destroy(none, &given, GEX_FLAG_GLOBALLY_QUIESCED) == 0);
	}
	// A list of members, the last rank first.
	gex_EP_Location_t members[64];
	for (gex_Rank_t r = 0; r < ranks; r++) {
		members[r].gex_rank = ranks - 1 - r;
		members[r].gex_ep_index = 0;
	}
	CHECK(gex_TM_Create(&tm, 1, world, members, ranks, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED | GEX_FLAG_TM_LOCAL_SCRATCH) > 0);
	gex_TM_Create(&tm, 1, world, members, ranks, NULL, 0, GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK);
	CHECK(gex_TM_QueryRank(tm) == ranks - 1 - me);
	peers(tm);
	collectives(tm);
	gex_TM_t first;
	gex_TM_Create(&first, me == ranks - 1, tm, members + ranks - 1, me == ranks - 1, NULL, 0, GEX_FLAG_TM_NO_SCRATCH); // rank 0 of tm alone
	if (me == ranks - 1) {
		CHECK(gex_TM_QuerySize(first) == 1);
		gex_TM_Destroy(first, NULL, 0);
	}
	gex_TM_Destroy(tm, NULL, 0);
	for (int i = 0; i < TEAMS; i++) {
		gex_TM_Split(&tm, world, (int)(me + (unsigned)i) % 2, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
		gex_TM_Destroy(tm, NULL, 0);
	}
}

int main(int argc, char **argv) {
	gex_Segment_t segment;
	OK(gex_Client_Init(&client, &ep, &world, "teams", &argc, &argv, 0));
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	gex_AM_Entry_t table[] = {{128, (gex_AM_Fn_t)on_message, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "message"}};
	OK(gex_EP_RegisterHandlers(ep, table, 1));
	collectives(world); // before there are segments
	OK(gex_Segment_Attach(&segment, world, 16 * GASNET_PAGESIZE));
	collectives(world);
	atomics(world, 0);
	peers(world);
	splits();
	barrier(world);
	printf("teams of rank %d of %d are right\n", (int)me, (int)ranks);
	gasnet_exit(0);
}
