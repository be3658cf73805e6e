// Threads that come and go, send messages, wait, put and get, each with implicit operations of its own (PAR). The argument
// says whether the library is to send and take most messages without crossing into Go: "fast" or "slow".

#include "generations.h"

#include <unistd.h>

enum { THREADS = 4, GENERATIONS = 6, MESSAGES = 60, CELLS = 32, PING = 128, PONG, AWAITED };

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static long locked; // under lock, by handlers and threads
static volatile int answers[THREADS];
static __thread int own; // handlers run on the thread that polls, whichever that is, and never on one of the library's
static volatile int threads_seen;
static pthread_key_t program; // set by every thread of the program

static void on_ping(gasnet_token_t t, int thread) {
	CHECK(pthread_getspecific(program) != NULL);
	own++;
	gasnet_hsl_lock(&lock);
	locked++;
	gasnet_hsl_unlock(&lock);
	OK(gasnet_AMReplyShort1(t, PONG, thread));
}

static void on_pong(gasnet_token_t t, int thread) {
	(void)t;
	CHECK(pthread_getspecific(program) != NULL);
	__atomic_add_fetch(&answers[thread], 1, __ATOMIC_RELEASE);
}

static void *work(void *arg) {
	int thread = (int)(intptr_t)arg;
	pthread_setspecific(program, &program);
	__atomic_add_fetch(&threads_seen, 1, __ATOMIC_RELAXED);
	gasnet_node_t peer = (me + 1 + (gasnet_node_t)thread) % ranks;
	uint64_t *cells = (uint64_t *)segments[peer].addr + ((size_t)me * THREADS + (size_t)thread) * CELLS;
	int before = __atomic_load_n(&answers[thread], __ATOMIC_ACQUIRE);
	for (int i = 0; i < MESSAGES; i++) {
		OK(gasnet_AMRequestShort1((me + (gasnet_node_t)i) % ranks, PING, thread));
		uint64_t v = (uint64_t)me << 32 | (uint64_t)i, got = 0;
		gasnet_put_nbi_bulk(peer, cells + i % CELLS, &v, sizeof v);
		gasnet_wait_syncnbi_puts();
		gasnet_handle_t h = gasnet_get_nb(&got, peer, cells + i % CELLS, sizeof got);
		gasnet_wait_syncnb(h);
		CHECK(got == v);
	}
	GASNET_BLOCKUNTIL(__atomic_load_n(&answers[thread], __ATOMIC_ACQUIRE) >= before + MESSAGES);
	if (thread == 1) {
		gasnet_put_nbi_val(peer, cells, 1, 8);
		pthread_exit(NULL); // with an operation that nobody has waited for
	}
	return NULL;
}

static volatile int awaited;

static void on_awaited(gasnet_token_t t) {
	(void)t;
	printf("handlers may be where threads are cancelled\n");
	__atomic_store_n(&awaited, 1, __ATOMIC_RELEASE);
}

static void *wait_and_end(void *arg) {
	(void)arg;
	pthread_setspecific(program, &program);
	GASNET_BLOCKUNTIL(__atomic_load_n(&awaited, __ATOMIC_ACQUIRE));
	pthread_testcancel();
	return NULL;
}

// A thread that is cancelled while it waits in the library ends when it is back in the program.
static void cancelled(void) {
	pthread_t t;
	void *result;
	CHECK(pthread_create(&t, NULL, wait_and_end, NULL) == 0);
	usleep(20000); // most likely it waits then, and sleeps; it may also begin later
	CHECK(pthread_cancel(t) == 0);
	OK(gasnet_AMRequestShort0(me, AWAITED));
	CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	CHECK(argc == 2);
	pthread_key_create(&program, NULL);
	pthread_setspecific(program, &program);
	gasnet_handlerentry_t table[] = {{PING, on_ping}, {PONG, on_pong}, {AWAITED, on_awaited}};
	begin(table, 3, (uintptr_t)gasnet_nodes() * THREADS * CELLS * sizeof(uint64_t));
	uint64_t before = 0;
	for (int g = 0; g < GENERATIONS; g++) {
		if (g == 1) {
			before = gasneti_fast_messages(); // from now on there have been several threads
		}
		generation(g, THREADS, work, gasnet_AMPoll); // which serves peers while the threads end
	}
	check_way(argv[1], before, (uint64_t)(GENERATIONS - 1) * THREADS * MESSAGES);
	cancelled();
	BARRIER();
	gasnet_hsl_lock(&lock);
	CHECK(gasnet_hsl_trylock(&lock) == GASNET_ERR_NOT_READY);
	CHECK(locked == (long)GENERATIONS * THREADS * MESSAGES); // as many from all ranks together as each sends
	gasnet_hsl_unlock(&lock);
	CHECK(threads_seen == GENERATIONS * THREADS);
	printf("threads of rank %d are well\n", (int)me);
	return 0;
}
