// The thread that has joined the job is cancelled in a handler, and another one goes on. The argument says whether the fast
// path calls handlers, in which threads may be cancelled then: "fast" or "slow".

#include "check.h"

#include <pthread.h>

enum { LAST = 128, OTHER };

static volatile int went_on, others;

static void on_last(gasnet_token_t t) {
	(void)t;
	pthread_cancel(pthread_self());
	pthread_testcancel();
	went_on = 1;
}

static void on_other(gasnet_token_t t) {
	(void)t;
	others++;
}

static void *join(void *arg) {
	gasnet_handlerentry_t table[] = {{LAST, on_last}, {OTHER, on_other}};
	OK(gasnet_init(NULL, NULL));
	OK(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
	BARRIER();
	OK(gasnet_AMRequestShort0(gasnet_mynode(), LAST));
	OK(gasnet_AMPoll());
	pthread_testcancel();
	return arg;
}

static void *send_all(void *arg) {
	for (gasnet_node_t i = 0; i < gasnet_nodes(); i++) {
		OK(gasnet_AMRequestShort0(i, OTHER));
	}
	return arg;
}

int main(int argc, char **argv) {
	CHECK(argc == 2);
	pthread_t t;
	void *result;
	CHECK(pthread_create(&t, NULL, join, NULL) == 0);
	CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(went_on == (strcmp(argv[1], "slow") == 0));
	send_all(NULL); // which does not poll
	CHECK(pthread_create(&t, NULL, send_all, NULL) == 0);
	CHECK(pthread_join(t, &result) == 0);
	GASNET_BLOCKUNTIL(others == 2 * (int)gasnet_nodes());
	BARRIER();
	printf("rank %d goes on\n", (int)gasnet_mynode());
	return 0;
}
