// Fetch-and-add of one process on a word of the mapping, alone in its line, that nobody
// else touches.

#include "floor.h"

enum { WORD = 128 };

static uint64_t sink;

INLINE void add(struct proc *p, long n, int order) {
	uint64_t *word = (void *)(p->mem + WORD), sum = 0;
	for (long i = 0; i < n; i++) sum += __atomic_fetch_add(word, 1, order);
	sink = sum; // the results are used, so that each is fetched
}

static void seq(struct proc *p, long n) { add(p, n, __ATOMIC_SEQ_CST); }
static void relaxed(struct proc *p, long n) { add(p, n, __ATOMIC_RELAXED); }

const struct kind fetchadd = {
	"fetchadd", 1, 1, 0, 0, 4096, 4096,
	(const struct variant[]){{"seq", seq}, {"relaxed", relaxed}, {0}},
};
