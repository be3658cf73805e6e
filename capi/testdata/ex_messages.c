// Messages of GASNet-EX's interface: before there are segments, with every number of arguments, in every category, with payloads that
// are negotiated and without, and what a handler may ask of its own. The argument, if there is one, says whether the library is to send
// and take them without crossing into Go: "fast" or "slow".

#include "check.h"

#include <gasnet_mk.h>
#include <gasnetex.h>
#include <gasnet_tools.h>

extern uint64_t gasneti_fast_messages(void);

enum { PAYLOAD = 72, PLAIN = 128, SHORT_DONE = 255, MANY = 200, BARRIERS = 10 };

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t world;
static gex_Rank_t me, ranks;
static int replies, cdata, entered;
static gex_AM_Index_t h_short, h_medium, h_long, h_answer, h_medium_answer, h_long_answer;
static gex_AM_Entry_t table[8];

static void fill(unsigned char *p, size_t n, int seed) {
	for (size_t i = 0; i < n; i++) {
		p[i] = (unsigned char)(seed + (int)i * 7);
	}
}

static int filled(const unsigned char *p, size_t n, int seed) {
	for (size_t i = 0; i < n; i++) {
		if (p[i] != (unsigned char)(seed + (int)i * 7)) {
			return 0;
		}
	}
	return 1;
}

// Where a rank's Longs go in the segment of another.
static unsigned char *slot(gex_Rank_t owner, gex_Rank_t from) {
	void *addr;
	uintptr_t size;
	CHECK(gex_Segment_QueryBound(world, owner, &addr, NULL, &size) == 0 && size >= (from + 1) * 256);
	return (unsigned char *)addr + from * 256;
}

static gex_Rank_t source(gex_Token_t t, const gex_AM_Entry_t *entry, int request, int is_long) {
	gex_Token_Info_t info;
	CHECK(gex_Token_Info(t, &info, GEX_TI_ALL) == GEX_TI_ALL);
	CHECK(info.gex_ep == ep && info.gex_is_req == request && info.gex_is_long == is_long && gex_EP_QueryCData(info.gex_ep) == &cdata);
	CHECK(info.gex_entry->gex_index == entry->gex_index && info.gex_entry->gex_name == entry->gex_name && info.gex_entry->gex_nargs == entry->gex_nargs);
	CHECK(info.gex_entry->gex_cdata == entry->gex_cdata && info.gex_entry->gex_flags == entry->gex_flags);
	gex_Token_Info_t some;
	CHECK(gex_Token_Info(t, &some, GEX_TI_SRCRANK) == GEX_TI_SRCRANK && some.gex_srcrank == info.gex_srcrank);
	return info.gex_srcrank;
}

static void on_short(gex_Token_t t, int a, int b) {
	gex_Rank_t from = source(t, &table[0], 1, 0);
	CHECK(a == (int)from && b == 5);
	gex_AM_ReplyShort1(t, h_answer, 0, a + b);
}

static void on_medium(gex_Token_t t, void *buf, size_t nbytes, int seed) {
	gex_Rank_t from = source(t, &table[1], 1, 0);
	CHECK(gex_AM_CancelReplyMedium(gex_AM_PrepareReplyMedium(t, NULL, 8, 8, NULL, 0, 3), 0) == 0);
	CHECK(from < ranks && filled((unsigned char *)buf, nbytes, seed));
	CHECK(gex_Token_MaxReplyMedium(t, GEX_EVENT_NOW, 0, 1) >= 512);
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(t, seed % 2 ? buf : NULL, 0, nbytes, seed % 2 ? GEX_EVENT_NOW : NULL, 0, 1);
	CHECK(gex_AM_SrcDescSize(sd) == nbytes);
	if (seed % 2) {
		CHECK(gex_AM_SrcDescAddr(sd) == buf);
	} else if (nbytes > 0) {
		CHECK(((uintptr_t)gex_AM_SrcDescAddr(sd) & 7) == 0);
		memcpy(gex_AM_SrcDescAddr(sd), buf, nbytes);
	}
	gex_AM_CommitReplyMedium1(sd, h_medium_answer, nbytes, seed);
}

