// Prints when each rank has done what, in virtual time: goclock does the same in Go. With an argument it ends otherwise.

#include "check.h"

#include <aqueduct.h>
#include <gasnet_tools.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { SHORT = 200, MEDIUM, LONG, ANSWER, SEGMENT = 1 << 20, ROUNDS = 5, MOST = 400 };

static int mine;             // of each rank: of all ranks if they shared it
static volatile int answers; // that have come

static void step(const char *what) {
	printf("rank %d: %s at %llu ps\n", (int)gasnet_mynode(), what, (unsigned long long)aqueduct_now());
}

static void on_short(gasnet_token_t t, int n) {
	aqueduct_compute(300);
	OK(gasnet_AMReplyShort1(t, ANSWER + 1, n));
}

static void on_medium(gasnet_token_t t, void *buf, size_t n, int seed) {
	for (size_t i = 0; i < n; i++) {
		CHECK(((unsigned char *)buf)[i] == (unsigned char)(seed + (int)i));
	}
	OK(gasnet_AMReplyMedium1(t, ANSWER, buf, n, seed));
}

static void on_long(gasnet_token_t t, void *buf, size_t n, int seed) {
	gasnet_seginfo_t segments[64];
	OK(gasnet_getSegmentInfo(segments, 64));
	CHECK(buf == (char *)segments[gasnet_mynode()].addr + 4096);
	on_medium(t, buf, n, seed);
}

static void on_answer(gasnet_token_t t, void *buf, size_t n, int seed) {
	(void)t;
	(void)buf;
	(void)n;
	(void)seed;
	answers++;
}

static void on_short_answer(gasnet_token_t t, int n) {
	(void)t;
	(void)n;
	answers++;
}

static void *second(void *arg) {
	(void)arg;
	gasnet_AMPoll();
	return NULL;
}

static void end_otherwise(const char *what) {
	if (strcmp(what, "thread") == 0) {
		pthread_t t;
		pthread_create(&t, NULL, second, NULL);
		pthread_join(t, NULL);
	} else if (strcmp(what, "deadlock") == 0 && gasnet_mynode() > 0) {
		BARRIER();
	} else if (strcmp(what, "kill") == 0 && gasnet_mynode() == 1) {
		kill(getpid(), SIGKILL);
	} else if (strcmp(what, "eternity") == 0) {
		aqueduct_compute(UINT64_MAX);
	}
	gasnet_exit(0);
}

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {
		{SHORT, (void (*)())on_short}, {MEDIUM, (void (*)())on_medium}, {LONG, (void (*)())on_long},
		{ANSWER, (void (*)())on_answer}, {ANSWER + 1, (void (*)())on_short_answer}};
	printf("begins\n"); // once
	mine = 100;
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(table, 5, SEGMENT, 0));
	CHECK(aqueduct_modelled());
	step("attached");
	if (argc > 1) {
		end_otherwise(argv[1]);
	}
	gasnet_node_t self = gasnet_mynode(), n = gasnet_nodes(), next = (self + 1) % n;
	gasnet_seginfo_t segments[64];
	OK(gasnet_getSegmentInfo(segments, 64));
	mine += (int)self;
	for (int i = 0; i < ROUNDS; i++) {
		OK(gasnet_AMRequestShort1(next, SHORT, i));
		GASNET_BLOCKUNTIL(answers == i + 1);
	}
	step("shorts");
	unsigned char payload[MOST];
	for (int i = 0; i < MOST; i++) {
		payload[i] = (unsigned char)(7 + i);
	}
	OK(gasnet_AMRequestMedium1(next, MEDIUM, payload, MOST, 7));
	OK(gasnet_AMRequestLong1(next, LONG, payload, MOST, (char *)segments[next].addr + 4096, 7));
	GASNET_BLOCKUNTIL(answers == ROUNDS + 2);
	step("payloads");
	aqueduct_compute(1500 * (uint64_t)(self + 1));
	CHECK(gasnett_nsleep(10) == 0);
	BARRIER();
	step("barrier");
	gasnet_put(next, (char *)segments[next].addr + 8192, payload, MOST);
	gasnet_put(self, (char *)segments[self].addr, payload, 8);
	step("puts");
	unsigned char back[MOST];
	gasnet_get(back, next, (char *)segments[next].addr + 8192, MOST);
	CHECK(memcmp(back, payload, MOST) == 0);
	step("get");
	BARRIER();
	CHECK(memcmp((char *)segments[self].addr + 8192, payload, MOST) == 0);
	gasnet_handle_t handle = gasnet_put_nb_bulk(next, (char *)segments[next].addr + 16384, segments[self].addr, 4096);
	gasnet_wait_syncnb(handle);
	step("put of the segment");
	CHECK(mine == 100 + (int)self);
	CHECK(gasnett_ticks_to_ns(gasnett_ticks_now()) == aqueduct_now() / 1000);
	BARRIER();
	gasnet_exit(0);
}
