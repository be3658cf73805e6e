// One-way stream of short messages: a ring of 256 slots whose flag is the message's
// number, with a cumulative credit returned every quarter of the ring.

#include "floor.h"

enum { SLOTS = 256, WORDS = 4, CREDIT = SLOTS / 4, RING = 4096 };

// stream sends n messages of WORDS words in slots stride bytes apart; the sender asks
// for the line of the slot ahead messages on (0: never).
INLINE void stream(struct proc *p, long n, size_t stride, int ahead) {
	char *slots = p->mem + RING, *credit = p->mem;
	uint64_t room = SLOTS;
	for (uint64_t i = 1; i <= (uint64_t)n; i++) {
		volatile uint64_t *slot = (void *)(slots + i % SLOTS * stride);
		if (p->me == 0) {
			while (i > room) room = load(credit) + SLOTS;
			if (ahead) own(slots + (i + ahead) % SLOTS * stride);
			for (int k = 1; k < WORDS; k++) slot[k] = i;
			publish((void *)slot, i);
		} else {
			await((void *)slot, i);
			for (int k = 1; k < WORDS; k++) (void)slot[k];
			if (i % CREDIT == 0 || i == (uint64_t)n) publish(credit, i);
		}
	}
	if (p->me == 0) await(credit, n);
}

static void s128(struct proc *p, long n) { stream(p, n, 128, 0); }
static void s128own2(struct proc *p, long n) { stream(p, n, 128, 2); }
static void s128own4(struct proc *p, long n) { stream(p, n, 128, 4); }
static void s64(struct proc *p, long n) { stream(p, n, 64, 0); }
static void s64own2(struct proc *p, long n) { stream(p, n, 64, 2); }

const struct kind ring = {
	"ring", 2, 2, 1, 0, RING + SLOTS * 128, RING + SLOTS * 128,
	(const struct variant[]){{"128", s128}, {"128own2", s128own2}, {"128own4", s128own4},
	                         {"64", s64}, {"64own2", s64own2}, {0}},
};
