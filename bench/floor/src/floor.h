// What the floors share: the mapping two or more processes communicate through, and the
// few machine operations they use on it.

#ifndef FLOOR_H
#define FLOOR_H

#include <stddef.h>
#include <stdint.h>

// proc is one of the processes of a floor as its kernel sees it.
struct proc {
	int me;      // this process, 0 to n-1
	int n;       // how many there are
	size_t size; // message bytes, for the floors that take a size
	size_t back; // bytes of the answer, for those that take two
	char *mem;   // the shared mapping; the first kind.control bytes are zero at the start
	char *buf;   // private memory of size bytes, page aligned
};

// A variant is one way to do the thing that a kind measures. Its run performs n
// operations in every process; in process 0 it returns when all n are complete.
struct variant {
	const char *name;
	void (*run)(struct proc *, long n);
};

struct kind {
	const char *name;
	int min, max;                    // processes
	int spins;                       // waits without yielding: every process needs its own CPU
	int sized;                       // how many sizes it takes
	size_t control;                  // bytes of the mapping zeroed before each run
	size_t bytes;                    // bytes of the mapping, control included
	const struct variant *variants;  // up to one without a name
	void (*open)(struct proc *);     // if set, makes the sockets, before there are processes
};

extern const struct kind pingpong, handoff, echo, ring, copy, memcopy, fetch, fetchadd, barrier;
extern const struct kind udp_trip, udp_shared, udp_sleep, udp_stream, udp_segments, udp_barrier, tcp_trip, tcp_stream;

enum { MAXPROCS = 256 };

// die ends this process with a message; unsupported does so with the status that says that
// this kernel cannot do what is measured.
void die(const char *what) __attribute__((noreturn));
void die_errno(const char *what) __attribute__((noreturn));
void unsupported(const char *what) __attribute__((noreturn));

#define INLINE static inline __attribute__((always_inline))
#define LINE 64

INLINE uint64_t load(const void *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE); }
INLINE void publish(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE); }

// await returns when the word at p is at least v.
INLINE void await(const void *p, uint64_t v) { while (load(p) < v) {} }

// own asks for the line at p in a state that can be written. GCC turns
// __builtin_prefetch(p, 1) into a prefetch for reading unless told that the CPU has
// PREFETCHW, which every amd64 CPU accepts.
INLINE void own(void *p) {
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

INLINE void pause_cpu(void) {
#ifdef __x86_64__
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
