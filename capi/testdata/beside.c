// A thread ends the job in good order while another one of its rank sends and polls, until the process ends. The argument says which
// leaves: main, or other.

#include "check.h"

#include <pthread.h>

enum { PING = 128, PONG, ENOUGH = 500 };

static int pings[8], pongs[8]; // the last of each rank
static volatile int enough;

// Handlers of a rank run one after the other, and the messages of a rank in their order.
static void on_ping(gasnet_token_t t, int i) {
	gasnet_node_t from;
	OK(gasnet_AMGetMsgSource(t, &from));
	CHECK(i == pings[from] + 1);
	pings[from] = i;
	OK(gasnet_AMReplyShort1(t, PONG, i));
}

static void on_pong(gasnet_token_t t, int i) {
	gasnet_node_t from;
	OK(gasnet_AMGetMsgSource(t, &from));
	CHECK(i == pongs[from] + 1);
	pongs[from] = i;
}

static void talk(int most) {
	gasnet_node_t to = (gasnet_mynode() + 1) % gasnet_nodes();
	for (int i = 1; i <= most; i++) {
		OK(gasnet_AMRequestShort1(to, PING, i));
		OK(gasnet_AMPoll());
		enough = i >= ENOUGH;
	}
}

static void *go_on(void *arg) {
	(void)arg;
	talk(0x7fffffff);
	return NULL;
}

static void *leave(void *arg) {
	(void)arg;
	while (!enough) {
	}
	gasnet_exit(0);
	return NULL;
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	gasnet_handlerentry_t table[] = {{PING, on_ping}, {PONG, on_pong}};
	OK(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
	OK(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
	if (gasnet_mynode() > 0) {
		talk(20 * ENOUGH);
		gasnet_exit(0);
	}
	int main_leaves = strcmp(argv[1], "main") == 0;
	pthread_t other;
	OK(pthread_create(&other, NULL, main_leaves ? go_on : leave, NULL));
	main_leaves ? leave(NULL) : go_on(NULL);
}
