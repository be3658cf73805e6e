// Signals. The program's handlers expect the stack of a C thread. While a thread is in Go its stack is one of Go's, which may
// have little room left: so a handler that was installed for no stack in particular is installed again for the
// signal stack that Go has given each thread; and a thread that has to wait for long does so in C.

#include "internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static void tame(int sig) {
	struct sigaction a;
	if (sigaction(sig, NULL, &a) != 0 || (a.sa_flags & SA_ONSTACK) != 0) {
		return;
	}
	if (!(a.sa_flags & SA_SIGINFO) && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN)) {
		return;
	}
	a.sa_flags |= SA_ONSTACK;
	sigaction(sig, &a, NULL);
}

void gasneti_tame_signals(void) {
	enum { INTERVAL = 10000000 }; // nanoseconds
	static _Atomic int64_t next;
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, due = next;
	if (now < due || !atomic_compare_exchange_strong(&next, &due, now + INTERVAL)) {
		return;
	}
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		tame(sig);
	}
}

void gasneti_make_signal_stack(void) {
	static char memory[256 << 10] __attribute__((aligned(64)));
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
		stack = (stack_t){.ss_sp = memory, .ss_size = sizeof memory};
		sigaltstack(&stack, NULL);
	}
}

void gasneti_sleep(struct pollfd *fds, int n, const struct timespec *timeout) {
	gasneti_tame_signals();
	// A thread that is cancelled ends in the program's code: there is no way back through Go.
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	ppoll(fds, (nfds_t)n, timeout, NULL);
	pthread_setcancelstate(before, NULL);
}