static void on_long(gex_Token_t t, void *buf, size_t nbytes, int seed) {
	gex_Rank_t from = source(t, &table[2], 1, 1);
	CHECK(buf == slot(me, from) && filled((unsigned char *)buf, nbytes, seed));
	unsigned char *to = slot(from, me) + 128;
	CHECK(gex_AM_CancelReplyLong(gex_AM_PrepareReplyLong(t, buf, 1, 8, to, GEX_EVENT_NOW, 0, 0), 0) == 0);
	if (seed % 2) {
		gex_AM_ReplyLong1(t, h_long_answer, buf, nbytes, to, GEX_EVENT_NOW, 0, seed);
		return;
	}
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyLong(t, NULL, nbytes, 2 * nbytes, seed % 4 ? to : NULL, NULL, 0, 1);
	CHECK(gex_AM_SrcDescSize(sd) >= nbytes && gex_AM_SrcDescSize(sd) <= 2 * nbytes);
	memcpy(gex_AM_SrcDescAddr(sd), buf, nbytes);
	gex_AM_CommitReplyLong(sd, h_long_answer, nbytes, to, seed);
}

static void on_answer(gex_Token_t t, int sum) {
	source(t, &table[3], 0, 0);
	CHECK(sum == (int)me + 5);
	replies++;
}

static void on_medium_answer(gex_Token_t t, void *buf, size_t nbytes, int seed) {
	source(t, &table[4], 0, 0);
	CHECK(filled((unsigned char *)buf, nbytes, seed));
	replies++;
}

static void on_long_answer(gex_Token_t t, void *buf, size_t nbytes, int seed) {
	gex_Rank_t from = source(t, &table[5], 0, 1);
	CHECK(buf == slot(me, from) + 128 && filled((unsigned char *)buf, nbytes, seed));
	replies++;
}

static void on_plain(gex_Token_t t) {
	(void)t;
	entered++;
}

static void on_sixteen(gex_Token_t t, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o, int p) {
	gex_Rank_t from = source(t, &table[7], 1, 0);
	CHECK(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9 && j == 10 && k == 11 && l == 12 && m == 13 && n == 14 && o == 15 && p == (int)from);
	gex_AM_ReplyShort(t, h_answer, 0, (int)from + 5);
}

static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

static void entry(int i, gex_AM_Fn_t fn, gex_Flags_t flags, unsigned nargs, const char *name, gex_AM_Index_t index) {
	table[i].gex_index = index;
	table[i].gex_fnptr = fn;
	table[i].gex_flags = flags;
	table[i].gex_nargs = nargs;
	table[i].gex_cdata = &table[i];
	table[i].gex_name = name;
}

static void queries(void) {
	gex_RankInfo_t *info;
	gex_Rank_t n, self, sets, set, host_sets, host_set;
	gex_System_QueryMyPosition(&sets, &set, &host_sets, &host_set);
	CHECK(set < sets && host_set < host_sets && host_sets <= sets && sets <= ranks);
	gex_System_QueryHostInfo(&info, &n, &self);
	CHECK(n == ranks && self == me && info[self].gex_jobrank == me);
	gex_System_QueryNbrhdInfo(&info, &n, &self);
	CHECK(n * sets == ranks && info[self].gex_jobrank == me);
	gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
	gex_System_SetVerboseErrors(0);
	CHECK(gex_System_GetVerboseErrors() == 0 && gex_System_QueryMaxThreads() >= 1 && gex_System_QueryHiddenAMConcurrencyLevel() == 0);
	unsigned threads = 7;
	const gex_ProgressThreadInfo_t *list;
	CHECK(gex_System_QueryProgressThreads(client, &threads, &list, 0) == GASNET_OK && threads == 0);
	CHECK(strcmp(gex_Client_QueryName(client), "messages") == 0 && gex_Client_QueryFlags(client) == GEX_FLAG_USES_GASNET1);
	CHECK(gex_EP_QueryClient(ep) == client && gex_EP_QueryIndex(ep) == 0 && gex_EP_QueryFlags(ep) == 0 && gex_TM_QueryClient(world) == client);
	CHECK(gex_TM_QueryEP(world) == ep && gex_TM_Pair(ep, 0) == world && gex_Client_QueryCData(client) == NULL);
	gex_EP_SetCData(ep, &cdata);
	gex_Client_SetCData(client, &replies);
	CHECK(gex_EP_QueryCData(ep) == &cdata && gex_Client_QueryCData(client) == &replies && gex_TM_QueryCData(world) == NULL);
	CHECK(gex_AM_MaxArgs() == 16 && gex_AM_LUBRequestMedium() >= 512 && gex_AM_LUBReplyMedium() >= 512 && gex_AM_LUBRequestLong() >= 512 && gex_AM_LUBReplyLong() >= 512);
	CHECK(gex_AM_MaxRequestMedium(world, GEX_RANK_INVALID, NULL, 0, 16) >= gex_AM_LUBRequestMedium());
	CHECK(gex_AM_MaxReplyLong(world, 0, GEX_EVENT_NOW, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 3) >= gex_AM_LUBReplyLong());
}

