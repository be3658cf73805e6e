// threads OP CPU,CPU N measures what N threads of a rank, one or two, do at the same time, each on its CPU; the rank is alone in the
// job. It answers on standard input and output as the floors do: it says "ready", then answers each line "run N" with
// "ok NAME=NS", the nanoseconds until each thread has done one of N operations, after a tenth as many. It ends at end of input.
//
// The operations below "of pthreads" do not call the library: they are what it costs to hand something over at all.

#define _GNU_SOURCE
#include "common.h"

#include <pthread.h>

enum { PING = 200, PONG, MAXRUN = 1 << 30, LINE = 128 };

// What a thread writes and another one looks at, on cache lines of its own.
struct word {
	_Alignas(LINE) volatile long value;
};
static struct word answers[2], turn;

static long count;  // of operations of the present run; 0: the end
static int threads; // that take part
static const struct operation *operation;
static pthread_barrier_t gate;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void on_ping(gasnet_token_t t, int self) { ok(gasnet_AMReplyShort1(t, PONG, self)); }

static void on_pong(gasnet_token_t t, int self) {
	(void)t;
	__atomic_store_n(&answers[self].value, answers[self].value + 1, __ATOMIC_RELEASE);
}

static void polls(int self, long n) {
	(void)self;
	for (; n > 0; n--) {
		ok(gasnet_AMPoll());
	}
}

// Round trips to the rank itself. Either thread may run the handlers.
static void trips(int self, long n) {
	for (; n > 0; n--) {
		long want = answers[self].value + 1;
		ok(gasnet_AMRequestShort1(0, PING, self));
		GASNET_BLOCKUNTIL(__atomic_load_n(&answers[self].value, __ATOMIC_ACQUIRE) >= want);
	}
}

// Of pthreads.

static void locks(int self, long n) {
	(void)self;
	for (; n > 0; n--) {
		pthread_mutex_lock(&mutex);
		turn.value++;
		pthread_mutex_unlock(&mutex);
	}
}

// A thread waits for its turn, and gives it to the other.

static void words(int self, long n) {
	for (; n > 0; n--) {
		while (__atomic_load_n(&turn.value, __ATOMIC_ACQUIRE) % threads != self) {
		}
		__atomic_store_n(&turn.value, turn.value + 1, __ATOMIC_RELEASE);
	}
}

static void conds(int self, long n) {
	pthread_mutex_lock(&mutex);
	for (; n > 0; n--) {
		while (turn.value % threads != self) {
			pthread_cond_wait(&changed, &mutex);
		}
		turn.value++;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&mutex);
}

static const struct operation {
	const char *name;
	void (*work)(int self, long n);
} operations[] = {{"poll", polls}, {"pingpong", trips}, {"mutex", locks}, {"word", words}, {"cond", conds}, {NULL, NULL}};

static void pass(void) {
	if (threads > 1) {
		pthread_barrier_wait(&gate);
	}
}

static void *follow(void *cpus) {
	pin(cpus, 1);
	for (;;) {
		pass();
		if (count == 0) {
			return NULL;
		}
		operation->work(1, count);
		pass();
	}
}

static double run(long n) {
	count = n;
	turn.value = 0;
	pass();
	double start = now();
	if (n > 0) {
		operation->work(0, n);
		pass();
	}
	return (now() - start) / (double)(n > 0 ? n : 1);
}

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {{PING, on_ping}, {PONG, on_pong}};
	ok(gasnet_init(&argc, &argv));
	if (argc != 4 || gasnet_nodes() != 1) {
		die("want an operation, CPUs, how many threads, and one rank");
	}
	for (operation = operations; operation->name != NULL && strcmp(operation->name, argv[1]) != 0; operation++) {
	}
	if (operation->name == NULL) {
		die("unknown operation");
	}
	threads = argv[3][0] == '2' ? 2 : 1;
	pin(argv[2], 0);
	ok(gasnet_attach(table, sizeof table / sizeof *table, GASNET_PAGESIZE, 0));
	pthread_t other;
	pthread_barrier_init(&gate, NULL, 2);
	if (threads > 1 && pthread_create(&other, NULL, follow, argv[2]) != 0) {
		die("there is no second thread");
	}
	puts("ready");
	fflush(stdout);
	char line[64];
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *end;
		long n = strncmp(line, "run ", 4) == 0 ? strtol(line + 4, &end, 10) : 0;
		if (n < 1 || n > MAXRUN || *end != '\n') {
			die("bad order");
		}
		run(n / 10 + 1);
		printf("ok gasnet=%.3f\n", run(n));
		fflush(stdout);
	}
	run(0);
	if (threads > 1) {
		pthread_join(other, NULL);
	}
	gasnet_exit(0);
}
