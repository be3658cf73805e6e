// What the C files of the library share with each other and with Go. Nothing of it is seen by clients.

#ifndef GASNETI_INTERNAL_H
#define GASNETI_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#define GASNETI_LIBRARY 1 // no reference to a thread mode's shell
#define GASNET_PAR 1
#include "include/gasnet.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

// Thread modes, as the shells give them to gasneti_init.
enum { GASNETI_SEQ, GASNETI_PARSYNC, GASNETI_PAR };

// Categories of messages, as headers have them (core.Kind).
enum gasneti_kind { GASNETI_SHORT, GASNETI_MEDIUM, GASNETI_LONG };

// Forms of one-sided operations.
enum { GASNETI_BLOCKING, GASNETI_NB, GASNETI_NBI };

// When the source of a put may be overwritten, as extended.LocalCompletion has it.
enum { GASNETI_LC_NOW, GASNETI_LC_DEFER, GASNETI_LC_LEAF };

// Categories of implicit operations.
enum { GASNETI_PUTS = 1, GASNETI_GETS = 2, GASNETI_REGION = 4 };

// What does not change once the job has been joined, and segments attached. Go writes it.
struct gasneti_job {
	gasnet_node_t rank, size;
	size_t max_medium, max_long_request, max_long_reply;
	uintptr_t max_segment, max_segment_of_all;
	gasnet_seginfo_t *segments; // of every rank, in its own address space; NULL before gasnet_attach
	gasnet_nodeinfo_t *nodes;   // likewise
};
extern struct gasneti_job gasneti_job;

// How far the process is. A program of GASNet-1's interface is not connected before it is attached; one of GASNet-EX's is, and
// may send messages.
enum gasneti_stage { GASNETI_FRESH, GASNETI_FORKED, GASNETI_JOINED, GASNETI_CONNECTED, GASNETI_ATTACHED };
extern enum gasneti_stage gasneti_stage;
extern int gasneti_mode; // thread mode

// A handler's token: one for each thread, since a thread runs one handler at a time.
struct gasneti_token {
	int live; // a handler runs
	int fast; // the fast path has called it
	int answers; // and may still send its reply
	uint32_t header; // what the fast path knows of the message: see GASNETI_HEADER
	gasnet_node_t source;
};

// The header of a message, as core.Header has it, and what it says.
#define GASNETI_HEADER(handler, reply, kind, nargs) ((uint32_t)(handler) << 8 | (uint32_t)(reply) << 7 | (uint32_t)(kind) << 5 | (uint32_t)(nargs))
static inline uint32_t gasneti_header_handler(uint32_t h) { return h >> 8; }
static inline int gasneti_header_reply(uint32_t h) { return h >> 7 & 1; }
static inline uint32_t gasneti_header_kind(uint32_t h) { return h >> 5 & 3; }
static inline int gasneti_header_nargs(uint32_t h) { return h & 31; }

// Why a thread may not communicate: it holds a lock or is in a section without interrupts, it has prepared a message, or it runs an operator of a
// collective call.
enum { GASNETI_HOLDS = 1, GASNETI_PREPARED = 2, GASNETI_COMPUTES = 4 };

// What a thread holds, as far as a program that is compiled for debugging says it (lock.c).
enum { GASNETI_MAX_HELD = 64 };
struct gasneti_held {
	int depth, section;
	const void *locks[GASNETI_MAX_HELD]; // the newest last
};

// What belongs to a thread of the program. It is found by one instruction, also in a shared object.
struct gasneti_thread {
	int number; // 1 more than that by which Go knows it; 0: it has not called yet
	int inside; // it is in Go, or in a handler, and a handler of a signal may have interrupted it there
	unsigned calls;
	int implicit; // categories of implicit operations that it has begun in Go; see gasneti_implicit
	int turns; // the GASNET_BLOCKUNTIL that it is in has begun in Go
	uint32_t looked; // and the last event in C after which its condition was looked at
	unsigned sends; // requests since the last poll for their sake
	int restricted; // why it may not communicate, of GASNETI_HOLDS, GASNETI_PREPARED and GASNETI_COMPUTES
	struct {
		void *at;
		size_t size;
	} staging[2]; // the library's memory for payloads that it prepares in C: of a reply, and of a request, while whose commit handlers may run
	struct gasneti_token token;
	struct gasneti_held held;
};
extern __thread struct gasneti_thread gasneti_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The thread that Go knows as number 0; NULL if it has ended.
extern struct gasneti_thread *_Atomic gasneti_main_thread;

// Gives the calling thread its number, which it returns, at the first call.
int gasneti_open_thread(void);

// Returns the categories of implicit operations that Go may have under way for the calling thread, and GASNETI_REGION while
// it collects them. In one-threaded modes all threads have one context, and so these in common.
int *gasneti_implicit(void);

static inline int gasneti_self(void) {
	int n = gasneti_thread.number;
	return __builtin_expect(n != 0, 1) ? n - 1 : gasneti_open_thread();
}

