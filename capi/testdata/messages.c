// Active messages of every category, with 0 to 16 arguments, to every rank.

#include "check.h"

static volatile int replies;
static gasnet_seginfo_t *segments;

enum { PAYLOAD = 1000, STRIDE = 1024 };

enum {
	SHORT0 = 128, MEDIUM0 = SHORT0 + 17, LONG0 = MEDIUM0 + 17, SHORT_DONE = LONG0 + 17, MEDIUM_DONE, LONG_DONE
};

static void fill(unsigned char *buf, size_t n, int seed) {
	for (size_t i = 0; i < n; i++) {
		buf[i] = (unsigned char)(i * 7 + (size_t)seed);
	}
}

static int filled(const unsigned char *buf, size_t n, int seed) {
	for (size_t i = 0; i < n; i++) {
		if (buf[i] != (unsigned char)(i * 7 + (size_t)seed)) {
			return 0;
		}
	}
	return 1;
}

static gasnet_node_t source(gasnet_token_t token) {
	gasnet_node_t node = 9999;
	OK(gasnet_AMGetMsgSource(token, &node));
	CHECK(node < gasnet_nodes());
	return node;
}

static int argument(int i, int n, gasnet_node_t from) { return (i + 1) * -65537 + n * 100 + (int)from; }

static void expect(gasnet_token_t token, int n, const int *a) {
	gasnet_node_t from = source(token);
	for (int i = 0; i < n; i++) {
		CHECK(a[i] == argument(i, n, from));
	}
}

// Where in owner's segment a writer puts the payload of a Long with n arguments, or of the reply to one.
static void *slot(gasnet_node_t owner, gasnet_node_t writer, int n, int reply) {
	return (char *)segments[owner].addr + (((size_t)writer * 17 + (size_t)n) * 2 + (size_t)reply) * STRIDE;
}

// The handlers for n arguments. A Short answers with a Short, a Medium with a Medium, a Long with a Long.
#define HANDLERS(n, PARAMS, LIST)                                                                    \
	static void on_short##n(gasnet_token_t t PARAMS) {                                               \
		int a[17] = {0 LIST};                                                                        \
		expect(t, n, a + 1);                                                                         \
		OK(gasnet_AMReplyShort2(t, SHORT_DONE, n, gasnet_mynode()));                                 \
	}                                                                                                \
	static void on_medium##n(gasnet_token_t t, void *buf, size_t nbytes PARAMS) {                    \
		int a[17] = {0 LIST};                                                                        \
		expect(t, n, a + 1);                                                                         \
		CHECK(nbytes == (n == 3 ? 0 : PAYLOAD) && (nbytes == 0 || ((uintptr_t)buf & 7) == 0));       \
		CHECK(filled((unsigned char *)buf, nbytes, n + (int)source(t)));                             \
		OK(gasnet_AMReplyMedium1(t, MEDIUM_DONE, buf, nbytes, n));                                   \
	}                                                                                                \
	static void on_long##n(gasnet_token_t t, void *buf, size_t nbytes PARAMS) {                      \
		int a[17] = {0 LIST};                                                                        \
		expect(t, n, a + 1);                                                                         \
		CHECK(nbytes == PAYLOAD && buf == slot(gasnet_mynode(), source(t), n, 0));                   \
		CHECK(filled((unsigned char *)buf, nbytes, n + (int)source(t)));                             \
		OK(gasnet_AMReplyLong2(t, LONG_DONE, buf, nbytes, slot(source(t), gasnet_mynode(), n, 1), n, gasnet_mynode())); \
	}

#define P1 , int a0
#define P2 P1, int a1
#define P3 P2, int a2
#define P4 P3, int a3
#define P5 P4, int a4
#define P6 P5, int a5
#define P7 P6, int a6
#define P8 P7, int a7
#define P9 P8, int a8
#define P10 P9, int a9
#define P11 P10, int a10
#define P12 P11, int a11
#define P13 P12, int a12
#define P14 P13, int a13
#define P15 P14, int a14
#define P16 P15, int a15
#define L1 , a0
#define L2 L1, a1
#define L3 L2, a2
#define L4 L3, a3
#define L5 L4, a4
#define L6 L5, a5
#define L7 L6, a6
#define L8 L7, a7
#define L9 L8, a8
#define L10 L9, a9
#define L11 L10, a10
#define L12 L11, a11
#define L13 L12, a12
#define L14 L13, a13
#define L15 L14, a14
#define L16 L15, a15

HANDLERS(0, , )
HANDLERS(1, P1, L1)
HANDLERS(2, P2, L2)
HANDLERS(3, P3, L3)
HANDLERS(4, P4, L4)
HANDLERS(5, P5, L5)
HANDLERS(6, P6, L6)
HANDLERS(7, P7, L7)
HANDLERS(8, P8, L8)
HANDLERS(9, P9, L9)
HANDLERS(10, P10, L10)
HANDLERS(11, P11, L11)
HANDLERS(12, P12, L12)
HANDLERS(13, P13, L13)
HANDLERS(14, P14, L14)
HANDLERS(15, P15, L15)
HANDLERS(16, P16, L16)

static void on_short_done(gasnet_token_t t, int n, int from) {
	CHECK(n >= 0 && n <= 16 && (gasnet_node_t)from == source(t));
	replies++;
}

static void on_medium_done(gasnet_token_t t, void *buf, size_t nbytes, int n) {
	(void)t;
	CHECK(nbytes == (n == 3 ? 0 : PAYLOAD) && filled((unsigned char *)buf, nbytes, n + (int)gasnet_mynode()));
	replies++;
}

