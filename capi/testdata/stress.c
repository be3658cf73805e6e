// Messages of all kinds and sizes in all directions, with sleeps and barriers between. The arguments say how many rounds
// there are, and, by "fast" or "slow", whether the library is to do without crossing into Go.

#include "check.h"

#include <time.h>

enum { MOST = 64 << 10, PLACES = 4, ROUNDS_PER_BARRIER = 64 };

enum { SHORT = 128, MEDIUM, LONG, SILENT, SHORT_DONE, MEDIUM_DONE, LONG_DONE, TOTAL };

// How a Medium is to be answered.
enum { BY_SHORT, BY_MEDIUM };

extern uint64_t gasneti_fast_messages(void);

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;
static int checked; // in debug mode, where misuse ends the job
static volatile unsigned answers, silent, totals, announced;
static volatile unsigned char *taken; // the place of a Long, by rank: its answer has not come

static uint64_t state;

static unsigned pick(unsigned n) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static void fill(unsigned char *buf, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		buf[i] = (unsigned char)(i * 11 + (i >> 8) + seed);
	}
}

static void expect(const unsigned char *buf, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		CHECK(buf[i] == (unsigned char)(i * 11 + (i >> 8) + seed));
	}
}

// Sizes of every kind up to most: none, what lies in a slot, and what does not.
static size_t size(size_t most) {
	switch (pick(8)) {
	case 0: return 0;
	case 1: return most;
	case 2: return pick((unsigned)most + 1);
	case 3: return pick(500);
	default: return pick(130);
	}
}

// Where a Long of writer lies in owner's segment, and the answer to it.
static unsigned char *place(gasnet_node_t owner, gasnet_node_t writer, int i, int answer) {
	return (unsigned char *)segments[owner].addr + (((size_t)writer * PLACES + (size_t)i) * 2 + (size_t)answer) * MOST;
}

static gasnet_node_t source(gasnet_token_t t) {
	gasnet_node_t from;
	OK(gasnet_AMGetMsgSource(t, &from));
	return from;
}

static unsigned char answer[MOST];

static void on_short(gasnet_token_t t, int seed) {
	if (!checked) {
		CHECK(gasnet_AMPoll() == GASNET_ERR_BAD_ARG && gasnet_AMRequestShort0(0, SILENT) == GASNET_ERR_BAD_ARG);
	}
	OK(gasnet_AMReplyShort1(t, SHORT_DONE, seed));
	CHECK(checked || gasnet_AMReplyShort1(t, SHORT_DONE, seed) == GASNET_ERR_BAD_ARG);
}

static void on_medium(gasnet_token_t t, void *buf, size_t n, int seed, int how) {
	expect((unsigned char *)buf, n, (unsigned)seed);
	if (how == BY_SHORT) {
		OK(gasnet_AMReplyShort1(t, SHORT_DONE, seed));
	} else {
		fill(answer, n, (unsigned)seed + 1);
		OK(gasnet_AMReplyMedium3(t, MEDIUM_DONE, answer, n, seed, how, -1));
	}
}

static void on_long(gasnet_token_t t, void *buf, size_t n, int seed, int i) {
	gasnet_node_t from = source(t);
	CHECK(n == 0 || buf == place(me, from, i, 0));
	expect((unsigned char *)buf, n, (unsigned)seed);
	fill(answer, n, (unsigned)seed + 1);
	OK(gasnet_AMReplyLong2(t, LONG_DONE, answer, n, place(from, me, i, 1), seed, i));
}

static void on_silent(gasnet_token_t t) {
	(void)t;
	silent++;
}

static void on_short_done(gasnet_token_t t, int seed) {
	CHECK(checked || gasnet_AMReplyShort1(t, SHORT_DONE, seed) == GASNET_ERR_BAD_ARG);
	answers++;
}

static void on_medium_done(gasnet_token_t t, void *buf, size_t n, int seed, int how, int end) {
	(void)t;
	CHECK(how == BY_MEDIUM && end == -1);
	expect((unsigned char *)buf, n, (unsigned)seed + 1);
	answers++;
}

