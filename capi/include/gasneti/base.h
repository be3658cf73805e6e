// What the interfaces of GASNet-1 and GASNet-EX have in common. Private to the library: programs include gasnet.h or
// gasnetex.h.

#ifndef GASNETI_BASE_H
#define GASNETI_BASE_H

#include "platform.h"

#include <pthread.h>

// The thread mode is the program's choice ("GASNet Specification" 1.8, section 1.3).
#if defined(GASNET_SEQ) + defined(GASNET_PARSYNC) + defined(GASNET_PAR) != 1
#error "define one of GASNET_SEQ, GASNET_PARSYNC and GASNET_PAR before this header is included"
#elif defined(GASNET_SEQ)
#undef GASNET_SEQ
#define GASNET_SEQ 1
#define GASNETI_MODE SEQ
#elif defined(GASNET_PARSYNC)
#undef GASNET_PARSYNC
#define GASNET_PARSYNC 1
#define GASNETI_MODE PARSYNC
#else
#undef GASNET_PAR
#define GASNET_PAR 1
#define GASNETI_MODE PAR
#endif

#if defined(GASNET_DEBUG) && defined(GASNET_NDEBUG)
#error "define GASNET_DEBUG or GASNET_NDEBUG, not both"
#elif defined(GASNET_DEBUG)
#undef GASNET_DEBUG
#define GASNET_DEBUG 1
#else
#undef GASNET_NDEBUG
#define GASNET_NDEBUG 1
#endif

// Versions of the specification and of this library.
#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8
#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR
#define GASNET_RELEASE_VERSION_MAJOR 1
#define GASNET_RELEASE_VERSION_MINOR 0
#define GASNET_RELEASE_VERSION_PATCH 0

// Segments are memory that is registered before it is used.
#define GASNET_SEGMENT_FAST 1
#define GASNET_ALIGNED_SEGMENTS 0
#define GASNET_PSHM 1
#define GASNET_NULL_ARGV_OK 1

#define GASNET_MAXNODES 65536

// Programs size tables of threads by this. The library itself has no limit in PAR.
#ifdef GASNET_SEQ
#define GASNETI_MAX_THREADS 1
#else
#define GASNETI_MAX_THREADS 256
#endif
#define GASNET_PAGESIZE 4096

// The conduit is chosen when the job starts. The makefile fragments of a conduit define GASNETI_FOR_<NAME>, for programs
// that ask by which they were built.
#if defined(GASNETI_FOR_SMP)
#define GASNET_CONDUIT_SMP 1
#define GASNET_CONDUIT_NAME SMP
#elif defined(GASNETI_FOR_UDP)
#define GASNET_CONDUIT_UDP 1
#define GASNET_CONDUIT_NAME UDP
#elif defined(GASNETI_FOR_MPI)
#define GASNET_CONDUIT_MPI 1
#define GASNET_CONDUIT_NAME MPI
#elif defined(GASNETI_FOR_SCI)
#define GASNET_CONDUIT_SCI 1
#define GASNET_CONDUIT_NAME SCI
#else
#define GASNET_CONDUIT_AQUEDUCT 1
#define GASNET_CONDUIT_NAME AQUEDUCT
#endif
#define GASNET_CONDUIT_NAME_STR GASNETI_STRING(GASNET_CONDUIT_NAME)
#define GASNET_CORE_NAME AQUEDUCT
#define GASNET_CORE_NAME_STR GASNETI_STRING(GASNET_CORE_NAME)
#define GASNET_CORE_VERSION 1.0
#define GASNET_CORE_VERSION_STR GASNETI_STRING(GASNET_CORE_VERSION)
#define GASNET_EXTENDED_NAME AQUEDUCT
#define GASNET_EXTENDED_NAME_STR GASNETI_STRING(GASNET_EXTENDED_NAME)
#define GASNET_EXTENDED_VERSION 1.0
#define GASNET_EXTENDED_VERSION_STR GASNETI_STRING(GASNET_EXTENDED_VERSION)

#define GASNETI_RELEASE                                \
	GASNETI_STRING(GASNET_RELEASE_VERSION_MAJOR)       \
	"." GASNETI_STRING(GASNET_RELEASE_VERSION_MINOR)   \
	"." GASNETI_STRING(GASNET_RELEASE_VERSION_PATCH)
