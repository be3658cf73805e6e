// The locks, conditions and thread keys of gasnet_tools.h. Private to the library.

#ifndef GASNETI_LOCKS_H
#define GASNETI_LOCKS_H

#include "platform.h"

#include <pthread.h>

// The functions return what those of POSIX do: 0, or EBUSY from those that try. In a program that is compiled for debugging
// assertions about who holds a lock are checked; the first failure ends the process.
#ifdef GASNET_DEBUG
#define GASNETI_ASSERT_LOCK(cond) ((cond) ? (void)0 : gasneti_lock_failure(__FILE__, __LINE__, #cond))
#else
#define GASNETI_ASSERT_LOCK(cond) ((void)0)
#endif

GASNETI_BEGIN_C

GASNETI_NORETURN extern void gasneti_lock_failure(const char *file, int line, const char *cond);

// The address of a byte of the calling thread's own, which tells threads apart.
extern const char *gasneti_thread_mark(void);

typedef struct {
	pthread_mutex_t mutex;
	const char *holder; // the mark of the thread that holds it
} gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER {PTHREAD_MUTEX_INITIALIZER, 0}

#define GASNETI_HOLDS(l) (__atomic_load_n(&(l)->holder, __ATOMIC_RELAXED) == gasneti_thread_mark())
#define GASNETI_SET_HOLDER(l, mark) __atomic_store_n(&(l)->holder, mark, __ATOMIC_RELAXED)

#define gasnett_mutex_assertlocked(m) GASNETI_ASSERT_LOCK(GASNETI_HOLDS(m))
#define gasnett_mutex_assertunlocked(m) GASNETI_ASSERT_LOCK(!GASNETI_HOLDS(m))

static GASNETI_INLINE void gasnett_mutex_init(gasnett_mutex_t *m) {
	pthread_mutex_init(&m->mutex, GASNETI_NULL);
	m->holder = GASNETI_NULL;
}
static GASNETI_INLINE int gasnett_mutex_destroy(gasnett_mutex_t *m) { return pthread_mutex_destroy(&m->mutex); }
static GASNETI_INLINE void gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *m) { (void)pthread_mutex_destroy(&m->mutex); }
static GASNETI_INLINE void gasnett_mutex_lock(gasnett_mutex_t *m) {
	gasnett_mutex_assertunlocked(m);
	pthread_mutex_lock(&m->mutex);
	GASNETI_SET_HOLDER(m, gasneti_thread_mark());
}
static GASNETI_INLINE int gasnett_mutex_trylock(gasnett_mutex_t *m) {
	int err = pthread_mutex_trylock(&m->mutex);
	if (err == 0) {
		GASNETI_SET_HOLDER(m, gasneti_thread_mark());
	}
	return err;
}
static GASNETI_INLINE void gasnett_mutex_unlock(gasnett_mutex_t *m) {
	gasnett_mutex_assertlocked(m);
	GASNETI_SET_HOLDER(m, (const char *)0);
	pthread_mutex_unlock(&m->mutex);
}

// A lock of readers and writers, whose type is not in every dialect that the header is for. Who reads is not recorded, so
// assertions are not checked.
typedef struct {
	uint64_t words[8];
} gasnett_rwlock_t;
#define GASNETT_RWLOCK_INITIALIZER {{0, 0, 0, 0, 0, 0, 0, 0}}
extern void gasnett_rwlock_init(gasnett_rwlock_t *l);
extern int gasnett_rwlock_destroy(gasnett_rwlock_t *l);
extern void gasnett_rwlock_rdlock(gasnett_rwlock_t *l);
extern void gasnett_rwlock_wrlock(gasnett_rwlock_t *l);
extern int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *l);
extern int gasnett_rwlock_trywrlock(gasnett_rwlock_t *l);
extern void gasnett_rwlock_unlock(gasnett_rwlock_t *l);
#define gasnett_rwlock_assertlocked(l) ((void)(l))
#define gasnett_rwlock_assertrdlocked(l) ((void)(l))
#define gasnett_rwlock_assertwrlocked(l) ((void)(l))
#define gasnett_rwlock_assertunlocked(l) ((void)(l))

// A thread that waits for a condition does not poll.
typedef struct {
	pthread_cond_t cond;
} gasnett_cond_t;
#define GASNETT_COND_INITIALIZER {PTHREAD_COND_INITIALIZER}

static GASNETI_INLINE void gasnett_cond_init(gasnett_cond_t *c) { pthread_cond_init(&c->cond, GASNETI_NULL); }
static GASNETI_INLINE int gasnett_cond_destroy(gasnett_cond_t *c) { return pthread_cond_destroy(&c->cond); }
static GASNETI_INLINE void gasnett_cond_signal(gasnett_cond_t *c) { pthread_cond_signal(&c->cond); }
static GASNETI_INLINE void gasnett_cond_broadcast(gasnett_cond_t *c) { pthread_cond_broadcast(&c->cond); }
static GASNETI_INLINE void gasnett_cond_wait(gasnett_cond_t *c, gasnett_mutex_t *m) {
	gasnett_mutex_assertlocked(m);
	GASNETI_SET_HOLDER(m, (const char *)0);
	pthread_cond_wait(&c->cond, &m->mutex);
	GASNETI_SET_HOLDER(m, gasneti_thread_mark());
}

// A key is a pointer of each thread, NULL at first.
#define GASNETT_THREADKEY_DEFINE(key) __thread void *gasneti_threadkey_##key
#define GASNETT_THREADKEY_DECLARE(key) extern __thread void *gasneti_threadkey_##key
#define gasnett_threadkey_init(key) ((void)gasneti_threadkey_##key)
#define gasnett_threadkey_get(key) ((void *)gasneti_threadkey_##key)
#define gasnett_threadkey_set(key, value) ((void)(gasneti_threadkey_##key = (void *)(value)))
#define gasnett_threadkey_get_noinit(key) gasnett_threadkey_get(key)
#define gasnett_threadkey_set_noinit(key, value) gasnett_threadkey_set(key, value)

GASNETI_END_C

#endif
