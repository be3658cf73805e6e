// Locks of the tools.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "include/gasnet_tools.h"

static __thread char mark;

const char *gasneti_thread_mark(void) { return &mark; }

void gasneti_lock_failure(const char *file, int line, const char *cond) {
	(void)cond;
	gasnett_fatalerror("%s:%d: a mutex is not held by the thread that needs it, or is held by who asks for it", file, line);
}

_Static_assert(sizeof(pthread_rwlock_t) <= sizeof(gasnett_rwlock_t), "there is room for the lock");
_Static_assert(_Alignof(pthread_rwlock_t) <= _Alignof(gasnett_rwlock_t), "it is aligned");

// The initialiser of the header is that of the C library: zeros.
static pthread_rwlock_t *of(gasnett_rwlock_t *l) { return (pthread_rwlock_t *)(void *)l; }

void gasnett_rwlock_init(gasnett_rwlock_t *l) { pthread_rwlock_init(of(l), NULL); }
int gasnett_rwlock_destroy(gasnett_rwlock_t *l) { return pthread_rwlock_destroy(of(l)); }
void gasnett_rwlock_rdlock(gasnett_rwlock_t *l) { pthread_rwlock_rdlock(of(l)); }
void gasnett_rwlock_wrlock(gasnett_rwlock_t *l) { pthread_rwlock_wrlock(of(l)); }
int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *l) { return pthread_rwlock_tryrdlock(of(l)); }
int gasnett_rwlock_trywrlock(gasnett_rwlock_t *l) { return pthread_rwlock_trywrlock(of(l)); }
void gasnett_rwlock_unlock(gasnett_rwlock_t *l) { pthread_rwlock_unlock(of(l)); }