#define GASNETI_SPEC GASNETI_STRING(GASNET_SPEC_VERSION_MAJOR) "." GASNETI_STRING(GASNET_SPEC_VERSION_MINOR)
#define GASNETI_PLACE GASNET_CONDUIT_NAME_STR "(" GASNET_CORE_NAME_STR "-" GASNET_CORE_VERSION_STR "/" GASNET_EXTENDED_NAME_STR "-" GASNET_EXTENDED_VERSION_STR ")"
#ifdef GASNET_DEBUG
#define GASNETI_CHECKS "debug"
#else
#define GASNETI_CHECKS "nodebug"
#endif
#define GASNET_CONFIG_STRING                                                                       \
	"RELEASE=" GASNETI_RELEASE ",SPEC=" GASNETI_SPEC ",CONDUIT=" GASNETI_PLACE                     \
	",THREADMODEL=" GASNETI_STRING(GASNETI_MODE) ",SEGMENT=FAST,PTR=64bit,noalign,pshm,"           \
	GASNETI_CHECKS ",notrace,nostats,nodebugmalloc,nosrclines"

// Errors.
#define GASNET_OK 0
#define GASNET_ERR_NOT_INIT 10001
#define GASNET_ERR_RESOURCE 10002
#define GASNET_ERR_BAD_ARG 10003
#define GASNET_ERR_NOT_READY 10004
#define GASNET_ERR_BARRIER_MISMATCH 10005

#define GASNET_WAIT_SPIN 0
#define GASNET_WAIT_BLOCK 1
#define GASNET_WAIT_SPINBLOCK 2

GASNETI_BEGIN_C

typedef uint32_t gasnet_node_t;
typedef uint8_t gasnet_handler_t;
typedef int32_t gasnet_handlerarg_t;
typedef struct gasneti_token *gasnet_token_t;
typedef struct gasneti_event *gasnet_handle_t;
typedef uintptr_t gasnet_register_value_t;
#define SIZEOF_GASNET_REGISTER_VALUE_T 8
#define GASNET_INVALID_HANDLE ((gasnet_handle_t)GASNETI_NULL)

// A program that was compiled for a thread mode needs the library's shell for that mode. If the linker reports this name
// as undefined, the program is linked with the shell for another one.
#ifndef GASNETI_LIBRARY
#define GASNETI_COMPILED_FOR GASNETI_JOIN(gasneti_this_object_was_compiled_for_GASNET_, GASNETI_MODE)
extern const int GASNETI_COMPILED_FOR;
static const int *const gasneti_compiled_for __attribute__((used)) = &GASNETI_COMPILED_FOR;
#endif

// Handlers have any number of arguments, which this type leaves open, where the language can: in C before C23.
#if defined(GASNET_USE_STRICT_PROTOTYPES) || (!defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L)
typedef void *gasneti_fn_t;
#elif defined(__cplusplus)
typedef void (*gasneti_fn_t)();
#else
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wstrict-prototypes"
#endif
typedef void (*gasneti_fn_t)();
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#endif

// A program joins its job by the shell for its thread mode.
#ifdef GASNET_DEBUG
#define GASNETI_CHECKED 1
#else
#define GASNETI_CHECKED 0
#endif
#ifndef GASNETI_LIBRARY
#define GASNETI_INIT GASNETI_JOIN(gasneti_init_, GASNETI_MODE)
extern int GASNETI_INIT(int debug, int *argc, char ***argv);
#endif
extern int gasneti_init(int mode, int debug, int *argc, char ***argv);

GASNETI_NORETURN extern void gasnet_exit(int exitcode);
extern char *gasnet_getenv(const char *name);
extern const char *gasnet_ErrorName(int errval);
extern const char *gasnet_ErrorDesc(int errval);
extern int gasnet_set_waitmode(int wait_mode);
extern uintptr_t gasnet_getMaxLocalSegmentSize(void);
extern uintptr_t gasnet_getMaxGlobalSegmentSize(void);

// Called on each rank when its segment has been made, with its address and size, if it is not NULL.
extern void (*gasnet_client_attach_hook)(void *base, uintptr_t size);

// The limit for segments, in bytes, if the environment says none by GASNET_MAX_SEGSIZE; 0 is none. A program may define it.
extern uint64_t gasnet_max_segsize;

extern int gasnet_AMPoll(void);