// Shorts and Mediums to a rank, which need no segment.
static void without_segments(gex_Rank_t to) {
	static unsigned char buf[PAYLOAD];
	int want = replies + 2;
	gex_AM_RequestShort2(world, to, h_short, 0, me, 5);
	gex_AM_RequestShort(world, to, table[7].gex_index, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, me);
	for (int i = 0; i < 4; i++, want++) {
		gex_Event_t local = GEX_EVENT_NO_OP;
		size_t n = i == 3 ? 0 : PAYLOAD;
		fill(buf, n, i);
		if (i == 1) {
			gex_AM_RequestMedium1(world, to, h_medium, buf, n, &local, 0, i);
			gex_Event_Wait(local);
		} else {
			gex_AM_RequestMedium(world, to, h_medium, n == 0 ? (void *)-1 : buf, n, i == 0 ? GEX_EVENT_NOW : GEX_EVENT_GROUP, 0, i);
		}
		gex_NBI_Wait(GEX_EC_AM, 0);
	}
	GASNET_BLOCKUNTIL(replies >= want);
	// Negotiated: of the library's memory, and of the program's.
	size_t most = 4 * gex_AM_LUBRequestMedium();
	gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, to, NULL, 512, most, NULL, 0, 1);
	CHECK(gex_AM_SrcDescSize(sd) >= 512 && gex_AM_SrcDescSize(sd) <= most && ((uintptr_t)gex_AM_SrcDescAddr(sd) & 7) == 0);
	fill(gex_AM_SrcDescAddr(sd), 512, 9);
	gex_AM_CommitRequestMedium1(sd, h_medium, 512, 9);
	static unsigned char own[512];
	gex_Event_t local;
	fill(own, sizeof own, 11);
	sd = gex_AM_PrepareRequestMedium(world, to, own, sizeof own, sizeof own, &local, 0, 1);
	CHECK(gex_AM_SrcDescAddr(sd) == own && gex_AM_SrcDescSize(sd) == sizeof own);
	gex_AM_CommitRequestMedium(sd, h_medium, sizeof own / 2, 11);
	gex_Event_Wait(local);
	sd = gex_AM_PrepareRequestMedium(world, to, own, 1, 2, GEX_EVENT_NOW, 0, 7);
	CHECK(gex_AM_CancelRequestMedium(sd, 0) == 0);
	sd = gex_AM_PrepareRequestMedium(world, to, NULL, 0, 0, NULL, 0, 1);
	CHECK(gex_AM_SrcDescSize(sd) == 0);
	gex_AM_CommitRequestMedium1(sd, h_medium, 0, 4);
	GASNET_BLOCKUNTIL(replies >= want + 3);
}

static void with_segments(gex_Rank_t to) {
	static unsigned char buf[PAYLOAD];
	unsigned char *there = slot(to, me);
	for (int i = 0; i < 8; i++) {
		int want = replies + 1;
		fill(buf, PAYLOAD, i);
		CHECK(gex_AM_CancelRequestLong(gex_AM_PrepareRequestLong(world, to, NULL, 1, 100, there, NULL, 0, 16), 0) == 0);
		if (i < 4) {
			gex_AM_RequestLong1(world, to, h_long, buf, PAYLOAD, there, GEX_EVENT_NOW, 0, i);
		} else {
			gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestLong(world, to, i == 5 ? buf : NULL, PAYLOAD, PAYLOAD, i == 6 ? NULL : there, i == 5 ? GEX_EVENT_NOW : NULL, 0, 1);
			if (i != 5) {
				memcpy(gex_AM_SrcDescAddr(sd), buf, PAYLOAD);
			}
			gex_AM_CommitRequestLong1(sd, h_long, i == 7 ? 0 : PAYLOAD, there, i);
		}
		GASNET_BLOCKUNTIL(replies >= want);
	}
}

