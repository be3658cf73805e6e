// The tools, all of them. With GASNET_SEQ, GASNET_PARSYNC or GASNET_PAR it is a job, otherwise a program that uses
// the tools alone.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // for pthreads and limits in every dialect
#endif
#if defined(GASNET_SEQ) || defined(GASNET_PARSYNC) || defined(GASNET_PAR)
#define JOB 1
#include <gasnet.h>
#else
#define JOB 0
#endif
#include <gasnet_tools.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(cond)                                                          \
	do {                                                                     \
		if (!(cond)) {                                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);       \
			exit(3);                                                         \
		}                                                                    \
	} while (0)

#if !PLATFORM_OS_LINUX || PLATFORM_OS_DARWIN || !PLATFORM_ARCH_64 || PLATFORM_ARCH_32 || PLATFORM_COMPILER_GNU + PLATFORM_COMPILER_CLANG != 1
#error "the platform"
#endif
#if !GASNETT_HAVE_ATOMIC_CAS || !GASNETT_HAVE_STRONGATOMIC_ADD_SUB || GASNETT_PAGESIZE != 1 << GASNETT_PAGESHIFT || !HAVE_MMAP
#error "constants"
#endif
GASNETT_IDENT(tools_ident, "$ToolsClient: 1 $");

static void timers(void) {
	gasnett_tick_t start = gasnett_ticks_now();
	uint64_t wall = gasnett_gettimeofday_us();
	CHECK(gasnett_nsleep(5000000) == 0);
	gasnett_tick_t took = gasnett_ticks_now() - start;
	CHECK(gasnett_ticks_to_ns(took) >= 5000000 && gasnett_ticks_to_us(took) >= 5000);
	CHECK(gasnett_gettimeofday_us() - wall >= 4000);
	CHECK(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0);
	CHECK(start > GASNETT_TICK_MIN && start < GASNETT_TICK_MAX);
}

enum { THREADS = 4, TURNS = 20000 };

