// Dissemination barrier of any number of processes on any CPUs: in round k process i
// tells process i + 2^k. A waiter polls a bounded number of times, then yields the CPU.

#include "floor.h"
#include <sched.h>

enum { ROUNDS = 8 };

INLINE void disseminate(struct proc *p, long n, int polls, int pauses) {
	char (*flag)[ROUNDS][128] = (void *)p->mem;
	for (long i = 1; i <= n; i++) {
		for (int k = 0, d = 1; d < p->n; k++, d *= 2) {
			publish(flag[(p->me + d) % p->n][k], i);
			for (int s = 0; load(flag[p->me][k]) < (uint64_t)i; s++) {
				if (s >= polls + pauses) sched_yield();
				else if (s >= polls) pause_cpu();
			}
		}
	}
}

static void yield0(struct proc *p, long n) { disseminate(p, n, 0, 0); }
static void poll64(struct proc *p, long n) { disseminate(p, n, 64, 0); }
static void poll256(struct proc *p, long n) { disseminate(p, n, 256, 0); }
static void pause4(struct proc *p, long n) { disseminate(p, n, 0, 4); }
static void pause20(struct proc *p, long n) { disseminate(p, n, 0, 20); }

const struct kind barrier = {
	"barrier", 1, MAXPROCS, 0, 0, MAXPROCS * ROUNDS * 128, MAXPROCS * ROUNDS * 128,
	(const struct variant[]){{"yield", yield0}, {"poll64", poll64}, {"poll256", poll256},
	                         {"pause4", pause4}, {"pause20", pause20}, {0}},
};