// Messages that may not wait for room, to all ranks.
static void immediate(void) {
	int sent = 0;
	for (gex_Rank_t to = 0; to < ranks; to++) {
		for (int i = 0; i < MANY; i++) {
			while (gex_AM_RequestShort0(world, to, PLAIN, GEX_FLAG_IMMEDIATE) != 0) {
				gasnet_AMPoll();
			}
			sent++;
		}
	}
	CHECK(sent == MANY * (int)ranks);
	GASNET_BLOCKUNTIL(entered >= sent);
}

// Prepared requests to all ranks, more than there is room for: while a commit waits, the thread handles requests, and prepares replies.
static void crowded_requests(void) {
	size_t n = gex_AM_LUBRequestMedium();
	int want = replies;
	for (int i = 0; i < MANY; i++) {
		for (gex_Rank_t to = 0; to < ranks; to++, want++) {
			int seed = 2 * (i + 50 * (int)me);
			gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, to, NULL, n, n, NULL, 0, 1);
			fill(gex_AM_SrcDescAddr(sd), n, seed);
			gex_AM_CommitRequestMedium1(sd, h_medium, n, seed);
		}
	}
	GASNET_BLOCKUNTIL(replies >= want);
}

// A barrier in which there is no room for rank 0's notice at first: rank 1 takes messages only after it, when rank 0 has said so by a store.
static void crowded_barrier(void) {
	void *there, *here;
	gex_RankInfo_t *near;
	gex_Rank_t reached;
	gex_System_QueryNbrhdInfo(&near, &reached, NULL);
	memset(slot(me, ranks), 0, sizeof(int)); // to which nobody sends
	gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
	if (ranks > 1 && reached == ranks && me <= 1) {
		CHECK(gex_Segment_QueryBound(world, 1, &there, &here, NULL) == 0 && here != NULL);
		int *word = (int *)((unsigned char *)here + ranks * 256);
		if (me == 0) {
			while (gex_AM_RequestShort0(world, 1, PLAIN, GEX_FLAG_IMMEDIATE) == 0) {
			}
			gasnet_barrier_notify(7, 0);
			__atomic_store_n(word, 1, __ATOMIC_RELEASE);
			OK(gasnet_barrier_wait(7, 0));
			return;
		}
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
			gasnett_sched_yield();
		}
	}
	gasnet_barrier_notify(7, 0);
	int result;
	while ((result = gasnet_barrier_try(7, 0)) == GASNET_ERR_NOT_READY) {
		gasnett_sched_yield();
	}
	OK(result);
}

// Compares how many messages the library has sent and taken in C since the last time with the program's argument. Every
// reply has had a request, which this rank has sent; what a wait in Go takes is not counted.
static void check_way(int argc, char **argv) {
	static uint64_t before;
	static int replied;
	uint64_t in_c = gasneti_fast_messages();
	if (argc > 1) {
		CHECK(strcmp(argv[1], "fast") == 0 ? in_c - before >= (uint64_t)(replies - replied) : in_c == 0);
	}
	before = in_c;
	replied = replies;
}