// A class of atomics: every operation, and a count and a sum by several threads.
#define ATOMICS(P, V)                                                                              \
	static P##_t P##_shared = P##_init(0);                                                         \
	static P##_t P##_sum = P##_init(7);                                                            \
	static void P##_work(void) {                                                                   \
		for (int i = 0; i < TURNS; i++) {                                                          \
			P##_increment(&P##_shared, GASNETT_ATOMIC_NONE);                                       \
			P##_add(&P##_sum, 3, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST);                  \
			V old;                                                                                 \
			do {                                                                                   \
				old = P##_read(&P##_sum, GASNETT_ATOMIC_ACQ);                                      \
			} while (!P##_compare_and_swap(&P##_sum, old, old - 2, GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ_IF_TRUE)); \
		}                                                                                          \
	}                                                                                              \
	static void P##_result(void) {                                                                 \
		CHECK(P##_read(&P##_shared, 0) == THREADS * TURNS);                                        \
		CHECK(P##_read(&P##_sum, 0) == 7 + THREADS * TURNS);                                       \
	}                                                                                              \
	static void P##_alone(void) {                                                                  \
		P##_t x = P##_init(5);                                                                     \
		CHECK(P##_read(&x, 0) == 5);                                                               \
		P##_set(&x, 1, GASNETT_ATOMIC_REL);                                                        \
		P##_decrement(&x, 0);                                                                      \
		CHECK(P##_read(&x, 0) == 0);                                                               \
		P##_decrement(&x, 0);                                                                      \
		CHECK(P##_read(&x, GASNETT_ATOMIC_RMB_PRE) == (V)-1);                                      \
		P##_set(&x, 2, GASNETT_ATOMIC_WMB_POST);                                                   \
		CHECK(!P##_decrement_and_test(&x, 0) && P##_decrement_and_test(&x, GASNETT_ATOMIC_ACQ));   \
		CHECK(P##_add(&x, 9, 0) == 9 && P##_subtract(&x, 10, 0) == (V)-1);                         \
		CHECK(P##_swap(&x, 4, 0) == (V)-1 && P##_read(&x, 0) == 4);                                \
		CHECK(!P##_compare_and_swap(&x, 5, 6, GASNETT_ATOMIC_ACQ_IF_FALSE) && P##_read(&x, 0) == 4); \
		CHECK(P##_compare_and_swap(&x, 4, 6, 0) && P##_read(&x, 0) == 6);                          \
		CHECK(sizeof x == sizeof(V));                                                              \
	}
ATOMICS(gasnett_atomic, gasnett_atomic_val_t)
ATOMICS(gasnett_atomic32, uint32_t)
ATOMICS(gasnett_atomic64, uint64_t)
ATOMICS(gasnett_strongatomic, gasnett_strongatomic_val_t)
ATOMICS(gasnett_strongatomic32, uint32_t)
ATOMICS(gasnett_strongatomic64, uint64_t)
#define ALL(what) (gasnett_atomic##what(), gasnett_atomic32##what(), gasnett_atomic64##what(), \
				   gasnett_strongatomic##what(), gasnett_strongatomic32##what(), gasnett_strongatomic64##what())

GASNETT_THREADKEY_DECLARE(key);
GASNETT_THREADKEY_DEFINE(key);
static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
static int arrived, counted, go;

static void *work(void *own) {
	CHECK(gasnett_threadkey_get(key) == NULL);
	gasnett_threadkey_set(key, own);
	gasnett_mutex_lock(&mutex);
	gasnett_mutex_assertlocked(&mutex);
	arrived++;
	gasnett_cond_broadcast(&cond);
	while (!go) {
		gasnett_cond_wait(&cond, &mutex);
	}
	gasnett_mutex_unlock(&mutex);
	gasnett_mutex_assertunlocked(&mutex);
	ALL(_work);
	for (int i = 0; i < TURNS; i++) {
		gasnett_mutex_lock(&mutex);
		counted++;
		gasnett_mutex_unlock(&mutex);
		gasnett_rwlock_rdlock(&rwlock);
		gasnett_rwlock_unlock(&rwlock);
	}
	CHECK(gasnett_threadkey_get(key) == own);
	return NULL;
}

static void threads(void) {
	pthread_t ids[THREADS];
	int own[THREADS];
	gasnett_threadkey_init(key);
	gasnett_threadkey_set_noinit(key, own);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&ids[i], NULL, work, &own[i]) == 0);
	}
	gasnett_mutex_lock(&mutex);
	while (arrived < THREADS) {
		gasnett_cond_wait(&cond, &mutex);
	}
	go = 1;
	gasnett_cond_broadcast(&cond);
	gasnett_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(ids[i], NULL) == 0);
	}
	CHECK(counted == THREADS * TURNS && gasnett_threadkey_get_noinit(key) == own);
	ALL(_result);
}

static void locks(void) {
	gasnett_mutex_t m;
	gasnett_mutex_init(&m);
	CHECK(gasnett_mutex_trylock(&m) == 0 && gasnett_mutex_trylock(&m) == EBUSY);
	gasnett_mutex_unlock(&m);
	CHECK(gasnett_mutex_destroy(&m) == 0);
	gasnett_rwlock_t l;
	gasnett_rwlock_init(&l);
	CHECK(gasnett_rwlock_tryrdlock(&l) == 0 && gasnett_rwlock_trywrlock(&l) == EBUSY && gasnett_rwlock_tryrdlock(&l) == 0);
	gasnett_rwlock_unlock(&l);
	gasnett_rwlock_unlock(&l);
	gasnett_rwlock_wrlock(&l);
	CHECK(gasnett_rwlock_tryrdlock(&l) == EBUSY);
	gasnett_rwlock_unlock(&l);
	CHECK(gasnett_rwlock_destroy(&l) == 0);
	gasnett_cond_t c;
	gasnett_cond_init(&c);
	gasnett_cond_signal(&c);
	CHECK(gasnett_cond_destroy(&c) == 0);
}

// Whether a process that calls f ends by SIGABRT.
static int aborts(void (*f)(void)) {
	int status;
	fflush(NULL);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(freopen("/dev/null", "w", stderr) != NULL);
		struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		f();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void bad_number(void) { gasnett_getenv_int_withdefault("TOOLS_BAD", 1, 0); }
static void bad_size(void) { gasnett_getenv_int_withdefault("TOOLS_BAD", 1, 1); }
static void bad_answer(void) { gasnett_getenv_yesno_withdefault("TOOLS_BAD", 1); }
static void bad_fraction(void) { gasnett_getenv_dbl_withdefault("TOOLS_BAD", 1); }
static void too_much(void) { gasnett_parse_int("9223372036854775808", 0); }
static void fatal(void) { gasnett_fatalerror("%d", 5); }
static void unlocked(void) {
	gasnett_mutex_assertlocked(&mutex);
#ifndef GASNET_DEBUG
	abort(); // it is not checked
#endif
}

static void environment(void) {
	CHECK(gasnett_getenv("TOOLS_UNSET") == NULL && strcmp(gasnett_getenv_withdefault("TOOLS_UNSET", "x"), "x") == 0);
	gasnett_setenv("TOOLS_SET", "yEs");
	CHECK(gasnett_getenv_yesno_withdefault("TOOLS_SET", 0) == 1 && gasnett_getenv_yesno_withdefault("TOOLS_UNSET", 0) == 0);
	gasnett_setenv("TOOLS_SET", "-0x1F");
	CHECK(gasnett_getenv_int_withdefault("TOOLS_SET", 1, 0) == -31 && gasnett_getenv_int_withdefault("TOOLS_UNSET", 8, 0) == 8);
	gasnett_setenv("TOOLS_SET", "1.5mb");
	CHECK(gasnett_getenv_int_withdefault("TOOLS_SET", 1, 1024) == 3 << 19);
	gasnett_setenv("TOOLS_SET", "3/8");
	CHECK(gasnett_getenv_dbl_withdefault("TOOLS_SET", 1) == 0.375 && gasnett_getenv_dbl_withdefault("TOOLS_UNSET", 2.5) == 2.5);
	gasnett_unsetenv("TOOLS_SET");
	CHECK(gasnett_getenv("TOOLS_SET") == NULL);
	CHECK(gasnett_parse_int("12", 1024) == 12288 && gasnett_parse_int("2GB", 1) == (int64_t)2 << 30 && gasnett_parse_int("7B", 1024) == 7);
	CHECK(gasnett_parse_int("9223372036854775807", 0) == INT64_MAX);
	char buf[40];
	CHECK(strcmp(gasnett_format_number(3 << 20, buf, sizeof buf, 1), "3 MB") == 0 && strcmp(gasnett_format_number(-5, buf, sizeof buf, 0), "-5") == 0);
	gasnett_setenv("TOOLS_BAD", "12x");
	CHECK(aborts(bad_number) && aborts(bad_size) && aborts(bad_answer) && aborts(bad_fraction) && aborts(too_much));
	gasnett_setenv("GASNET_BACKTRACE", "1");
	CHECK(aborts(fatal) && aborts(unlocked));
	gasnett_unsetenv("GASNET_BACKTRACE");
	(void)gasnett_verboseenv();
	gasnett_envint_display("TOOLS_INT", 1, 0, 1);
	gasnett_envdbl_display("TOOLS_DOUBLE", 1, 0);
}

static volatile sig_atomic_t signalled;
static void on_signal(int sig) { signalled = sig; }

static int traced;
static int trace(int fd) {
	traced = fd;
	return 0;
}
gasnett_backtrace_type_t gasnett_backtrace_user = {"own", trace, 1};

GASNETT_FORMAT_PRINTF(say, 1, 2, static void say(const char *fmt, ...));
static void say(const char *fmt, ...) { (void)fmt; }
GASNETT_INLINE(twice) int twice(int x) { return 2 * x; }
GASNETT_NEVER_INLINE(thrice, static int thrice(int x)) { return 3 * x; }

static uint64_t low_bytes(const void *p, size_t n) { GASNETT_VALUE_RETURN(p, n); }

static void the_rest(void) {
	gasnett_reghandler(SIGUSR1, on_signal);
	raise(SIGUSR1);
	CHECK(signalled == SIGUSR1 && gasnett_reghandler(SIGUSR1, SIG_DFL) == on_signal);
	CHECK(gasnett_cpu_count() > 0 && gasnett_getPhysMemSz(1) > 1 << 20 && *gasnett_gethostname() != 0 && gasnett_isLittleEndian());
	gasnett_sched_yield();
	gasnett_spinloop_hint();
	gasnett_flush_streams();
	gasnett_local_wmb();
	gasnett_local_rmb();
	gasnett_local_mb();
	gasnett_weak_wmb();
	gasnett_weak_rmb();
	gasnett_weak_mb();
	gasnett_compiler_fence();
	gasnett_setenv("GASNET_MAXIMIZE_RLIMIT_CPU", "no");
	CHECK(gasnett_maximize_rlimit(RLIMIT_CPU, "RLIMIT_CPU") == 0 && gasnett_maximize_rlimit(RLIMIT_CORE, "RLIMIT_CORE") == 1);
	gasnett_maximize_rlimits();
	const char zeros[] = {0, 1, 0, 2, 0};
	char copy[5];
	CHECK(gasnett_count0s(zeros, 5) == 3 && gasnett_count0s_copy(copy, zeros, 4) == 2 && memcmp(copy, zeros, 4) == 0);
	CHECK(gasnett_count0s_uint32_t(0x00FF0001) == 2 && gasnett_count0s_uint64_t(1) == 7 && gasnett_count0s_uintptr_t(~(uintptr_t)0) == 0);
	CHECK(gasnett_checksum("a", 1) == 0xAF63DC4C8601EC8Cu && gasnett_checksum("", 0) != gasnett_checksum("b", 1));
	char *pages = (char *)gasnett_mmap(2 * GASNETT_PAGESIZE);
	CHECK((uintptr_t)pages % GASNETT_PAGESIZE == 0 && pages[GASNETT_PAGESIZE] == 0);
	void *aligned = gasnett_malloc_aligned(4096, 10);
	CHECK((uintptr_t)aligned % 4096 == 0);
	gasnett_free_aligned(aligned);
	uint64_t word = 0;
	GASNETT_VALUE_ASSIGN(&word, 0x1122334455667788u, 3);
	CHECK(word == 0x667788 && low_bytes(&word, 2) == 0x7788);
	CHECK(gasnett_print_backtrace(5) == 0 && traced == 5 && gasnett_print_backtrace_ifenabled(6) != 0 && traced == 5);
	gasnett_setenv("GASNET_BACKTRACE_TYPE", "gdb,execinfo");
	int nowhere = open("/dev/null", O_WRONLY);
	traced = 0;
	gasnett_print_backtrace(nowhere); // which the C library may have or not
	CHECK(traced == 0);
	gasnett_setenv("GASNET_BACKTRACE_TYPE", "gdb,OWN");
	CHECK(gasnett_print_backtrace(7) == 0 && traced == 7);
	gasnett_setenv("GASNET_BACKTRACE_TYPE", "gdb");
	CHECK(gasnett_print_backtrace(8) != 0 && traced == 7);
	gasnett_unsetenv("GASNET_BACKTRACE_TYPE");
	close(nowhere);
	gasnett_backtrace_init("tools");
	CHECK(gasnett_set_affinity(1) == 0 && *gasnett_performance_warning_str() == 0);
	GASNETT_TRACE_PRINTF("%d", 5);
	GASNETT_TRACE_SETMASK(GASNETT_TRACE_GETMASK());
	const char *file;
	unsigned line;
	GASNETT_TRACE_GETSOURCELINE(&file, &line);
	CHECK(line == 0 && !GASNETT_TRACE_ENABLED);
	say(gasnett_current_loc);
	if_pf (twice(2) != 4) { CHECK(0); }
	if_pt (thrice(2) == 6) { CHECK(strcmp(_STRINGIFY(_CONCAT(a, b)), "ab") == 0); }
	CHECK(strstr(GASNETT_CONFIG_STRING, "timers=") != NULL && GASNETT_SYSTEM_TUPLE[0] != 0 && tools_ident[0] == '$');
	CHECK(gasnett_constant_p(1) && GASNETT_MAX_THREADS > 0);
	CHECK(gasnett_run_diagnostics(1, 1, "", NULL) == 0);
}

int main(int argc, char **argv) {
	environment(); // before there is a job too
#if JOB
	CHECK(gasnet_init(&argc, &argv) == GASNET_OK && gasnet_attach(NULL, 0, 0, 0) == GASNET_OK);
	gasnet_handlerentry_t *handlers;
	int count;
	gasnett_diagnostic_gethandlers(&handlers, &count);
	CHECK(count == 0);
#else
	(void)argc;
	(void)argv;
#endif
	timers();
	ALL(_alone);
	locks();
	threads();
	environment();
	the_rest();
	printf("tools are right\n");
	return 0;
}
