// Tools beside the interface of GASNet-1, under the names of GASNet's own: timers, memory barriers, atomics, locks, the
// environment, the system, debugging, and what compilers can be told. Everything works without a job, and a program may
// include this header alone, which the library of the tools is enough for (docs/c.md).

#ifndef GASNET_TOOLS_H
#define GASNET_TOOLS_H

#include "gasneti/names.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

// The version of the tools' interface, and of this library.
#define GASNETT_SPEC_VERSION_MAJOR 1
#define GASNETT_SPEC_VERSION_MINOR 9
#define GASNETT_RELEASE_VERSION_MAJOR 1
#define GASNETT_RELEASE_VERSION_MINOR 0
#define GASNETT_RELEASE_VERSION_PATCH 0

// All tools are safe for threads. A program that calls gasnet.h has the threads of its thread mode.
#if !defined(GASNETT_THREAD_SAFE) && (defined(GASNET_PAR) || defined(GASNET_PARSYNC) || defined(_REENTRANT))
#define GASNETT_THREAD_SAFE 1
#endif
#ifdef GASNETT_THREAD_SAFE
#define GASNETT_THREAD_MODEL PAR
#else
#define GASNETT_THREAD_MODEL SEQ
#endif
#ifdef GASNET_SEQ
#define GASNETT_MAX_THREADS 1
#else
#define GASNETT_MAX_THREADS 256
#endif
#define GASNETT_CONFIG_STRING                                                                                              \
	"RELEASE=" _STRINGIFY(GASNETT_RELEASE_VERSION_MAJOR) "." _STRINGIFY(GASNETT_RELEASE_VERSION_MINOR) "."                  \
	_STRINGIFY(GASNETT_RELEASE_VERSION_PATCH) ",SPEC=" _STRINGIFY(GASNETT_SPEC_VERSION_MAJOR) "."                           \
	_STRINGIFY(GASNETT_SPEC_VERSION_MINOR) ",PTR=64bit,THREADMODEL=" _STRINGIFY(GASNETT_THREAD_MODEL)                       \
	",timers=" _STRINGIFY(GASNETT_TIMER_CONFIG) ",membars=" _STRINGIFY(GASNETT_MEMBAR_CONFIG)                               \
	",atomics=" _STRINGIFY(GASNETT_ATOMIC_CONFIG)
#define GASNETT_SYSTEM_TUPLE _STRINGIFY(PLATFORM_ARCH_FAMILYNAME) "-" _STRINGIFY(PLATFORM_OS_FAMILYNAME)
#define GASNETT_CONFIGURE_ARGS ""

#define GASNETT_PAGESIZE 4096
#define GASNETT_PAGESHIFT 12
#define GASNETT_CACHE_LINE_BYTES 64

// What a compiler can be told of functions. Those that take a name are written before the function's declaration.
#define GASNETT_INLINE(fn) static GASNETI_INLINE
#define GASNETT_PLEASE_INLINE(fn) static GASNETI_INLINE
#define GASNETT_ALWAYS_INLINE(fn) static GASNETI_INLINE __attribute__((always_inline))
#define GASNETT_NEVER_INLINE(fn, declarator) __attribute__((noinline)) declarator
#define GASNETT_RESTRICT __restrict__
#define GASNETT_NORETURN __attribute__((noreturn))
#define GASNETT_NORETURNP(fn)
#define GASNETT_MALLOC __attribute__((malloc))
#define GASNETT_MALLOCP(fn)
#define GASNETT_PURE __attribute__((pure))
#define GASNETT_PUREP(fn)
#define GASNETT_CONST __attribute__((const))
#define GASNETT_CONSTP(fn)
#define GASNETT_HOT __attribute__((hot))
#define GASNETT_COLD __attribute__((cold))
#define GASNETT_USED __attribute__((used))
#define GASNETT_UNUSED __attribute__((unused))
#define GASNETT_DEPRECATED __attribute__((deprecated))
#define GASNETT_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define GASNETT_FORMAT_PRINTF(fn, fmt, first, declarator) __attribute__((format(printf, fmt, first))) declarator
#define GASNETT_FORMAT_PRINTF_FUNCPTR(fn, fmt, first, declarator) __attribute__((format(printf, fmt, first))) declarator
#define GASNETT_BEGIN_EXTERNC GASNETI_BEGIN_C
#define GASNETT_END_EXTERNC GASNETI_END_C
#ifdef __cplusplus
#define GASNETT_EXTERNC extern "C"
#define GASNETT_TENTATIVE_EXTERN extern
#else
#define GASNETT_EXTERNC extern
#define GASNETT_TENTATIVE_EXTERN
#endif
#define gasnett_constant_p(e) __builtin_constant_p(e)
#define gasnett_unreachable() __builtin_unreachable()