// Polls until the condition holds, which handlers make true. The condition is evaluated by the caller's thread only.
#define GASNET_BLOCKUNTIL(cond)              \
	do {                                     \
		if (!(cond)) {                       \
			gasneti_blockuntil();            \
			while (!(cond)) {                \
				gasneti_blockuntil_turn();   \
			}                                \
		}                                    \
		__atomic_thread_fence(__ATOMIC_ACQUIRE); \
	} while (0)
extern void gasneti_blockuntil(void);
extern void gasneti_blockuntil_turn(void);

// Handlers run inside calls of the library only, so a section without interrupts needs nothing. A program that is compiled
// for debugging has sections and locks checked.
#ifdef GASNET_DEBUG
#define gasnet_hold_interrupts() gasneti_checked_hold()
#define gasnet_resume_interrupts() gasneti_checked_resume()
#else
#define gasnet_hold_interrupts() ((void)0)
#define gasnet_resume_interrupts() ((void)0)
#endif
extern void gasneti_checked_hold(void);
extern void gasneti_checked_resume(void);
extern void gasneti_hsl_checked_init(int *state);
extern void gasneti_hsl_checked_destroy(const void *lock, int *state);
extern void gasneti_hsl_checked_lock(const char *call, const void *lock, const int *state);
extern void gasneti_hsl_checked_took(const void *lock);
extern void gasneti_hsl_checked_unlock(const void *lock, const int *state);

// A lock that handlers may take. Where one thread of the program calls at a time nobody contends for it.
typedef struct {
#ifdef GASNET_PAR
	pthread_mutex_t mutex;
#else
	int held;
#endif
	int state; // for the checks
} gasnet_hsl_t;

#ifdef GASNET_PAR
#define GASNET_HSL_INITIALIZER {PTHREAD_MUTEX_INITIALIZER, GASNETI_HSL_READY}
#else
#define GASNET_HSL_INITIALIZER {0, GASNETI_HSL_READY}
#endif
#define GASNETI_HSL_READY 0x48534C21

static GASNETI_INLINE void gasnet_hsl_init(gasnet_hsl_t *hsl) {
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_init(&hsl->state);
#else
	hsl->state = GASNETI_HSL_READY;
#endif
#ifdef GASNET_PAR
	pthread_mutex_init(&hsl->mutex, GASNETI_NULL);
#else
	hsl->held = 0;
#endif
}

static GASNETI_INLINE void gasnet_hsl_destroy(gasnet_hsl_t *hsl) {
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_destroy(hsl, &hsl->state);
#else
	hsl->state = 0;
#endif
#ifdef GASNET_PAR
	pthread_mutex_destroy(&hsl->mutex);
#endif
}

static GASNETI_INLINE void gasnet_hsl_lock(gasnet_hsl_t *hsl) {
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_lock("gasnet_hsl_lock", hsl, &hsl->state);
#endif
#ifdef GASNET_PAR
	pthread_mutex_lock(&hsl->mutex);
#else
	hsl->held = 1;
#endif
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_took(hsl);
#endif
}

static GASNETI_INLINE void gasnet_hsl_unlock(gasnet_hsl_t *hsl) {
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_unlock(hsl, &hsl->state);
#endif
#ifdef GASNET_PAR
	pthread_mutex_unlock(&hsl->mutex);
#else
	hsl->held = 0;
#endif
}

static GASNETI_INLINE int gasnet_hsl_trylock(gasnet_hsl_t *hsl) {
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_lock("gasnet_hsl_trylock", hsl, &hsl->state);
#endif
#ifdef GASNET_PAR
	if (pthread_mutex_trylock(&hsl->mutex) != 0) {
		return GASNET_ERR_NOT_READY;
	}
#else
	if (hsl->held) {
		return GASNET_ERR_NOT_READY;
	}
	hsl->held = 1;
#endif
#ifdef GASNET_DEBUG
	gasneti_hsl_checked_took(hsl);
#endif
	return GASNET_OK;
}
// What belongs to a thread the library finds by itself.
typedef void *gasnet_threadinfo_t;
#define GASNET_GET_THREADINFO() ((gasnet_threadinfo_t)GASNETI_NULL)
#define GASNET_POST_THREADINFO(info) GASNETI_DECLARATION(info)
#define GASNET_BEGIN_FUNCTION() GASNETI_DECLARATION(GASNETI_NULL)
#define GASNETI_DECLARATION(info) \
	gasnet_threadinfo_t gasneti_threadinfo __attribute__((unused)) = (info)

GASNETI_END_C

#endif
