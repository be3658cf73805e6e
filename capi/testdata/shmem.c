// Programs for OpenSHMEM, one after the other.

#include "shmem.h"

static int me, n;

// A token goes around, and every PE adds itself.
static void ring(void) {
	long *token = shmem_malloc(sizeof *token), *round = shmem_malloc(sizeof *round);
	*token = *round = 0;
	shmem_barrier_all();
	for (long r = 1; r <= 20; r++) {
		if (me == 0) {
			shmem_long_p(token, *token + 1, 1 % n);
			shmem_fence();
			shmem_long_p(round, n == 1 ? 2 * r : r, 1 % n);
			shmem_long_wait_until(round, SHMEM_CMP_GE, r);
		} else {
			shmem_long_wait_until(round, SHMEM_CMP_EQ, r);
			shmem_long_p(token, *token + me + 1, (me + 1) % n);
			shmem_fence();
			shmem_long_p(round, r, (me + 1) % n);
		}
	}
	CHECK(me != 0 || *token == 20L * n * (n + 1) / 2);
	shmem_barrier_all();
}

// A square matrix of n by n blocks is transposed by strided puts.
static void transpose(void) {
	enum { B = 5 };
	int width = n * B;
	double *a = shmem_malloc((size_t)(B * width) * sizeof *a), *b = shmem_malloc((size_t)(B * width) * sizeof *b);
	for (int i = 0; i < B * width; i++) {
		a[i] = (me * B + i / width) * 1000.0 + i % width;
	}
	shmem_barrier_all();
	for (int column = 0; column < width; column++) { // becomes a row
		shmem_double_iput(b + (column % B) * width + me * B, a + column, 1, width, B, column / B);
	}
	shmem_barrier_all();
	for (int i = 0; i < B * width; i++) {
		CHECK(b[i] == (i % width) * 1000.0 + me * B + i / width);
	}
	double row[B];
	shmem_double_iget(row, b, 1, width, B, (me + 1) % n); // its first column
	for (int i = 0; i < B; i++) {
		CHECK(row[i] == (me + 1) % n * B + i);
	}
	shmem_barrier_all();
}

static void atomics(void) {
	long *counter = shmem_malloc(sizeof *counter), *lock = shmem_malloc(sizeof *lock), *sum = shmem_malloc(sizeof *sum);
	int *bits = shmem_malloc(2 * sizeof *bits);
	*counter = *lock = *sum = 0;
	bits[0] = -1;
	bits[1] = 77;
	shmem_barrier_all();
	unsigned char mine[200] = {0};
	for (int i = 0; i < 200 / n; i++) { // tickets, each once
		mine[shmem_long_atomic_fetch_inc(counter, n - 1)]++;
	}
	for (int i = 0; i < 20; i++) {
		shmem_set_lock(lock);
		shmem_long_p(sum, shmem_long_g(sum, 0) + 1, 0);
		shmem_clear_lock(lock);
	}
	shmem_int_atomic_fetch_xor(bits, 1 << me, 0);
	shmem_barrier_all();
	CHECK(shmem_long_g(sum, 0) == 20 * n && shmem_long_atomic_fetch(counter, n - 1) == 200 / n * n);
	CHECK(me != 0 || (bits[0] == (-1 ^ ((1 << n) - 1)) && bits[1] == 77));
	int all[200], own[200];
	for (int i = 0; i < 200; i++) {
		own[i] = mine[i];
	}
	shmem_int_sum_reduce(SHMEM_TEAM_WORLD, all, own, 200);
	for (int i = 0; i < 200; i++) {
		CHECK(all[i] == (i < 200 / n * n));
	}
	if (me == 0) {
		CHECK(shmem_int_atomic_swap(bits, 5, n - 1) == (n == 1 ? -2 : -1) && shmem_int_atomic_compare_swap(bits, 4, 6, n - 1) == 5);
		CHECK(shmem_int_atomic_compare_swap(bits, 5, 6, n - 1) == 5 && shmem_int_atomic_fetch_add(bits, -10, n - 1) == 6);
		CHECK(shmem_int_atomic_fetch(bits, n - 1) == -4 && shmem_int_atomic_fetch_or(bits, 3, n - 1) == -4 && shmem_int_atomic_fetch_and(bits, 0, n - 1) == -1);
	}
	shmem_barrier_all();
}

// Blocks go to the next PE with a signal.
static void signals(void) {
	enum { BLOCK = 10000 };
	char *in = shmem_malloc(BLOCK), out[BLOCK];
	uint64_t *signal = shmem_malloc(sizeof *signal);
	*signal = 0;
	shmem_barrier_all();
	for (uint64_t round = 1; round <= 10; round++) {
		memset(out, me + (int)round, BLOCK);
		shmem_putmem_signal(in, out, BLOCK, signal, 1, SHMEM_SIGNAL_ADD, (me + 1) % n);
		shmem_long_wait_until((long *)signal, SHMEM_CMP_GE, (long)round);
		for (int i = 0; i < BLOCK; i++) {
			CHECK(in[i] == (char)((me + n - 1) % n + (int)round));
		}
		shmem_barrier_all();
	}
	char *near = shmem_ptr(in, (me + 1) % n);
	CHECK(near == NULL || near[5] == (char)(me + 10));
	shmem_getmem_nbi(out, in, BLOCK, (me + 1) % n);
	shmem_quiet();
	CHECK(out[BLOCK - 1] == (char)(me + 10));
	shmem_barrier_all();
}

static void collectives(void) {
	long from[64], all[64], got;
	double most[3], values[3] = {me * 1.5, -me, 4};
	for (int i = 0; i < 64; i++) {
		from[i] = me * 100 + i;
	}
	for (int root = 0; root < n; root++) {
		shmem_broadcastmem(SHMEM_TEAM_WORLD, &got, from + root, sizeof got, root);
		CHECK(got == root * 101);
	}
	shmem_fcollectmem(SHMEM_TEAM_WORLD, all, from + 3, sizeof *from);
	shmem_alltoallmem(SHMEM_TEAM_WORLD, all + n, from, sizeof *from);
	for (int i = 0; i < n; i++) {
		CHECK(all[i] == i * 100 + 3 && all[n + i] == i * 100 + me);
	}
	shmem_double_max_reduce(SHMEM_TEAM_WORLD, most, values, 3);
	CHECK(most[0] == (n - 1) * 1.5 && most[1] == 0 && most[2] == 4);

	shmem_team_t even;
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &even);
	CHECK((even == SHMEM_TEAM_INVALID) == (me % 2 != 0));
	if (even != SHMEM_TEAM_INVALID) {
		CHECK(shmem_team_n_pes(even) == (n + 1) / 2 && shmem_team_my_pe(even) == me / 2);
		CHECK(shmem_team_translate_pe(even, me / 2, SHMEM_TEAM_WORLD) == me);
		long one = 1, members = 0;
		shmem_long_sum_reduce(even, &members, &one, 1);
		CHECK(members == (n + 1) / 2);
		shmem_team_sync(even);
	}
}

int main(void) {
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	ring();
	transpose();
	atomics();
	signals();
	collectives();
	shmem_finalize();
	printf("PE %d of %d is right\n", me, n);
	return 0;
}