// Embeds a text such as "$Key: value $" into the program, for those who search it.
#define GASNETT_IDENT(name, text) \
	static const char name[] __attribute__((used)) = text

#define GASNETT_CURRENT_FUNCTION __func__
#define gasnett_current_loc (__FILE__ ":" _STRINGIFY(__LINE__))

GASNETI_BEGIN_C

// Timers. A tick is a nanosecond of a clock that never goes back.
typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX (~(gasnett_tick_t)0)
#define GASNETT_TIMER_CONFIG posixrt
extern gasnett_tick_t gasnett_ticks_now(void);
#define gasnett_ticks_to_ns(ticks) ((uint64_t)(ticks))
#define gasnett_ticks_to_us(ticks) ((uint64_t)(ticks) / 1000)
extern double gasnett_tick_granularityus(void); // the least difference that two readings have, in microseconds
extern double gasnett_tick_overheadus(void);    // what a reading takes
extern uint64_t gasnett_gettimeofday_us(void);  // since 1970
extern int gasnett_nsleep(uint64_t ns);         // sleeps at least so long, and returns 0

// Memory barriers. Weak ones are for memory that threads share, which segments may be of in every thread mode.
#define GASNETT_MEMBAR_CONFIG builtin
#define gasnett_compiler_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define gasnett_local_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define gasnett_local_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define gasnett_local_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define gasnett_weak_wmb() gasnett_local_wmb()
#define gasnett_weak_rmb() gasnett_local_rmb()
#define gasnett_weak_mb() gasnett_local_mb()
GASNETI_END_C

#ifndef GASNETT_LITE_MODE // which is timers and memory barriers alone

#include "gasneti/atomics.h"
#include "gasneti/locks.h"

GASNETI_BEGIN_C

// The environment: the program's own before gasnet_init, and that of the job afterwards. A value that cannot be read ends
// the process with a message.
extern char *gasnett_getenv(const char *name); // NULL if it is not set
extern const char *gasnett_getenv_withdefault(const char *name, const char *dflt);
extern int gasnett_getenv_yesno_withdefault(const char *name, int dflt);
// A number; if unit is not 0, a number of bytes, which may have a suffix such as MB, and without one counts units.
extern int64_t gasnett_getenv_int_withdefault(const char *name, int64_t dflt, uint64_t unit);
extern double gasnett_getenv_dbl_withdefault(const char *name, double dflt); // also a fraction such as 3/8
extern void gasnett_setenv(const char *name, const char *value);
extern void gasnett_unsetenv(const char *name);
// Whether GASNET_VERBOSEENV asks this process to tell of variables that are read, and the telling.
extern int gasnett_verboseenv(void);
extern void gasnett_envstr_display(const char *name, const char *value, int is_dflt);
extern void gasnett_envint_display(const char *name, int64_t value, int is_dflt, int is_mem_size);
extern void gasnett_envdbl_display(const char *name, double value, int is_dflt);
extern int64_t gasnett_parse_int(const char *text, uint64_t unit);
// Writes a number, as bytes with a unit if is_mem_size, into buf, which it returns.
extern char *gasnett_format_number(int64_t n, char *buf, size_t size, int is_mem_size);

// The system and the process.
typedef void (*gasnett_sighandlerfn_t)(int);
extern gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler); // returns the one before
extern int gasnett_cpu_count(void);               // 0: unknown
extern uint64_t gasnett_getPhysMemSz(int fatal);  // bytes of memory; 0 is unknown, which ends the process if fatal
extern const char *gasnett_gethostname(void);
extern int gasnett_set_affinity(int rank); // keeps the calling thread on the CPU with that number, modulo their number; 0 is success
#define gasnett_isLittleEndian() 1
#define gasnett_sched_yield() ((void)sched_yield())
#if defined(__x86_64__)
#define gasnett_spinloop_hint() __builtin_ia32_pause()
#else
#define gasnett_spinloop_hint() __asm__ __volatile__("yield" ::: "memory")
#endif
extern void gasnett_flush_streams(void);
extern void gasnett_close_streams(void);
GASNETI_NORETURN extern void gasnett_killmyprocess(int status); // without exit functions
// Raises a limit of the process, or all of those that GASNet raises, as far as allowed, unless GASNET_MAXIMIZE_<NAME>, with
// the name given, is no. The first returns whether the limit could be raised.
extern int gasnett_maximize_rlimit(int resource, const char *name);
extern void gasnett_maximize_rlimits(void);
extern uint64_t gasnett_checksum(const void *p, int nbytes);
extern size_t gasnett_count0s(const void *src, size_t nbytes); // bytes that are 0
extern size_t gasnett_count0s_copy(void *dst, const void *src, size_t nbytes);
#define gasnett_count0s_uint32_t(x) gasneti_count0s_word((uint32_t)(x), 4)
#define gasnett_count0s_uint64_t(x) gasneti_count0s_word((uint64_t)(x), 8)
#define gasnett_count0s_uintptr_t(x) gasneti_count0s_word((uintptr_t)(x), 8)
static GASNETI_INLINE int gasneti_count0s_word(uint64_t x, int nbytes) {
	int n = 0;
	for (int i = 0; i < nbytes; i++) {
		n += (x >> (8 * i) & 0xFF) == 0;
	}
	return n;
}
extern void *gasnett_mmap(uintptr_t size); // zeroed pages; without memory the process ends
extern void *gasnett_malloc_aligned(size_t alignment, size_t size);
extern void gasnett_free_aligned(void *p);

