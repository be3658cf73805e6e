// A part of OpenSHMEM 1.5 over GASNet, as a runtime is written: a symmetric heap in the segment, puts and gets, atomics by
// active messages, ordering, waits, locks, teams and collective calls.

#ifndef SHMEM_H
#define SHMEM_H

#include "check.h"
#include <gasnet_coll.h>
#include <gasnet_tools.h>
#include <gasnet_vis.h>

enum { SHMEM_HEAP = 4 << 20 };

static gasnet_seginfo_t *shmem_segments;
static size_t shmem_used;

static inline int shmem_my_pe(void) { return (int)gasnet_mynode(); }
static inline int shmem_n_pes(void) { return (int)gasnet_nodes(); }

// The address that a symmetric object has at pe.
static inline void *shmem_there(const void *p, int pe) {
	return (char *)shmem_segments[pe].addr + ((const char *)p - (char *)shmem_segments[shmem_my_pe()].addr);
}

// Atomics.
enum { SHMEM_ADD, SHMEM_SWAP, SHMEM_CSWAP, SHMEM_FETCH, SHMEM_AND, SHMEM_OR, SHMEM_XOR };
enum { SHMEM_REQUEST = 210, SHMEM_REPLY };

struct shmem_result {
	uint64_t value;
	volatile int done;
};

#define SHMEM_HIGH(x) ((gasnet_handlerarg_t)((uint64_t)(x) >> 32))
#define SHMEM_LOW(x) ((gasnet_handlerarg_t)(uint64_t)(x))
static inline uint64_t shmem_join(gasnet_handlerarg_t high, gasnet_handlerarg_t low) { return (uint64_t)(uint32_t)high << 32 | (uint32_t)low; }

static uint64_t shmem_changed(int op, uint64_t old, uint64_t value, uint64_t cond) {
	switch (op) {
	case SHMEM_ADD: return old + value;
	case SHMEM_SWAP: return value;
	case SHMEM_CSWAP: return old == cond ? value : old;
	case SHMEM_AND: return old & value;
	case SHMEM_OR: return old | value;
	case SHMEM_XOR: return old ^ value;
	}
	return old;
}

static void shmem_on_request(gasnet_token_t token, gasnet_handlerarg_t ah, gasnet_handlerarg_t al, gasnet_handlerarg_t op, gasnet_handlerarg_t size,
	gasnet_handlerarg_t vh, gasnet_handlerarg_t vl, gasnet_handlerarg_t ch, gasnet_handlerarg_t cl, gasnet_handlerarg_t rh, gasnet_handlerarg_t rl) {
	void *p = (void *)(uintptr_t)shmem_join(ah, al);
	uint64_t old, value = shmem_join(vh, vl), cond = shmem_join(ch, cl);
	if (size == 8) {
		do {
			old = gasnett_atomic64_read(p, 0);
		} while (!gasnett_atomic64_compare_and_swap(p, old, shmem_changed(op, old, value, cond), 0));
	} else {
		do {
			old = gasnett_atomic32_read(p, 0);
		} while (!gasnett_atomic32_compare_and_swap(p, (uint32_t)old, (uint32_t)shmem_changed(op, old, (uint32_t)value, (uint32_t)cond), 0));
	}
	OK(gasnet_AMReplyShort4(token, SHMEM_REPLY, SHMEM_HIGH(old), SHMEM_LOW(old), rh, rl));
}

static void shmem_on_reply(gasnet_token_t token, gasnet_handlerarg_t vh, gasnet_handlerarg_t vl, gasnet_handlerarg_t rh, gasnet_handlerarg_t rl) {
	struct shmem_result *r = (struct shmem_result *)(uintptr_t)shmem_join(rh, rl);
	(void)token;
	r->value = shmem_join(vh, vl);
	r->done = 1;
}

