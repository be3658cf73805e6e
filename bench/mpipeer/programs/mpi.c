// peer OP CPU,CPU,... BYTES [multiple] measures an operation of the MPI library that it is compiled
// with, a collective one or one between ranks 0 and 1, rank i on the i-th CPU; multiple, with
// MPI_THREAD_MULTIPLE. "peer start" says "ready" when all ranks have come through a barrier, and ends. Started by mpirun, it answers on rank 0's standard input and output as the
// floors do: it says "ready", then answers each line "run N" with
// "ok peer=NS", the nanoseconds of one of N operations. It ends at end of input.
//
// Between two answers no rank stays on its CPU, so that others can be measured there: MPI
// waits spin, therefore rank 0 waits for its input before it calls MPI, and the others look
// for its word once a millisecond.

#ifdef PEER_MPI // all programs are compiled at once, and one of them is not empty

#include "peer.h"
#include "kernels.h"
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

static void die(const char *what) {
	fprintf(stderr, "peer: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static uint64_t *dst, *src;
static int bytes;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void broadcast(void) {
	MPI_Bcast(dst, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void) {
	MPI_Allreduce(src, dst, bytes / sizeof *src, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void) {
	MPI_Alltoall(src, bytes, MPI_BYTE, dst, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

// What follows is between ranks 0 and 1.

static void pingpong(void) {
	if (rank == 0) {
		MPI_Send(src, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(dst, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		MPI_Recv(dst, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(src, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
}

enum { WINDOW = 64 };

static MPI_Request under_way[WINDOW];
static int next_slot;

// stream sends one way, with up to WINDOW messages under way on both sides.
static void stream(void) {
	MPI_Request *r = &under_way[next_slot++ % WINDOW];
	MPI_Wait(r, MPI_STATUS_IGNORE);
	if (rank == 0) MPI_Isend(src, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, r);
	if (rank == 1) MPI_Irecv(dst, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, r);
}

static MPI_Win window = MPI_WIN_NULL; // of one-sided operations: between hosts Open MPI may have none

// What follows is of all ranks together.

static uint64_t *table, *updates, *sorted, *arrived, random_word;
static int waiting, *counts; // of updates that wait; of those for each rank, and from each, and where they begin

// apply exchanges the updates that wait, and applies those that arrive.
static void apply(void) {
	int *to = counts, *from = to + ranks, *begin = from + ranks, *first = begin + ranks, all = 0;
	memset(to, 0, ranks * sizeof *to);
	for (int i = 0; i < waiting; i++) to[owner(updates[i], ranks)]++;
	begin[0] = first[0] = 0;
	for (int r = 1; r < ranks; r++) begin[r] = begin[r - 1] + to[r - 1];
	for (int i = 0; i < waiting; i++) sorted[begin[owner(updates[i], ranks)]++] = updates[i];
	for (int r = 0; r < ranks; r++) begin[r] -= to[r];
	MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		first[r] = all;
		all += from[r];
	}
	MPI_Alltoallv(sorted, to, begin, MPI_UINT64_T, arrived, from, first, MPI_UINT64_T, MPI_COMM_WORLD);
	for (int i = 0; i < all; i++) table[arrived[i] % TABLEWORDS] ^= arrived[i];
	waiting = 0;
}

static void gups(void) {
	random_word = next_random(random_word);
	updates[waiting++] = random_word;
	if (waiting == LOOKAHEAD) apply();
}

static double *grids[2];
static int present;

// stencil computes a step: the outermost rows first, which travel while the others are computed.
static void stencil(void) {
	double *now = grids[present], *next = grids[1 - present];
	int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	MPI_Request halos[4];
	MPI_Irecv(next, COLS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &halos[0]);
	MPI_Irecv(next + (ROWS + 1) * COLS, COLS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &halos[1]);
	relax(next, now, 0);
	relax(next, now, ROWS - 1);
	MPI_Isend(next + COLS, COLS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &halos[2]);
	MPI_Isend(next + ROWS * COLS, COLS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &halos[3]);
	for (int i = 1; i < ROWS - 1; i++) relax(next, now, i);
	MPI_Waitall(4, halos, MPI_STATUSES_IGNORE);
	present = 1 - present;
}

// drain completes what is under way.
static void drain(void) {
	MPI_Waitall(WINDOW, under_way, MPI_STATUSES_IGNORE);
	if (waiting > 0) apply();
	if (window != MPI_WIN_NULL) MPI_Win_flush_all(window);
}

static void put(void) {
	if (rank != 0) return;
	MPI_Put(src, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
	MPI_Win_flush(1, window);
}

static void get(void) {
	if (rank != 0) return;
	MPI_Get(dst, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
	MPI_Win_flush(1, window);
}

// many flushes once for WINDOW accesses.
static void many(void) {
	if (++next_slot % WINDOW == 0) MPI_Win_flush(1, window);
}

static void putnb(void) {
	if (rank != 0) return;
	MPI_Put(src, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
	many();
}

static void getnb(void) {
	if (rank != 0) return;
	MPI_Get(dst, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
	many();
}

static void fetchadd(void) {
	if (rank != 0) return;
	MPI_Fetch_and_op(src, dst, MPI_UINT64_T, 1, 0, MPI_SUM, window);
	MPI_Win_flush(1, window);
}

static const struct op {
	const char *name;
	void (*run)(void);
	int blocks; // BYTES are those of the block that every rank has for each
	int one_sided;
} ops[] = {{"barrier", barrier, 0, 0}, {"broadcast", broadcast, 0, 0}, {"allreduce", allreduce, 0, 0}, {"alltoall", alltoall, 1, 0},
	{"pingpong", pingpong, 0, 0}, {"stream", stream, 0, 0}, {"put", put, 0, 1}, {"get", get, 0, 1}, {"putnb", putnb, 0, 1}, {"getnb", getnb, 0, 1},
	{"fetchadd", fetchadd, 0, 1}, {"gups", gups, 0, 0}, {"stencil", stencil, 0, 0}, {0}};

// buffer returns n bytes of memory that was written.
static void *buffer(size_t n) {
	void *p = aligned_alloc(4096, (n + 4096) & ~(size_t)4095);
	if (p == NULL) die("out of memory");
	return memset(p, 1, n);
}

// prepare makes what gups and stencil work on.
static void prepare(void) {
	table = buffer(TABLEWORDS * sizeof *table);
	updates = buffer(LOOKAHEAD * sizeof *updates);
	sorted = buffer(LOOKAHEAD * sizeof *sorted);
	arrived = buffer((size_t)ranks * LOOKAHEAD * sizeof *arrived);
	counts = buffer((size_t)ranks * 4 * sizeof *counts);
	for (int g = 0; g < 2; g++) fill_grid(grids[g] = buffer(GRID * sizeof *grids[g]), rank, ranks);
}

// measure runs n operations and returns how long one took, until every rank was done.
static double measure(const struct op *op, long n) {
	long mine = op->run == gups ? (n + ranks - 1) / ranks : n; // updates are divided among the ranks
	random_word = 1 | (uint64_t)rank << 32;
	MPI_Barrier(MPI_COMM_WORLD);
	double start = MPI_Wtime();
	for (long i = 0; i < mine; i++) op->run();
	drain();
	MPI_Barrier(MPI_COMM_WORLD);
	return (MPI_Wtime() - start) * 1e9 / n;
}

// agree gives every rank the count that rank 0 was told.
static long agree(void) {
	long n = rank == 0 ? command() : 0;
	MPI_Request told;
	MPI_Ibcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD, &told);
	for (int done = 0;;) {
		MPI_Test(&told, &done, MPI_STATUS_IGNORE);
		if (done) return n;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

int main(int argc, char **argv) {
	prctl(PR_SET_PDEATHSIG, SIGKILL); // die with the launcher
	int level = argc > 4 && strcmp(argv[4], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
	if (level == MPI_THREAD_SINGLE) MPI_Init(&argc, &argv);
	else MPI_Init_thread(&argc, &argv, level, &level);
	argc -= level != MPI_THREAD_SINGLE;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 2 && strcmp(argv[1], "start") == 0) {
		MPI_Barrier(MPI_COMM_WORLD);
		say("ready");
		MPI_Finalize();
		return 0;
	}
	const struct op *op = ops;
	while (argc == 4 && op->name != NULL && strcmp(op->name, argv[1]) != 0) op++;
	if (argc != 4 || op->name == NULL) die("usage: peer OP CPUS BYTES; OP is barrier, broadcast, allreduce, alltoall, pingpong, stream, put, get, putnb, getnb, fetchadd, gups or stencil");
	pin(argv[2]);
	bytes = atoi(argv[3]);
	if (bytes < 0 || bytes > MAXBYTES || bytes % sizeof *src != 0) die("size must be 0 to 4194304 bytes, a multiple of 8");
	size_t each = op->blocks ? (size_t)bytes * ranks : (size_t)bytes;
	if (each > MAXBLOCKS) die("the blocks of a rank come to more than 16777216 bytes");
	dst = buffer(each);
	src = buffer(each);
	prepare();
	for (int i = 0; i < WINDOW; i++) under_way[i] = MPI_REQUEST_NULL;
	void *exposed;
	if (op->one_sided) {
		MPI_Win_allocate(each < 8 ? 8 : each, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
		MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	say("ready");
	for (long n; (n = agree()) > 0;) {
		measure(op, n); // to warm up, and until all else on these CPUs has gone to sleep
		answer(measure(op, n));
	}
	if (op->one_sided) {
		MPI_Win_unlock_all(window);
		MPI_Win_free(&window);
	}
	MPI_Finalize();
}

#endif
