// Barriers with names of all kinds, and whose halves are called by different threads, while others send messages (PAR). Barriers of the only
// thread are in C, if the argument says fast; in the midst of one a second thread comes, and then they are in Go, on the same state.

#include "check.h"

#include <pthread.h>

extern uint64_t gasneti_fast_messages(void);

enum { PING = 128, PONG, ROUNDS = 20, MESSAGES = 200 };

static gasnet_node_t me, ranks;
static long answers;
static int halves; // of barriers that were called by two threads

static void on_ping(gasnet_token_t t) { OK(gasnet_AMReplyShort0(t, PONG)); }

static void on_pong(gasnet_token_t t) {
	(void)t;
	__atomic_add_fetch(&answers, 1, __ATOMIC_RELEASE);
}

// One barrier with what this rank says at its beginning and end, and its outcome.
static void whole(int id, int flags, int end_id, int end_flags, int outcome) {
	gasnet_barrier_notify(id, flags);
	CHECK(gasnet_barrier_wait(end_id, end_flags) == outcome);
}

static void names(void) {
	const int none = GASNET_BARRIERFLAG_ANONYMOUS, force = GASNET_BARRIERFLAG_MISMATCH, bad = GASNET_ERR_BARRIER_MISMATCH;
	int first = me == 0 ? 0 : none, last = me == ranks - 1 ? force : 0, agreed = -1;
	for (int i = 0; i < ROUNDS; i++) {
		whole(i, 0, i, 0, GASNET_OK);
		CHECK(gasnet_barrier_result(&agreed) == 0 && agreed == i);
		whole((int)me, 0, (int)me, 0, ranks > 1 ? bad : GASNET_OK); // other names
		whole(i, last, i, last, bad);
		whole(i, 0, i + 1, 0, bad); // another name at the end
		whole(i, none, i, 0, GASNET_OK);
		CHECK(gasnet_barrier_result(NULL) != 0);
		whole(i, first, i, 0, GASNET_OK); // one names it
		CHECK(gasnet_barrier_result(&agreed) == 0 && agreed == i);
		whole(i, first, i + 1, 0, bad);
		whole(i, 0, i, none, GASNET_OK);
		CHECK(gasnet_barrier(i, first) == GASNET_OK);
	}
}

static void *chat(void *arg) {
	(void)arg;
	for (int i = 0; i < MESSAGES; i++) {
		OK(gasnet_AMRequestShort0((me + (gasnet_node_t)i) % ranks, PING));
	}
	GASNET_BLOCKUNTIL(__atomic_load_n(&answers, __ATOMIC_ACQUIRE) >= MESSAGES);
	return NULL;
}

static int half(void) { return __atomic_load_n(&halves, __ATOMIC_ACQUIRE); }

static void *end_barriers(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		while (half() != 2 * i + 1) {
			OK(gasnet_AMPoll());
		}
		int result;
		while ((result = i % 2 == 0 ? gasnet_barrier_wait(i, 0) : gasnet_barrier_try(i, 0)) == GASNET_ERR_NOT_READY) {
		}
		OK(result);
		__atomic_add_fetch(&halves, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	gasnet_handlerentry_t table[] = {{PING, on_ping}, {PONG, on_pong}};
	OK(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	uint64_t before = gasneti_fast_messages();
	names();
	if (argc > 1) { // "fast": in C
		CHECK((gasneti_fast_messages() > before) == (strcmp(argv[1], "fast") == 0 && ranks > 1));
	}
	pthread_t chatting, ending;
	gasnet_barrier_notify(0, 0);
	CHECK(pthread_create(&chatting, NULL, chat, NULL) == 0);
	OK(gasnet_barrier_wait(0, 0));
	CHECK(pthread_create(&ending, NULL, end_barriers, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		gasnet_barrier_notify(i, 0);
		__atomic_add_fetch(&halves, 1, __ATOMIC_RELEASE);
		while (half() != 2 * i + 2) {
			OK(gasnet_AMPoll());
		}
	}
	GASNET_BLOCKUNTIL(__atomic_load_n(&answers, __ATOMIC_ACQUIRE) >= MESSAGES);
	CHECK(pthread_join(ending, NULL) == 0 && pthread_join(chatting, NULL) == 0);
	names();
	printf("barriers of rank %d are right\n", (int)me);
	return 0;
}
