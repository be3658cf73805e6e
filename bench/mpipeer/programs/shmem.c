// peer OP CPU,CPU,... BYTES measures an operation of the OpenSHMEM library that it is compiled with, as the program for MPI libraries
// does: started by oshrun, it answers on PE 0's standard input and output as the floors do. "peer start" says "ready" when all PEs have
// come through a barrier, and ends.
//
// Between two answers no PE stays on its CPU: PE 0 waits for its input, and the others look for its word once a millisecond.

#ifdef PEER_SHMEM // all programs are compiled at once, and one of them is not empty

#include "peer.h"
#include "kernels.h"
#include <shmem.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

static void die(const char *what) {
	fprintf(stderr, "peer: %s\n", what);
	shmem_global_exit(1);
	exit(1);
}

// leave ends the job. shmem_finalize of Open MPI 4.1.4 in Debian 12 does not survive itself, so it is not called.
static int leave(void) {
	shmem_barrier_all();
	shmem_global_exit(0);
	return 0;
}

static uint64_t *dst, *src; // symmetric, as all that is remote
static int bytes;

// Collective calls that follow each other have these in turn: who returns from a call knows that all have begun it, and left the
// one before.
enum { SYNC = SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE };
static long *sync_words[2];
static long long *reduced; // for the library's own use
static int turn;

static long *sync_turn(void) { return sync_words[turn = 1 - turn]; }

static void barrier(void) { shmem_barrier_all(); }

static void broadcast(void) {
	shmem_broadcast64(dst, src, bytes / sizeof *src, 0, 0, 0, ranks, sync_turn());
	shmem_barrier_all();
}

static void allreduce(void) {
	shmem_longlong_sum_to_all((long long *)dst, (long long *)src, bytes / sizeof *src, 0, 0, ranks, reduced, sync_turn());
}

static void alltoall(void) { shmem_alltoall64(dst, src, bytes / sizeof *src, 0, 0, ranks, sync_turn()); }

// What follows is between PEs 0 and 1.

static long *flag; // how many messages have arrived

// notify puts the payload, and behind it the number of the message.
static void notify(int pe, long n) {
	if (bytes > 0) {
		shmem_putmem(dst, src, bytes, pe);
		shmem_fence();
	}
	shmem_long_p(flag, n, pe);
}

static long trips;

static void pingpong(void) {
	trips++;
	if (rank == 0) notify(1, trips);
	if (rank < 2) shmem_long_wait_until(flag, SHMEM_CMP_GE, trips);
	if (rank == 1) notify(0, trips);
}

static void put(void) {
	if (rank != 0) return;
	shmem_putmem(dst, src, bytes, 1);
	shmem_quiet();
}

static void get(void) {
	if (rank == 0) shmem_getmem(dst, src, bytes, 1);
}

enum { WINDOW = 64 };

// many completes WINDOW accesses at once.
static void many(void) {
	static int n;
	if (++n % WINDOW == 0) shmem_quiet();
}

static void putnb(void) {
	if (rank != 0) return;
	shmem_putmem_nbi(dst, src, bytes, 1);
	many();
}

static void getnb(void) {
	if (rank != 0) return;
	shmem_getmem_nbi(dst, src, bytes, 1);
	many();
}

static void fetchadd(void) {
	if (rank == 0) shmem_ulonglong_atomic_fetch_add((unsigned long long *)dst, 1, 1);
}

// What follows is of all PEs together.

static uint64_t *table, random_word;

static void gups(void) {
	random_word = next_random(random_word);
	shmem_uint64_atomic_xor(&table[random_word % TABLEWORDS], random_word, owner(random_word, ranks));
}

static double *grids[2];
static int present;

// stencil computes a step: the outermost rows first, which travel while the others are computed.
static void stencil(void) {
	double *now = grids[present], *next = grids[1 - present];
	relax(next, now, 0);
	relax(next, now, ROWS - 1);
	if (rank > 0) shmem_putmem_nbi(next + (ROWS + 1) * COLS, next + COLS, COLS * sizeof *next, rank - 1);
	if (rank < ranks - 1) shmem_putmem_nbi(next, next + ROWS * COLS, COLS * sizeof *next, rank + 1);
	for (int i = 1; i < ROWS - 1; i++) relax(next, now, i);
	shmem_barrier_all(); // which completes the puts
	present = 1 - present;
}

