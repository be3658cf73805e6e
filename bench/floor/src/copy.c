// Bulk data: private memory of one process into the mapping, and out of it into private
// memory of the other.

#include "floor.h"
#include <string.h>

enum { CONTROL = 4096, FULL = 0, FREE = 1024, BUFFERS = 8 << 20 };

// pipeline copies n messages through a ring of buffers of total bytes in all, chunk by
// chunk, process 0 in and process 1 out.
INLINE void pipeline(struct proc *p, long n, size_t chunk, size_t total) {
	char *full = p->mem + FULL, *free = p->mem + FREE, *buffers = p->mem + CONTROL;
	if (chunk > p->size) chunk = p->size;
	uint64_t slots = total / chunk, room = slots, q = 0;
	for (long i = 0; i < n; i++) {
		for (size_t at = 0; at < p->size; at += chunk) {
			size_t len = p->size - at < chunk ? p->size - at : chunk;
			char *slot = buffers + q++ % slots * chunk;
			if (p->me == 0) {
				while (q > room) room = load(free) + slots;
				memcpy(slot, p->buf + at, len);
				publish(full, q);
			} else {
				await(full, q);
				memcpy(p->buf + at, slot, len);
				publish(free, q);
			}
		}
	}
	if (p->me == 0) await(free, q);
}

static void two64k(struct proc *p, long n) { pipeline(p, n, 64 << 10, 128 << 10); }
static void k256(struct proc *p, long n) { pipeline(p, n, 16 << 10, 256 << 10); }
static void m1(struct proc *p, long n) { pipeline(p, n, 64 << 10, 1 << 20); }
static void m4(struct proc *p, long n) { pipeline(p, n, 64 << 10, 4 << 20); }
static void m8(struct proc *p, long n) { pipeline(p, n, 256 << 10, 8 << 20); }

const struct kind copy = {
	"copy", 2, 2, 1, 1, CONTROL, CONTROL + BUFFERS,
	(const struct variant[]){{"2x64k", two64k}, {"256k", k256}, {"1m", m1}, {"4m", m4}, {"8m", m8}, {0}},
};

// same copies every message to the same place of the mapping, where nobody reads it.
static void same(struct proc *p, long n) {
	for (long i = 0; i < n; i++) {
		memcpy(p->mem + CONTROL, p->buf, p->size);
		__asm__ volatile("" : : "r"(p->mem) : "memory");
	}
}

const struct kind memcopy = {
	"memcpy", 1, 1, 0, 1, CONTROL, CONTROL + BUFFERS,
	(const struct variant[]){{"same", same}, {0}},
};