static inline uint64_t shmem_atomic(int op, void *p, size_t size, uint64_t value, uint64_t cond, int pe) {
	struct shmem_result r = {0, 0};
	uintptr_t at = (uintptr_t)shmem_there(p, pe), back = (uintptr_t)&r;
	OK(gasnet_AMRequestShort10((gasnet_node_t)pe, SHMEM_REQUEST, SHMEM_HIGH(at), SHMEM_LOW(at), op, size, SHMEM_HIGH(value), SHMEM_LOW(value),
		SHMEM_HIGH(cond), SHMEM_LOW(cond), SHMEM_HIGH(back), SHMEM_LOW(back)));
	GASNET_BLOCKUNTIL(r.done);
	return r.value;
}

// Reductions, of types by the argument of the function.
enum { SHMEM_LONG, SHMEM_INT, SHMEM_DOUBLE };
#define SHMEM_COMBINE(name, expr)                                                                       \
	static void shmem_##name(void *results, size_t n, const void *left, size_t left_n, const void *right, size_t size, int flags, int type) { \
		(void)left_n, (void)size, (void)flags;                                                          \
		for (size_t i = 0; i < n; i++) {                                                                \
			switch (type) {                                                                             \
			case SHMEM_LONG: { long a = ((const long *)left)[i], b = ((const long *)right)[i]; ((long *)results)[i] = expr; break; } \
			case SHMEM_INT: { int a = ((const int *)left)[i], b = ((const int *)right)[i]; ((int *)results)[i] = expr; break; } \
			default: { double a = ((const double *)left)[i], b = ((const double *)right)[i]; ((double *)results)[i] = expr; } \
			}                                                                                           \
		}                                                                                               \
	}
SHMEM_COMBINE(add, a + b)
SHMEM_COMBINE(greater, a > b ? a : b)

// The start and the end.
static inline void shmem_barrier_all(void) {
	gasnet_wait_syncnbi_all();
	BARRIER();
}

static inline void shmem_init(void) {
	gasnet_handlerentry_t table[] = {{SHMEM_REQUEST, (gasneti_fn_t)shmem_on_request}, {SHMEM_REPLY, (gasneti_fn_t)shmem_on_reply}};
	static gasnet_coll_fn_entry_t functions[] = {{shmem_add, GASNET_COLL_AMSAFE}, {shmem_greater, GASNET_COLL_AMSAFE}};
	OK(gasnet_init(NULL, NULL));
	OK(gasnet_attach(table, 2, SHMEM_HEAP, 0));
	shmem_segments = calloc(gasnet_nodes(), sizeof *shmem_segments);
	OK(gasnet_getSegmentInfo(shmem_segments, shmem_n_pes()));
	gasnet_coll_init(NULL, gasnet_mynode(), functions, 2, 0);
	shmem_barrier_all();
}

static inline void shmem_finalize(void) {
	shmem_barrier_all();
	free(shmem_segments);
}

// Memory of the symmetric heap, for all to the end.
static inline void *shmem_malloc(size_t size) {
	void *p = (char *)shmem_segments[shmem_my_pe()].addr + shmem_used;
	shmem_used += (size + 63) / 64 * 64;
	CHECK(shmem_used <= SHMEM_HEAP);
	shmem_barrier_all();
	return p;
}

// Puts and gets.
static inline void shmem_putmem(void *dst, const void *src, size_t n, int pe) { gasnet_put_bulk((gasnet_node_t)pe, shmem_there(dst, pe), src, n); }
static inline void shmem_getmem(void *dst, const void *src, size_t n, int pe) { gasnet_get_bulk(dst, (gasnet_node_t)pe, shmem_there(src, pe), n); }
static inline void shmem_putmem_nbi(void *dst, const void *src, size_t n, int pe) { gasnet_put_nbi_bulk((gasnet_node_t)pe, shmem_there(dst, pe), src, n); }
static inline void shmem_getmem_nbi(void *dst, const void *src, size_t n, int pe) { gasnet_get_nbi_bulk(dst, (gasnet_node_t)pe, shmem_there(src, pe), n); }
static inline void shmem_quiet(void) { gasnet_wait_syncnbi_all(); }
static inline void shmem_fence(void) { gasnet_wait_syncnbi_puts(); }

static inline void *shmem_ptr(const void *p, int pe) {
	gasnet_nodeinfo_t *nodes = calloc(gasnet_nodes(), sizeof *nodes);
	OK(gasnet_getNodeInfo(nodes, shmem_n_pes()));
	void *q = nodes[pe].supernode == nodes[shmem_my_pe()].supernode ? (char *)shmem_there(p, pe) + nodes[pe].offset : NULL;
	free(nodes);
	return q;
}