static const struct op {
	const char *name;
	void (*run)(void);
	int blocks; // BYTES are those of the block that every PE has for each
} ops[] = {{"barrier", barrier, 0}, {"broadcast", broadcast, 0}, {"allreduce", allreduce, 0}, {"alltoall", alltoall, 1}, {"pingpong", pingpong, 0},
	{"put", put, 0}, {"get", get, 0}, {"putnb", putnb, 0}, {"getnb", getnb, 0}, {"fetchadd", fetchadd, 0}, {"gups", gups, 0}, {"stencil", stencil, 0}, {0}};

// buffer returns n bytes of symmetric memory that was written.
static void *buffer(size_t n) {
	void *p = shmem_align(4096, (n + 4096) & ~(size_t)4095);
	if (p == NULL) die("out of symmetric memory; raise SHMEM_SYMMETRIC_HEAP_SIZE");
	return memset(p, 1, n);
}

static double now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// measure runs n operations and returns how long one took, until every PE was done.
static double measure(const struct op *op, long n) {
	long mine = op->run == gups ? (n + ranks - 1) / ranks : n; // updates are divided among the PEs
	random_word = 1 | (uint64_t)rank << 32;
	shmem_barrier_all();
	double start = now_ns();
	for (long i = 0; i < mine; i++) op->run();
	shmem_barrier_all(); // which completes what is under way
	return (now_ns() - start) / n;
}

static long *told; // two, in turn: a number of operations, plus one

// agree gives every PE the count that PE 0 was told.
static long agree(void) {
	static int round;
	long *word = &told[round++ % 2];
	if (rank == 0) {
		long n = command();
		for (int pe = 0; pe < ranks; pe++) shmem_long_p(word, n + 1, pe);
		shmem_quiet();
	}
	while (!shmem_long_test(word, SHMEM_CMP_NE, 0)) {
		shmem_quiet(); // shmem_long_test of Open MPI 4.1.4 lets nothing else go on
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	long n = *word - 1;
	*word = 0; // before the barriers of what is measured, and so before PE 0 writes it again
	return n;
}

int main(int argc, char **argv) {
	prctl(PR_SET_PDEATHSIG, SIGKILL); // die with the launcher
	shmem_init();
	rank = shmem_my_pe();
	ranks = shmem_n_pes();
	if (argc == 2 && strcmp(argv[1], "start") == 0) {
		shmem_barrier_all();
		say("ready");
		return leave();
	}
	const struct op *op = ops;
	while (argc == 4 && op->name != NULL && strcmp(op->name, argv[1]) != 0) op++;
	if (argc != 4 || op->name == NULL) die("usage: peer OP CPUS BYTES; OP is barrier, broadcast, allreduce, alltoall, pingpong, put, get, putnb, getnb, fetchadd, gups or stencil");
	pin(argv[2]);
	bytes = atoi(argv[3]);
	if (bytes < 0 || bytes > MAXBYTES || bytes % sizeof *src != 0) die("size must be 0 to 4194304 bytes, a multiple of 8");
	size_t each = op->blocks ? (size_t)bytes * ranks : (size_t)bytes;
	if (each > MAXBLOCKS) die("the blocks of a PE come to more than 16777216 bytes");
	dst = buffer(each);
	src = buffer(each);
	reduced = buffer((bytes / sizeof *reduced / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof *reduced);
	for (int t = 0; t < 2; t++) {
		sync_words[t] = buffer(SYNC * sizeof(long));
		for (int i = 0; i < SYNC; i++) sync_words[t][i] = SHMEM_SYNC_VALUE;
	}
	flag = memset(buffer(sizeof *flag), 0, sizeof *flag);
	told = memset(buffer(2 * sizeof *told), 0, 2 * sizeof *told);
	table = buffer(TABLEWORDS * sizeof *table);
	for (int g = 0; g < 2; g++) fill_grid(grids[g] = buffer(GRID * sizeof *grids[g]), rank, ranks);
	shmem_barrier_all();
	say("ready");
	for (long n; (n = agree()) > 0;) {
		measure(op, n); // to warm up, and until all else on these CPUs has gone to sleep
		answer(measure(op, n));
	}
	return leave();
}

#endif
