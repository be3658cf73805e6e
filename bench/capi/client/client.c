// client OP CPU,CPU measures an operation between two ranks of a GASNet library, rank i on the i-th CPU. It answers on rank 0's
// standard input and output as the floors do: it says "ready", then answers each line "run N" with "ok NAME=NS", the
// nanoseconds of one of N operations after a tenth as many. It ends at end of input.
//
// Between two answers no rank stays on its CPU, so that others can be measured there, also with a library whose
// waits spin: rank 0 waits for its input, and the other looks for its word once a millisecond.

#define _GNU_SOURCE
#include "common.h"

enum { PING = 200, PONG, SINK, ORDER, MAXRUN = 1 << 30 };

static gasnet_node_t me;
static volatile long answers, expected, came; // of rank 0; of rank 1 in the present run
static volatile int ordered, over;
static char *target; // in rank 1's segment

static void barrier(void) {
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	ok(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

static void on_ping(gasnet_token_t t) {
	came++;
	ok(gasnet_AMReplyShort0(t, PONG));
}

static void on_pong(gasnet_token_t t) {
	(void)t;
	answers++;
}

static void on_sink(gasnet_token_t t) {
	if (++came == expected) {
		ok(gasnet_AMReplyShort0(t, PONG));
	}
}

static void on_order(gasnet_token_t t, int n) {
	expected = n;
	came = 0;
	over = n == 0;
	ordered = 1;
	ok(gasnet_AMReplyShort0(t, PONG));
}

// What rank 0 does, and rank 1 meanwhile.

static void trips(long n) {
	for (long want = answers + 1; n > 0; n--, want++) {
		ok(gasnet_AMRequestShort0(1, PING));
		GASNET_BLOCKUNTIL(answers >= want);
	}
}

static void flood(long n) {
	long want = answers + 1;
	for (; n > 0; n--) {
		ok(gasnet_AMRequestShort0(1, SINK));
	}
	GASNET_BLOCKUNTIL(answers >= want);
}

static void serve(long n) { GASNET_BLOCKUNTIL(came >= n); }

static void polls(long n) {
	for (; n > 0; n--) {
		ok(gasnet_AMPoll());
	}
}

static void puts8(long n) {
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		gasnet_put(1, target, &i, sizeof i);
	}
}

static void gets8(long n) {
	uint64_t v, sum = 0;
	for (; n > 0; n--) {
		gasnet_get(&v, 1, target, sizeof v);
		sum += v;
	}
	expected = (long)sum;
}

// The same accesses through the mapping, where there is one.
static volatile uint64_t *here;

static void stores(long n) {
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		*here = i;
	}
}

static void loads(long n) {
	uint64_t sum = 0;
	for (; n > 0; n--) {
		sum += *here;
	}
	expected = (long)sum;
}

static void barriers(long n) {
	for (; n > 0; n--) {
		barrier();
	}
}

static void nothing(long n) { (void)n; }

static const struct operation {
	const char *name;
	void (*lead)(long n), (*follow)(long n);
} operations[] = {
	{"pingpong", trips, serve}, {"flood", flood, serve}, {"poll", polls, nothing}, {"put", puts8, nothing}, {"get", gets8, nothing},
	{"store", stores, nothing}, {"load", loads, nothing}, {"barrier", barriers, barriers}, {NULL, NULL, NULL},
};

static double run(const struct operation *op, long n) {
	long want = answers + 1;
	ok(gasnet_AMRequestShort1(1, ORDER, (int)n));
	GASNET_BLOCKUNTIL(answers >= want);
	double start = now();
	op->lead(n);
	return (now() - start) / (double)(n > 0 ? n : 1);
}

static void lead(const struct operation *op) {
	puts("ready");
	fflush(stdout);
	char line[64];
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *end;
		long n = strncmp(line, "run ", 4) == 0 ? strtol(line + 4, &end, 10) : 0;
		if (n < 1 || n > MAXRUN || *end != '\n') {
			die("bad order");
		}
		run(op, n / 10 + 1);
		printf("ok gasnet=%.3f\n", run(op, n));
		fflush(stdout);
	}
	long want = answers + 1;
	ok(gasnet_AMRequestShort1(1, ORDER, 0));
	GASNET_BLOCKUNTIL(answers >= want);
}

static void follow(const struct operation *op) {
	while (!over) {
		GASNET_BLOCKUNTIL(ordered);
		ordered = 0;
		op->follow(expected);
	}
}

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {{PING, on_ping}, {PONG, on_pong}, {SINK, on_sink}, {ORDER, on_order}};
	ok(gasnet_init(&argc, &argv));
	me = gasnet_mynode();
	if (argc != 3 || gasnet_nodes() != 2) {
		die("want an operation, CPUs, and two ranks");
	}
	const struct operation *op = operations;
	while (op->name != NULL && strcmp(op->name, argv[1]) != 0) {
		op++;
	}
	if (op->name == NULL) {
		die("unknown operation");
	}
	pin(argv[2], (int)me);
	ok(gasnet_attach(table, sizeof table / sizeof *table, 16 * GASNET_PAGESIZE, 0));
	gasnet_seginfo_t segments[2];
	gasnet_nodeinfo_t nodes[2];
	ok(gasnet_getSegmentInfo(segments, 2));
	ok(gasnet_getNodeInfo(nodes, 2));
	target = segments[1].addr;
	if (op->lead == stores || op->lead == loads) {
		if (nodes[0].supernode != nodes[1].supernode) {
			die("the other rank's segment is out of reach");
		}
		here = (uint64_t *)(target + nodes[gasnet_mynode() == 0].offset);
	}
	barrier();
	if (me == 0) {
		lead(op);
	} else {
		follow(op);
	}
	barrier();
	gasnet_exit(0);
}
