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

// The floors of one process use one place of the mapping. Which way of copying is best
// depends on the size and the CPU: the library's, the CPU's string instruction, which Go
// uses as well, or vectors of the baseline; and the library's with the place at another offset of its
// page than the private memory.
enum { SHIFT = 1024 + 64 };

INLINE void string_copy(void *dst, const void *src, size_t n) {
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
#else
	memcpy(dst, src, n);
#endif
}

typedef char vector __attribute__((vector_size(16), aligned(1)));

INLINE void vector_copy(char *dst, const char *src, size_t n) {
	for (; n >= 64; n -= 64, dst += 64, src += 64)
		for (int k = 0; k < 4; k++) ((vector *)dst)[k] = ((const vector *)src)[k];
	for (; n >= 8; n -= 8, dst += 8, src += 8) memcpy(dst, src, 8);
	while (n-- > 0) *dst++ = *src++;
}

// Each message is stored anew.
#define REPEAT(n, dst, copy) \
	for (long i = 0; i < n; i++) { \
		copy; \
		__asm__ volatile("" : : "r"(dst) : "memory"); \
	}

INLINE void libc(struct proc *p, long n, char *dst, const char *src) { REPEAT(n, dst, memcpy(dst, src, p->size)) }
INLINE void string(struct proc *p, long n, char *dst, const char *src) { REPEAT(n, dst, string_copy(dst, src, p->size)) }
INLINE void vectors(struct proc *p, long n, char *dst, const char *src) { REPEAT(n, dst, vector_copy(dst, src, p->size)) }

static void in_libc(struct proc *p, long n) { libc(p, n, p->mem + CONTROL, p->buf); }
static void in_shift(struct proc *p, long n) { libc(p, n, p->mem + CONTROL + SHIFT, p->buf); }
static void in_string(struct proc *p, long n) { string(p, n, p->mem + CONTROL, p->buf); }
static void in_vectors(struct proc *p, long n) { vectors(p, n, p->mem + CONTROL, p->buf); }

const struct kind memcopy = {
	"memcpy", 1, 1, 0, 1, CONTROL, CONTROL + BUFFERS,
	(const struct variant[]){{"libc", in_libc}, {"shift", in_shift}, {"string", in_string}, {"vectors", in_vectors}, {0}},
};

static void out_libc(struct proc *p, long n) { libc(p, n, p->buf, p->mem + CONTROL); }
static void out_shift(struct proc *p, long n) { libc(p, n, p->buf, p->mem + CONTROL + SHIFT); }
static void out_string(struct proc *p, long n) { string(p, n, p->buf, p->mem + CONTROL); }
static void out_vectors(struct proc *p, long n) { vectors(p, n, p->buf, p->mem + CONTROL); }

const struct kind fetch = {
	"fetch", 1, 1, 0, 1, CONTROL, CONTROL + BUFFERS,
	(const struct variant[]){{"libc", out_libc}, {"shift", out_shift}, {"string", out_string}, {"vectors", out_vectors}, {0}},
};
