// Round trips of a message with payload between two processes. Process 0 copies it from
// private memory to a place of its own in the mapping; process 1, once all of it is there,
// copies it from there to a place of its own. Nobody copies the answer out, as the handler
// of an answer gets it in place.

#include "floor.h"
#include <string.h>

enum { CONTROL = 4096, LIMIT = 4 << 20, INLINE_FLAG = 8 };

// trip bounces n messages whose flag lies at flag[who] and whose payload at place[who], or
// in one of several places in a row from there, taken in turn.
INLINE void trip(struct proc *p, long n, char *flag[2], char *place[2], long places) {
	size_t stride = (p->size + 127) & ~(size_t)127;
	for (long i = 1; i <= n; i++) {
		size_t at = i % places * stride;
		if (p->me == 0) {
			memcpy(place[0] + at, p->buf, p->size);
			publish(flag[0], i);
			await(flag[1], i);
		} else {
			await(flag[0], i);
			memcpy(place[1] + at, place[0] + at, p->size);
			publish(flag[1], i);
		}
	}
}

// The two places lie apart, and not at the same offset of a page: there a load waits for
// an earlier store on some CPUs.
enum { GAP = LIMIT + 4096 + 1024 };

// apart has the flags in lines of their own.
static void apart(struct proc *p, long n) {
	char *data = p->mem + CONTROL;
	trip(p, n, (char *[]){p->mem, p->mem + 1024}, (char *[]){data, data + GAP}, 1);
}

// rotate is apart with as many places as fit, up to 64: a process that writes one again
// does not find it in the other's cache any more.
static void rotate(struct proc *p, long n) {
	char *data = p->mem + CONTROL;
	long fit = LIMIT / ((p->size + 127) & ~(size_t)127);
	trip(p, n, (char *[]){p->mem, p->mem + 1024}, (char *[]){data, data + GAP}, fit < 1 ? 1 : fit > 64 ? 64 : fit);
}

// front has the flag in front of the payload, so that a small message is one line.
static void front(struct proc *p, long n) {
	char *data = p->mem + CONTROL;
	publish(data + p->me * GAP, 0); // the run before may have left a number
	publish(p->mem + 2048 + p->me * 128, 1);
	await(p->mem + 2048 + !p->me * 128, 1);
	trip(p, n, (char *[]){data, data + GAP}, (char *[]){data + INLINE_FLAG, data + GAP + INLINE_FLAG}, 1);
}

const struct kind echo = {
	"echo", 2, 2, 1, 1, CONTROL, CONTROL + 2 * GAP,
	(const struct variant[]){{"apart", apart}, {"rotate", rotate}, {"front", front}, {0}},
};