static void on_long_done(gasnet_token_t t, void *buf, size_t n, int seed, int i) {
	gasnet_node_t from = source(t);
	CHECK(n == 0 || buf == place(me, from, i, 1));
	expect((unsigned char *)buf, n, (unsigned)seed + 1);
	CHECK(taken[from * PLACES + (unsigned)i]);
	taken[from * PLACES + (unsigned)i] = 0;
	answers++;
}

static void on_total(gasnet_token_t t, int sent) {
	(void)t;
	announced += (unsigned)sent;
	totals++;
}

static void send_long(gasnet_node_t dest, unsigned seed) {
	static unsigned char buf[MOST];
	unsigned i = pick(PLACES);
	size_t n = size(MOST);
	volatile unsigned char *mine = &taken[dest * PLACES + i];
	GASNET_BLOCKUNTIL(!*mine);
	*mine = 1;
	fill(buf, n, seed);
	OK(gasnet_AMRequestLong2(dest, LONG, buf, n, place(dest, me, (int)i, 0), (int)seed, (int)i));
}

static void send_medium(gasnet_node_t dest, unsigned seed) {
	static unsigned char buf[MOST];
	size_t n = size(gasnet_AMMaxMedium() < MOST ? gasnet_AMMaxMedium() : MOST);
	fill(buf, n, seed);
	OK(gasnet_AMRequestMedium2(dest, MEDIUM, buf, n, (int)seed, pick(2) ? BY_SHORT : BY_MEDIUM));
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	CHECK(argc == 3);
	gasnet_handlerentry_t table[] = {
		{SHORT, on_short}, {MEDIUM, on_medium}, {LONG, on_long}, {SILENT, on_silent},
		{SHORT_DONE, on_short_done}, {MEDIUM_DONE, on_medium_done}, {LONG_DONE, on_long_done}, {TOTAL, on_total},
	};
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	checked = getenv("AQUEDUCT_DEBUG") != NULL;
	segments = calloc(ranks, sizeof *segments);
	taken = calloc(ranks, PLACES);
	OK(gasnet_attach(table, sizeof table / sizeof *table, (uintptr_t)ranks * PLACES * 2 * MOST, 0));
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	BARRIER();
	state = me + 1;
	const int rounds = atoi(argv[1]);
	unsigned asked = 0;
	unsigned *sent = calloc(ranks, sizeof *sent);
	for (int i = 0; i < rounds; i++) {
		gasnet_node_t dest = pick(ranks);
		switch (pick(6)) {
		case 0:
			send_long(dest, (unsigned)i);
			asked++;
			break;
		case 1:
			send_medium(dest, (unsigned)i);
			asked++;
			break;
		case 2:
			OK(gasnet_AMRequestShort1(dest, SHORT, i));
			asked++;
			break;
		case 3: // more than a ring holds, now and then
			for (unsigned n = pick(16) == 0 ? 600 : pick(20); n > 0; n--) {
				OK(gasnet_AMRequestShort0(dest, SILENT));
				sent[dest]++;
			}
			break;
		case 4:
			GASNET_BLOCKUNTIL(answers >= asked);
			break;
		default:
			if (pick(40) == 0) { // until peers that wait sleep in the kernel
				nanosleep(&(struct timespec){0, 4000000}, NULL);
			}
			OK(gasnet_AMPoll());
		}
		if (i % ROUNDS_PER_BARRIER == 0) {
			BARRIER();
		}
	}
	GASNET_BLOCKUNTIL(answers >= asked);
	for (gasnet_node_t i = 0; i < ranks; i++) {
		OK(gasnet_AMRequestShort1(i, TOTAL, (int)sent[i]));
	}
	GASNET_BLOCKUNTIL(totals >= ranks && silent >= announced);
	CHECK(answers == asked && silent == announced);
	BARRIER();
	CHECK(strcmp(argv[2], "slow") == 0 || gasneti_window_count == ranks); // so puts and gets are copies
	uint64_t here = gasneti_fast_messages();
	CHECK(strcmp(argv[2], "slow") == 0 ? here == 0 : here > asked / 2);
	printf("stress of rank %d is over\n", (int)me);
	gasnet_exit(0);
}