// Calls a function that Go exports, for its result or for none.
#define GASNETI_GO(call)                \
	__extension__({                     \
		gasneti_thread.inside++;        \
		__auto_type result_ = (call);   \
		gasneti_thread.inside--;        \
		result_;                        \
	})
#define GASNETI_GO_VOID(call)           \
	do {                                \
		gasneti_thread.inside++;        \
		call;                           \
		gasneti_thread.inside--;        \
	} while (0)

// Makes the calling thread, which is in gasnet_init, number 0.
void gasneti_claim_main(void);

// Runs fn, a client's handler, on the calling thread. payload says whether it takes a buffer.
void gasneti_dispatch(gasneti_fn_t fn, gasnet_node_t source, int nargs, const uint32_t *args, int payload, void *buf, size_t n);

// The program's handlers by index, for the fast path; NULL where there is none.
extern gasneti_fn_t gasneti_handlers[256];

// Has the fast path use the state that Go shares, of which layout.h has that version, and reports whether it does.
// several says that more than one thread may call.
bool gasneti_share(uint32_t version, void *state, void *rings, int several);

// Has barriers in C use the state that Go shares, whose notices have the handler and the team's id.
void gasneti_share_barrier(void *state, uint32_t handler, uint64_t team);

// Returns what takes a message that is a notice of a barrier, if C can; else NULL.
gasneti_fn_t gasneti_barrier_notice(gasnet_node_t from, uint32_t header, const uint32_t *args);

// Makes n bytes of the program's at to the same memory as the library's own, with what the program has there. replace says
// whether other memory may take the place of the library's. It returns 0, or the number of the error.
int gasneti_alias(void *to, void *own, size_t n, int replace);

// Notes that there are segments, and tells the program.
void gasneti_attached(void);

// Starts the Go runtime, once. argc and argv may be NULL.
void gasneti_start_runtime(int argc, char **argv);

// Does what is due before the process ends: a handler of the program's for SIGQUIT runs if the end is not the program's
// own, and stdio is flushed.
void gasneti_end_process(void);

// Sees to it that handlers of signals run on a stack of their own while the thread is in Go. It looks again, at most
// every hundredth of a second, since a program may install others at any time.
void gasneti_tame_signals(void);

// Gives the calling thread, the first of the library's, a roomy stack for signals if it has none.
void gasneti_make_signal_stack(void);

// Sleeps in the kernel until one of the descriptors is ready, or the time is up; NULL is no limit.
void gasneti_sleep(struct pollfd *fds, int n, const struct timespec *timeout);

// Has the process leave the job, once it was joined, as the program wants. It does not return.
GASNETI_NORETURN void gasneti_leave(int status);

// Has the process end because the job has. It does not return.
GASNETI_NORETURN void gasneti_end(int status);

// Gives the program its handler of SIGQUIT back, which it had before the job was joined.
void gasneti_keep_quit(const struct sigaction *before);

// How long a process that leaves without a failure waits for the others, in seconds (GASNET_EXITTIMEOUT, and the like), at most.
enum { GASNETI_LONGEST_TIME = 1000000 };
double gasneti_exit_timeout(void);

// Makes the thread by which the process leaves, and the hook for exit and return from main.
void gasneti_prepare_leave(void);

// Ends the job because of a misuse that C has found: "rank N: CALL: ...".
GASNETI_NORETURN void gasneti_misuse(const char *call, const char *why);

// Ends the job because the call needs one that the process has joined and may send in, or because of the thread's restriction.
void gasneti_not_attached(const char *call);
GASNETI_NORETURN void gasneti_restricted(const char *call);

// Ends the job because the handler that has run leaves the thread restricted.
GASNETI_NORETURN void gasneti_left_restricted(void);

// Lets collective calls go on that wait for their turn, if there are any: they do whatever the rank waits for.
extern int gasneti_coll_pending;
void gasneti_coll_progress(void);

// Counts a call, and once in a while looks for new handlers of signals.
static inline void gasneti_count_call(void) {
	enum { LOOK = 1024 }; // calls
	if (__builtin_expect(++gasneti_thread.calls % LOOK == 0, 0)) {
		gasneti_tame_signals();
	}
}

// Sees to it that a call which communicates is allowed. In a handler that Go has called, Go does.
static inline void gasneti_need_attached(const char *call) {
	gasneti_count_call();
	if (__builtin_expect(gasneti_stage < GASNETI_CONNECTED || gasneti_thread.restricted || gasneti_thread.token.fast, 0)) {
		gasneti_not_attached(call);
	}
	if (__builtin_expect(__atomic_load_n(&gasneti_coll_pending, __ATOMIC_RELAXED), 0)) {
		gasneti_coll_progress();
	}
}

// Notes that an operation begins, of the form and category.
static inline void gasneti_begin(const char *call, int form, int category) {
	gasneti_need_attached(call);
	if (form == GASNETI_NBI) {
		*gasneti_implicit() |= category;
	}
}

#endif