enum { SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE };

// What there is for each type.
#define SHMEM_TYPE(name, T, which)                                                                      \
	static inline void shmem_##name##_put(T *d, const T *s, size_t n, int pe) { shmem_putmem(d, s, n * sizeof(T), pe); } \
	static inline void shmem_##name##_get(T *d, const T *s, size_t n, int pe) { shmem_getmem(d, s, n * sizeof(T), pe); } \
	static inline void shmem_##name##_p(T *d, T v, int pe) { shmem_putmem(d, &v, sizeof v, pe); }       \
	static inline T shmem_##name##_g(const T *s, int pe) {                                              \
		T v;                                                                                            \
		shmem_getmem(&v, s, sizeof v, pe);                                                              \
		return v;                                                                                       \
	}                                                                                                   \
	static inline void shmem_##name##_iput(T *d, const T *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) { \
		const size_t ds = (size_t)dst * sizeof(T), ss = (size_t)sst * sizeof(T), count[2] = {sizeof(T), n}; \
		gasnet_puts_bulk((gasnet_node_t)pe, shmem_there(d, pe), &ds, s, &ss, count, 1);                 \
	}                                                                                                   \
	static inline void shmem_##name##_iget(T *d, const T *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe) { \
		const size_t ds = (size_t)dst * sizeof(T), ss = (size_t)sst * sizeof(T), count[2] = {sizeof(T), n}; \
		gasnet_gets_bulk(d, &ds, (gasnet_node_t)pe, shmem_there(s, pe), &ss, count, 1);                 \
	}                                                                                                   \
	static inline int shmem_##name##_test(T *p, int cmp, T v) {                                         \
		gasnet_AMPoll();                                                                                \
		T now = *(volatile T *)p;                                                                       \
		gasnett_local_rmb();                                                                            \
		return cmp == SHMEM_CMP_EQ ? now == v : cmp == SHMEM_CMP_NE ? now != v : cmp == SHMEM_CMP_GT ? now > v \
			: cmp == SHMEM_CMP_GE ? now >= v : cmp == SHMEM_CMP_LT ? now < v : now <= v;                \
	}                                                                                                   \
	static inline void shmem_##name##_wait_until(T *p, int cmp, T v) {                                  \
		while (!shmem_##name##_test(p, cmp, v)) {                                                       \
			gasnett_sched_yield();                                                                      \
		}                                                                                               \
	}                                                                                                   \
	static inline void shmem_##name##_sum_reduce(shmem_team_t t, T *d, const T *s, size_t n) { shmem_reduce(t, d, s, sizeof(T), n, 0, which); } \
	static inline void shmem_##name##_max_reduce(shmem_team_t t, T *d, const T *s, size_t n) { shmem_reduce(t, d, s, sizeof(T), n, 1, which); }

#define SHMEM_INTEGER(name, T)                                                                          \
	static inline T shmem_##name##_atomic_fetch(T *p, int pe) { return (T)shmem_atomic(SHMEM_FETCH, p, sizeof(T), 0, 0, pe); } \
	static inline void shmem_##name##_atomic_set(T *p, T v, int pe) { shmem_atomic(SHMEM_SWAP, p, sizeof(T), (uint64_t)v, 0, pe); } \
	static inline T shmem_##name##_atomic_swap(T *p, T v, int pe) { return (T)shmem_atomic(SHMEM_SWAP, p, sizeof(T), (uint64_t)v, 0, pe); } \
	static inline T shmem_##name##_atomic_compare_swap(T *p, T c, T v, int pe) { return (T)shmem_atomic(SHMEM_CSWAP, p, sizeof(T), (uint64_t)v, (uint64_t)c, pe); } \
	static inline T shmem_##name##_atomic_fetch_add(T *p, T v, int pe) { return (T)shmem_atomic(SHMEM_ADD, p, sizeof(T), (uint64_t)v, 0, pe); } \
	static inline T shmem_##name##_atomic_fetch_inc(T *p, int pe) { return shmem_##name##_atomic_fetch_add(p, 1, pe); } \
	static inline T shmem_##name##_atomic_fetch_or(T *p, T v, int pe) { return (T)shmem_atomic(SHMEM_OR, p, sizeof(T), (uint64_t)v, 0, pe); } \
	static inline T shmem_##name##_atomic_fetch_and(T *p, T v, int pe) { return (T)shmem_atomic(SHMEM_AND, p, sizeof(T), (uint64_t)v, 0, pe); } \
	static inline T shmem_##name##_atomic_fetch_xor(T *p, T v, int pe) { return (T)shmem_atomic(SHMEM_XOR, p, sizeof(T), (uint64_t)v, 0, pe); }

