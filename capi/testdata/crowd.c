// Threads of a rank that come and go, and send messages of all kinds and sizes at the same time, of which some end in a
// handler (PAR). The arguments say how many messages a thread sends, and, by "fast" or "slow", whether the
// library is to do most without crossing into Go.

#include "generations.h"

enum { THREADS = 3, GENERATIONS = 4, MOST = 20000, SHORT = 128, MEDIUM, LONG, DONE, LAST };

static int messages;
static _Atomic int answers[THREADS + 1], ended; // the last one is for messages that ask for none
static __thread int cancel; // the thread waits for its end

static size_t fill(unsigned char *buf, unsigned seed) {
	static const size_t sizes[] = {0, 1, 40, 112, 113, 500, 4096, MOST};
	size_t n = sizes[seed % 8];
	for (size_t i = 0; i < n; i++) {
		buf[i] = (unsigned char)(i * 7 + seed);
	}
	return n;
}

static void expect(const unsigned char *buf, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		CHECK(buf[i] == (unsigned char)(i * 7 + seed));
	}
}

static void on_short(gasnet_token_t t, int thread) { OK(gasnet_AMReplyShort1(t, DONE, thread)); }

static void on_medium(gasnet_token_t t, void *buf, size_t n, int thread, int seed) {
	expect((unsigned char *)buf, n, (unsigned)seed);
	OK(gasnet_AMReplyShort1(t, DONE, thread));
}

static void on_done(gasnet_token_t t, int thread) {
	(void)t;
	answers[thread]++;
}

static void on_last(gasnet_token_t t) {
	OK(gasnet_AMReplyShort1(t, DONE, THREADS));
	ended++;
	if (cancel) {
		pthread_cancel(pthread_self());
		pthread_testcancel(); // which ends the thread where the handler was called in C
	}
}

// Where the Longs of a thread of this rank lie in owner's segment.
static unsigned char *place(gasnet_node_t owner, int thread) {
	return (unsigned char *)segments[owner].addr + ((size_t)me * THREADS + (size_t)thread) * MOST;
}

static void *work(void *arg) {
	int thread = (int)(intptr_t)arg, before = answers[thread];
	unsigned char *buf = malloc(MOST);
	for (int i = 0; i < messages; i++) {
		gasnet_node_t dest = ((gasnet_node_t)i + me) % ranks;
		unsigned seed = (unsigned)i * 5 + (unsigned)thread;
		size_t n = fill(buf, seed);
		switch (i % 3) {
		case 0:
			OK(gasnet_AMRequestShort1(dest, SHORT, thread));
			break;
		case 1:
			OK(gasnet_AMRequestMedium2(dest, MEDIUM, buf, n, thread, (int)seed));
			break;
		default: // its place is used once at a time
			GASNET_BLOCKUNTIL(answers[thread] - before >= i);
			OK(gasnet_AMRequestLong2(dest, LONG, buf, n, place(dest, thread), thread, (int)seed));
			GASNET_BLOCKUNTIL(answers[thread] - before >= i + 1);
		}
	}
	free(buf);
	GASNET_BLOCKUNTIL(answers[thread] - before >= messages);
	if (thread == 0) {
		int last = answers[THREADS];
		cancel = 1;
		OK(gasnet_AMRequestShort0(me, LAST));
		GASNET_BLOCKUNTIL(answers[THREADS] != last);
		pthread_testcancel();
	}
	return NULL;
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	CHECK(argc == 3);
	gasnet_handlerentry_t table[] = {{SHORT, on_short}, {MEDIUM, on_medium}, {LONG, on_medium}, {DONE, on_done}, {LAST, on_last}};
	messages = atoi(argv[1]);
	begin(table, 5, (uintptr_t)gasnet_nodes() * THREADS * MOST);
	uint64_t before = 0;
	for (int g = 0; g < GENERATIONS; g++) {
		if (g == 1) {
			before = gasneti_fast_messages(); // from now on there have been several threads
		}
		generation(g, THREADS, work, NULL);
		CHECK(ended == g + 1);
		BARRIER();
	}
	check_way(argv[2], before, (uint64_t)(GENERATIONS - 1) * THREADS * (uint64_t)messages);
	printf("the crowd of rank %d is gone\n", (int)me);
	return 0;
}