int main(int argc, char **argv) {
	OK(gex_Client_Init(&client, &ep, &world, "messages", &argc, &argv, GEX_FLAG_USES_GASNET1));
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	CHECK(me == gasnet_mynode() && ranks == gasnet_nodes() && me == gex_System_QueryJobRank() && ranks == gex_System_QueryJobSize());
	queries();
	entry(0, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, "short", 0);
	entry(1, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, "medium", 0);
	entry(2, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, "long", 0);
	entry(3, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, "answer", SHORT_DONE);
	entry(4, (gex_AM_Fn_t)on_medium_answer, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP, 1, "medium answer", 0);
	entry(5, (gex_AM_Fn_t)on_long_answer, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 1, NULL, 0);
	entry(6, (gex_AM_Fn_t)on_plain, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, "plain", PLAIN);
	OK(gex_EP_RegisterHandlers(ep, table, 6));
	entry(7, (gex_AM_Fn_t)on_sixteen, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 16, "sixteen", 0);
	OK(gex_EP_RegisterHandlers(ep, &table[6], 2));
	// The highest free indices, downwards.
	CHECK(table[0].gex_index == 254 && table[1].gex_index == 253 && table[2].gex_index == 252 && table[4].gex_index == 251 && table[5].gex_index == 250 && table[7].gex_index == 249);
	CHECK(gex_EP_RegisterHandlers(ep, NULL, 1) == GASNET_ERR_BAD_ARG);
	h_short = table[0].gex_index, h_medium = table[1].gex_index, h_long = table[2].gex_index;
	h_answer = table[3].gex_index, h_medium_answer = table[4].gex_index, h_long_answer = table[5].gex_index;
	barrier();
	CHECK(gex_EP_QuerySegment(ep) == GEX_SEGMENT_INVALID && gex_Segment_QueryBound(world, 0, NULL, NULL, NULL) != 0);
	for (gex_Rank_t i = 0; i < ranks; i++) {
		without_segments((me + i) % ranks);
	}
	check_way(argc, argv);
	immediate();
	gex_Segment_t segment = GEX_SEGMENT_INVALID;
	CHECK(gex_Segment_Attach(&segment, world, 100) == GASNET_ERR_BAD_ARG);
	OK(gex_Segment_Attach(&segment, world, (me + 1) * (uintptr_t)16 * GASNET_PAGESIZE));
	CHECK(gex_EP_QuerySegment(ep) == segment && gex_Segment_QuerySize(segment) == (me + 1) * (uintptr_t)16 * GASNET_PAGESIZE);
	CHECK(gex_Segment_QueryClient(segment) == client && gex_Segment_QueryFlags(segment) == 0);
	gex_Segment_SetCData(segment, &entered);
	CHECK(gex_Segment_QueryCData(segment) == &entered);
	void *own, *local;
	uintptr_t size;
	CHECK(gex_Segment_QueryBound(world, me, &own, &local, &size) == 0 && own == gex_Segment_QueryAddr(segment) && local == own && size == gex_Segment_QuerySize(segment));
	gex_RankInfo_t *near;
	gex_Rank_t n;
	gex_System_QueryNbrhdInfo(&near, &n, NULL);
	for (gex_Rank_t i = 0; i < n; i++) {
		gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, near[i].gex_jobrank, NULL, &local, NULL, 0));
		CHECK(local != NULL);
	}
	CHECK(gex_Segment_Attach(&segment, world, GASNET_PAGESIZE) == GASNET_ERR_NOT_INIT);
	OK(gex_EP_PublishBoundSegment(world, &ep, 1, 0));
	gex_EP_t other;
	gex_Segment_t second;
	CHECK(gex_EP_Create(&other, client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_Segment_Create(&second, client, table, sizeof table, GEX_MK_HOST, 0) == GASNET_ERR_RESOURCE);
	gex_MK_Create_args_t kind = {0, GEX_MK_CLASS_HIP, {{0}}};
	gex_MK_t device;
	CHECK(gex_MK_Create(&device, client, &kind, 0) == GASNET_ERR_RESOURCE);
	CHECK(gex_MK_Create(&device, client, NULL, 0) == GASNET_ERR_BAD_ARG);
	for (gex_Rank_t i = 0; i < ranks; i++) {
		without_segments((me + i) % ranks);
		with_segments((me + i) % ranks);
	}
	check_way(argc, argv);
	crowded_requests();
	crowded_barrier();
	uint64_t notices = gasneti_fast_messages();
	for (int i = 0; i < BARRIERS; i++) {
		OK(gasnet_barrier(i, 0));
	}
	if (argc > 1 && strcmp(argv[1], "fast") == 0) {
		CHECK(gasneti_fast_messages() - notices >= (ranks > 1) * BARRIERS); // each has a notice of this rank's at least
	}
	printf("messages of rank %d of %d are right\n", (int)me, (int)ranks);
	gasnet_exit(0);
}
