// The atomics of gasnet_tools.h. Private to the library.

#ifndef GASNETI_ATOMICS_H
#define GASNETI_ATOMICS_H

#include "platform.h"

// Fences of an operation, which has none by itself. Those under a condition are there always.
#define GASNETT_ATOMIC_NONE 0
#define GASNETT_ATOMIC_RMB_PRE 1
#define GASNETT_ATOMIC_WMB_PRE 2
#define GASNETT_ATOMIC_MB_PRE (GASNETT_ATOMIC_RMB_PRE | GASNETT_ATOMIC_WMB_PRE)
#define GASNETT_ATOMIC_RMB_POST 4
#define GASNETT_ATOMIC_WMB_POST 8
#define GASNETT_ATOMIC_MB_POST (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_WMB_POST)
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE 16
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 32
#define GASNETT_ATOMIC_REL GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE GASNETT_ATOMIC_RMB_POST_IF_FALSE

#define GASNETT_ATOMIC_CONFIG builtin
#define GASNETT_ATOMIC32_CONFIG builtin
#define GASNETT_ATOMIC64_CONFIG builtin
#define GASNETT_HAVE_ATOMIC_CAS 1
#define GASNETT_HAVE_ATOMIC_ADD_SUB 1
#define GASNETT_HAVE_STRONGATOMIC_CAS 1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1

static GASNETI_INLINE void gasneti_fence(int reads, int writes) {
	if (reads && writes) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} else if (reads) {
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} else if (writes) {
		__atomic_thread_fence(__ATOMIC_RELEASE);
	}
}

static GASNETI_INLINE void gasneti_fence_before(int flags) {
	gasneti_fence(flags & GASNETT_ATOMIC_RMB_PRE, flags & GASNETT_ATOMIC_WMB_PRE);
}

static GASNETI_INLINE void gasneti_fence_after(int flags) {
	gasneti_fence(flags & (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_RMB_POST_IF_TRUE | GASNETT_ATOMIC_RMB_POST_IF_FALSE),
				  flags & GASNETT_ATOMIC_WMB_POST);
}

// An expression, with the fences that flags ask for around it.
#define GASNETI_FENCED(V, expr)      \
	gasneti_fence_before(flags);     \
	V result = (V)(expr);            \
	gasneti_fence_after(flags);      \
	return result

// The operations of a class of atomics P, of values V. Objects of the same size may be looked at through P_t, whatever their type.
#define GASNETI_ATOMICS(P, V)                                                                                             \
	typedef struct {                                                                                                      \
		volatile V gasneti_value;                                                                                         \
	} __attribute__((__may_alias__)) P##_t;                                                                               \
	static GASNETI_INLINE V P##_read(const P##_t *p, int flags) {                                                         \
		GASNETI_FENCED(V, __atomic_load_n(&p->gasneti_value, __ATOMIC_RELAXED));                                          \
	}                                                                                                                     \
	static GASNETI_INLINE void P##_set(P##_t *p, V v, int flags) {                                                        \
		gasneti_fence_before(flags);                                                                                      \
		__atomic_store_n(&p->gasneti_value, v, __ATOMIC_RELAXED);                                                         \
		gasneti_fence_after(flags);                                                                                       \
	}                                                                                                                     \
	static GASNETI_INLINE V P##_add(P##_t *p, V v, int flags) {                                                           \
		GASNETI_FENCED(V, __atomic_add_fetch(&p->gasneti_value, v, __ATOMIC_RELAXED));                                    \
	}                                                                                                                     \
	static GASNETI_INLINE V P##_subtract(P##_t *p, V v, int flags) {                                                      \
		GASNETI_FENCED(V, __atomic_sub_fetch(&p->gasneti_value, v, __ATOMIC_RELAXED));                                    \
	}                                                                                                                     \
	static GASNETI_INLINE void P##_increment(P##_t *p, int flags) { (void)P##_add(p, 1, flags); }                         \
	static GASNETI_INLINE void P##_decrement(P##_t *p, int flags) { (void)P##_subtract(p, 1, flags); }                    \
	static GASNETI_INLINE int P##_decrement_and_test(P##_t *p, int flags) { return P##_subtract(p, 1, flags) == 0; }      \
	static GASNETI_INLINE int P##_compare_and_swap(P##_t *p, V before, V after, int flags) {                              \
		GASNETI_FENCED(int, __atomic_compare_exchange_n(&p->gasneti_value, &before, after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
	}                                                                                                                     \
	static GASNETI_INLINE V P##_swap(P##_t *p, V v, int flags) {                                                          \
		GASNETI_FENCED(V, __atomic_exchange_n(&p->gasneti_value, v, __ATOMIC_RELAXED));                                   \
	}

typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
typedef uint32_t gasnett_strongatomic_val_t;
typedef int32_t gasnett_strongatomic_sval_t;
#define GASNETT_ATOMIC_MAX ((gasnett_atomic_val_t)0xFFFFFFFFu)
#define GASNETT_ATOMIC_SIGNED_MIN ((gasnett_atomic_sval_t)(-0x7FFFFFFF - 1))
#define GASNETT_ATOMIC_SIGNED_MAX ((gasnett_atomic_sval_t)0x7FFFFFFF)
#define GASNETT_STRONGATOMIC_MAX GASNETT_ATOMIC_MAX
#define GASNETT_STRONGATOMIC_SIGNED_MIN GASNETT_ATOMIC_SIGNED_MIN
#define GASNETT_STRONGATOMIC_SIGNED_MAX GASNETT_ATOMIC_SIGNED_MAX
#define gasnett_atomic_signed(v) ((gasnett_atomic_sval_t)(v))
#define gasnett_strongatomic_signed(v) ((gasnett_strongatomic_sval_t)(v))

// All are atomic in every thread mode: processes of a host share segments.
GASNETI_ATOMICS(gasnett_atomic, uint32_t)
GASNETI_ATOMICS(gasnett_atomic32, uint32_t)
GASNETI_ATOMICS(gasnett_atomic64, uint64_t)
GASNETI_ATOMICS(gasnett_strongatomic, uint32_t)
GASNETI_ATOMICS(gasnett_strongatomic32, uint32_t)
GASNETI_ATOMICS(gasnett_strongatomic64, uint64_t)

#define gasnett_atomic_init(v) {(uint32_t)(v)}
#define gasnett_atomic32_init(v) {(uint32_t)(v)}
#define gasnett_atomic64_init(v) {(uint64_t)(v)}
#define gasnett_strongatomic_init(v) {(uint32_t)(v)}
#define gasnett_strongatomic32_init(v) {(uint32_t)(v)}
#define gasnett_strongatomic64_init(v) {(uint64_t)(v)}

#endif
