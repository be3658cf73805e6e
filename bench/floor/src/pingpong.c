// Round trips of one flag between two processes.

#include "floor.h"

// send writes a message of the given number of words, its flag, in front, last.
INLINE void send(volatile uint64_t *slot, int words, uint64_t i) {
	for (int k = 1; k < words; k++) slot[k] = i;
	publish((void *)slot, i);
}

INLINE void receive(volatile uint64_t *slot, int words, uint64_t i) {
	await((void *)slot, i);
	for (int k = 1; k < words; k++) (void)slot[k];
}

// trip bounces a message between a slot that only process 0 writes and, gap bytes behind
// it, one that only process 1 writes. With reclaim a process asks for its slot back at
// once, so that its next write need not fetch it.
INLINE void trip(struct proc *p, long n, size_t gap, int words, int reclaim) {
	volatile uint64_t *mine = (void *)(p->mem + p->me * gap);
	volatile uint64_t *other = (void *)(p->mem + !p->me * gap);
	for (long i = 1; i <= n; i++) {
		if (p->me == 1) receive(other, words, i);
		send(mine, words, i);
		if (reclaim) own((void *)mine);
		if (p->me == 0) receive(other, words, i);
	}
}

static void flag64(struct proc *p, long n) { trip(p, n, 64, 1, 0); }
static void flag128(struct proc *p, long n) { trip(p, n, 128, 1, 0); }
static void flag4096(struct proc *p, long n) { trip(p, n, 4096 + 64, 1, 0); }
static void reclaim(struct proc *p, long n) { trip(p, n, 4096 + 64, 1, 1); }
static void slot64(struct proc *p, long n) { trip(p, n, 64, 8, 0); }
static void slot128(struct proc *p, long n) { trip(p, n, 128, 16, 0); }

// rotate uses the next of 64 slots for every message, as a ring does.
static void rotate(struct proc *p, long n) {
	for (long i = 1; i <= n; i++) {
		char *slot = p->mem + i % 64 * 128, *back = slot + 64 * 128 + 64;
		if (p->me == 0) {
			publish(slot, i);
			await(back, i);
		} else {
			await(slot, i);
			publish(back, i);
		}
	}
}

const struct kind pingpong = {
	"pingpong", 2, 2, 1, 0, 65536, 65536,
	(const struct variant[]){{"flag64", flag64}, {"flag128", flag128}, {"flag4096", flag4096},
	                         {"reclaim", reclaim}, {"slot64", slot64}, {"slot128", slot128},
	                         {"rotate", rotate}, {0}},
};

// handoff: both processes write the same word in turn. The line moves once per direction,
// where a line with one writer moves twice (to the reader, and back to be written), so
// this bounds passing a lock and not a pair of channels.

static void word(struct proc *p, long n) {
	for (uint64_t i = 1; i <= (uint64_t)n; i++) {
		if (p->me == 0) {
			publish(p->mem, 2 * i - 1);
			await(p->mem, 2 * i);
		} else {
			await(p->mem, 2 * i - 1);
			publish(p->mem, 2 * i);
		}
	}
}

// line is the same with two words, each with one writer, in one line.
static void line(struct proc *p, long n) { trip(p, n, 32, 1, 0); }

const struct kind handoff = {
	"handoff", 2, 2, 1, 0, 65536, 65536,
	(const struct variant[]){{"word", word}, {"line", line}, {0}},
};