// Copies, of the low bytes of a word also.
#define GASNETT_FAST_ALIGNED_MEMCPY(dst, src, nbytes) memcpy(dst, src, nbytes)
#define GASNETT_FAST_UNALIGNED_MEMCPY(dst, src, nbytes) memcpy(dst, src, nbytes)
#define GASNETT_VALUE_ASSIGN(dst, value, nbytes) gasneti_value_assign(dst, (uintptr_t)(value), nbytes)
#define GASNETT_VALUE_RETURN(src, nbytes) return gasneti_value_of(src, nbytes)
static GASNETI_INLINE void gasneti_value_assign(void *dst, uintptr_t value, size_t nbytes) { memcpy(dst, &value, nbytes); }
static GASNETI_INLINE uintptr_t gasneti_value_of(const void *src, size_t nbytes) {
	uintptr_t value = 0;
	memcpy(&value, src, nbytes);
	return value;
}

// Failures and debugging.
__attribute__((format(printf, 1, 2))) GASNETI_NORETURN extern void gasnett_fatalerror(const char *fmt, ...);
extern void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name); // waits until a debugger sets *flag
extern void gasnett_freezeForDebuggerErr(void);                                // does so if GASNET_FREEZE_ON_ERROR is set
extern void gasneti_freeze_if(const char *variable);                           // does so if that is set
extern void gasnett_backtrace_init(const char *exename);
extern int gasnett_print_backtrace(int fd); // 0 is success
extern int (*gasnett_print_backtrace_ifenabled)(int fd); // does so if GASNET_BACKTRACE is set
typedef struct {
	const char *name;
	int (*fnp)(int fd); // returns 0 if it has printed a trace
	int threadsupport;
} gasnett_backtrace_type_t;
extern gasnett_backtrace_type_t gasnett_backtrace_user; // a program may define one, which is used then
extern const char *gasnett_performance_warning_str(void); // empty: the library is built for speed
// The library's own diagnostics, for programs that run them: there are none, in no handlers.
#define gasnett_run_diagnostics(iters, threads, sections, seginfo) ((void)(iters), (void)(threads), (void)(sections), (void)(seginfo), 0)
#define gasnett_diagnostic_gethandlers(table, count) ((void)(*(table) = GASNETI_NULL), (void)(*(count) = 0))

// Traces and statistics, which this library does not write. Formats are checked, and nothing is evaluated.
#define GASNETT_TRACE_ENABLED 0
#define GASNETT_TRACE_PRINTF(...) ((void)(0 && gasneti_trace_check(__VA_ARGS__)))
#define GASNETT_TRACE_PRINTF_FORCE(...) GASNETT_TRACE_PRINTF(__VA_ARGS__)
#define GASNETT_TRACE_GETMASK() ""
#define GASNETT_TRACE_SETMASK(mask) ((void)(mask))
#define GASNETT_TRACE_GET_TRACELOCAL() 0
#define GASNETT_TRACE_SET_TRACELOCAL(local) ((void)(local))
#define GASNETT_TRACE_SETSOURCELINE(file, line) ((void)(file), (void)(line))
#define GASNETT_TRACE_GETSOURCELINE(file, line) ((void)(*(file) = ""), (void)(*(line) = 0))
#define GASNETT_TRACE_FREEZESOURCELINE() ((void)0)
#define GASNETT_TRACE_UNFREEZESOURCELINE() ((void)0)
#define GASNETT_STATS_INIT(callback) ((void)(callback))
#define GASNETT_STATS_GETMASK() ""
#define GASNETT_STATS_SETMASK(mask) ((void)(mask))
__attribute__((format(printf, 1, 2))) extern int gasneti_trace_check(const char *fmt, ...);

GASNETI_END_C

#endif

#endif