static void on_long_done(gasnet_token_t t, void *buf, size_t nbytes, int n, int from) {
	CHECK((gasnet_node_t)from == source(t) && nbytes == PAYLOAD && buf == slot(gasnet_mynode(), source(t), n, 1));
	CHECK(filled((unsigned char *)buf, nbytes, n + (int)gasnet_mynode()));
	replies++;
}

// The requests with n arguments, and their replies.
#define REQUESTS(n, LIST)                                                                                        \
	do {                                                                                                         \
		static unsigned char buf[PAYLOAD];                                                                       \
		const int count = n, want = replies + 3;                                                                 \
		const gasnet_node_t me = gasnet_mynode();                                                                \
		void *to = slot(dest, me, n, 0);                                                                            \
		fill(buf, PAYLOAD, n + (int)me);                                                                         \
		OK(gasnet_AMRequestShort##n(dest, SHORT0 + n LIST));                                                     \
		/* The address of no bytes is nobody's business. */                                                      \
		OK(gasnet_AMRequestMedium##n(dest, MEDIUM0 + n, n == 3 ? (void *)1 : buf, n == 3 ? 0 : PAYLOAD LIST));   \
		OK(gasnet_AMRequestLong##n(dest, LONG0 + n, buf, PAYLOAD, to LIST));                                     \
		GASNET_BLOCKUNTIL(replies >= want);                                                                      \
		OK(gasnet_AMRequestLongAsync##n(dest, LONG0 + n, buf, PAYLOAD, to LIST));                                \
		GASNET_BLOCKUNTIL(replies >= want + 1 && count == n);                                                    \
	} while (0)

#define A(i) , argument(i, count, me)
#define V0
#define V1 V0 A(0)
#define V2 V1 A(1)
#define V3 V2 A(2)
#define V4 V3 A(3)
#define V5 V4 A(4)
#define V6 V5 A(5)
#define V7 V6 A(6)
#define V8 V7 A(7)
#define V9 V8 A(8)
#define V10 V9 A(9)
#define V11 V10 A(10)
#define V12 V11 A(11)
#define V13 V12 A(12)
#define V14 V13 A(13)
#define V15 V14 A(14)
#define V16 V15 A(15)

static void numbered(gasnet_node_t dest) {
	REQUESTS(0, V0);
	REQUESTS(1, V1);
	REQUESTS(2, V2);
	REQUESTS(3, V3);
	REQUESTS(4, V4);
	REQUESTS(5, V5);
	REQUESTS(6, V6);
	REQUESTS(7, V7);
	REQUESTS(8, V8);
	REQUESTS(9, V9);
	REQUESTS(10, V10);
	REQUESTS(11, V11);
	REQUESTS(12, V12);
	REQUESTS(13, V13);
	REQUESTS(14, V14);
	REQUESTS(15, V15);
	REQUESTS(16, V16);
}

// The forms whose arguments are counted when they run.
static void counted(gasnet_node_t dest) {
	static unsigned char buf[PAYLOAD];
	const gasnet_node_t me = gasnet_mynode();
	const int count = 2, want = replies + 4;
	void *to = slot(dest, me, count, 0);
	fill(buf, PAYLOAD, count + (int)me);
	OK(gasnet_AMRequestShort(dest, SHORT0 + 2, 2 V2));
	OK(gasnet_AMRequestMedium(dest, MEDIUM0 + 2, buf, PAYLOAD, 2 V2));
	OK(gasnet_AMRequestLong(dest, LONG0 + 2, buf, PAYLOAD, to, 2 V2));
	GASNET_BLOCKUNTIL(replies >= want - 1);
	OK(gasnet_AMRequestLongAsync(dest, LONG0 + 2, buf, PAYLOAD, to, 2 V2));
	GASNET_BLOCKUNTIL(replies >= want);
	CHECK(gasnet_AMRequestShort(dest, SHORT0, 17) == GASNET_ERR_BAD_ARG);
}

#define ENTRIES(n) {SHORT0 + n, on_short##n}, {MEDIUM0 + n, on_medium##n}, {LONG0 + n, on_long##n}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	gasnet_handlerentry_t table[] = {
		ENTRIES(0), ENTRIES(1), ENTRIES(2), ENTRIES(3), ENTRIES(4), ENTRIES(5), ENTRIES(6), ENTRIES(7), ENTRIES(8),
		ENTRIES(9), ENTRIES(10), ENTRIES(11), ENTRIES(12), ENTRIES(13), ENTRIES(14), ENTRIES(15), ENTRIES(16),
		{SHORT_DONE, on_short_done}, {MEDIUM_DONE, on_medium_done}, {LONG_DONE, on_long_done},
	};
	OK(gasnet_attach(table, sizeof table / sizeof *table, 256 * GASNET_PAGESIZE, 0));
	CHECK(gasnet_AMMaxArgs() == 16 && gasnet_AMMaxMedium() >= 512 && gasnet_AMMaxLongRequest() >= 512 && gasnet_AMMaxLongReply() >= 512);
	segments = calloc(gasnet_nodes(), sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
	CHECK(segments[gasnet_mynode()].size >= 4 * 17 * 2 * STRIDE);
	BARRIER(); // handlers know of the segments
	for (gasnet_node_t i = 0; i < gasnet_nodes(); i++) {
		gasnet_node_t dest = (gasnet_mynode() + i) % gasnet_nodes();
		numbered(dest);
		counted(dest);
	}
	CHECK(replies == (int)gasnet_nodes() * (17 * 4 + 4));
	BARRIER();
	printf("messages of rank %d of %d are right\n", (int)gasnet_mynode(), (int)gasnet_nodes());
	gasnet_exit(0);
}