// Teams and collective calls, which every member makes in the same order.
typedef gasnet_team_handle_t shmem_team_t;
#define SHMEM_TEAM_WORLD GASNET_TEAM_ALL
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_SYNC (GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL)

static inline int shmem_team_n_pes(shmem_team_t t) { return (int)gasnet_coll_team_size(t); }
static inline int shmem_team_my_pe(shmem_team_t t) { return (int)gasnet_coll_team_node2rank(t, gasnet_mynode()); }
static inline int shmem_team_translate_pe(shmem_team_t from, int pe, shmem_team_t to) {
	return (int)gasnet_coll_team_node2rank(to, gasnet_coll_team_rank2node(from, pe));
}
static inline int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, shmem_team_t *t) {
	int pe = shmem_team_my_pe(parent) - start, in = pe >= 0 && pe % stride == 0 && pe / stride < size;
	shmem_team_t part = gasnet_coll_team_split(parent, (gasnet_node_t)in, (gasnet_node_t)shmem_team_my_pe(parent), NULL);
	*t = in ? part : SHMEM_TEAM_INVALID;
	return 0;
}
static inline void shmem_team_sync(shmem_team_t t) { OK(gasnet_coll_barrier(t, 0, GASNET_BARRIERFLAG_ANONYMOUS)); }
static inline void shmem_broadcastmem(shmem_team_t t, void *d, const void *s, size_t n, int root) { gasnet_coll_broadcast(t, d, (gasnet_image_t)root, (void *)s, n, SHMEM_SYNC); }
static inline void shmem_fcollectmem(shmem_team_t t, void *d, const void *s, size_t n) { gasnet_coll_gather_all(t, d, (void *)s, n, SHMEM_SYNC); }
static inline void shmem_alltoallmem(shmem_team_t t, void *d, const void *s, size_t n) { gasnet_coll_exchange(t, d, (void *)s, n, SHMEM_SYNC); }
static inline void shmem_reduce(shmem_team_t t, void *d, const void *s, size_t size, size_t n, int fn, int type) {
	gasnet_coll_reduce(t, 0, d, (void *)s, 0, 0, size, n, fn, type, SHMEM_SYNC);
	gasnet_coll_broadcast(t, d, 0, d, n * size, SHMEM_SYNC);
}

SHMEM_TYPE(long, long, SHMEM_LONG)
SHMEM_TYPE(int, int, SHMEM_INT)
SHMEM_TYPE(double, double, SHMEM_DOUBLE)
SHMEM_INTEGER(long, long)
SHMEM_INTEGER(int, int)

enum { SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD };
static inline void shmem_putmem_signal(void *d, const void *s, size_t n, uint64_t *signal, uint64_t v, int op, int pe) {
	shmem_putmem(d, s, n, pe);
	shmem_atomic(op == SHMEM_SIGNAL_ADD ? SHMEM_ADD : SHMEM_SWAP, signal, 8, v, 0, pe);
}

// A lock is at rank 0.
static inline int shmem_test_lock(long *lock) { return shmem_long_atomic_compare_swap(lock, 0, 1, 0) != 0; }
static inline void shmem_set_lock(long *lock) {
	while (shmem_test_lock(lock)) {
		gasnett_sched_yield();
	}
}
static inline void shmem_clear_lock(long *lock) {
	shmem_quiet();
	shmem_long_atomic_set(lock, 0, 0);
}

#endif
