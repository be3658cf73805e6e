// A handler of a signal that was installed for no stack in particular, needs some, and comes all the time: while the thread
// is busy in the library, and while it sleeps there.

#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile int ticks, astray, pings;
static char *top; // of the thread's stack, nearly

static void on_tick(int sig) {
	volatile char frame[64 << 10];
	frame[0] = frame[sizeof frame - 1] = (char)sig;
	stack_t own;
	sigaltstack(NULL, &own);
	uintptr_t depth = (uintptr_t)top - (uintptr_t)frame;
	astray += depth > 8u << 20 && !(own.ss_flags & SS_ONSTACK); // on a stack of somebody else's
	ticks++;
}

static void on_ping(gasnet_token_t t) { OK(gasnet_AMReplyShort0(t, 129)); }

static void on_pong(gasnet_token_t t) {
	(void)t;
	pings++;
}

static void every(long microseconds) {
	struct itimerval v = {{0, microseconds}, {0, microseconds}};
	CHECK(setitimer(ITIMER_REAL, &v, NULL) == 0);
}

int main(int argc, char **argv) {
	char here;
	top = &here;
	OK(gasnet_init(&argc, &argv));
	gasnet_handlerentry_t table[] = {{128, on_ping}, {129, on_pong}};
	OK(gasnet_attach(table, 2, GASNET_PAGESIZE, 0));
	BARRIER();
	signal(SIGALRM, on_tick);
	for (clock_t until = clock() + CLOCKS_PER_SEC / 20; clock() < until;) { // the library looks for new handlers meanwhile
		OK(gasnet_AMPoll());
	}
	every(500);
	while (ticks < 400) {
		OK(gasnet_AMRequestShort0(gasnet_mynode(), 128)); // never a sleep
		OK(gasnet_AMPoll());
	}
	CHECK(astray == 0);
	BARRIER();
	ticks = 0;
	if (gasnet_mynode() == 0) { // the others sleep in the barrier until the timer has come often
		for (clock_t until = clock() + CLOCKS_PER_SEC / 2; clock() < until;) {
		}
	}
	BARRIER();
	CHECK(ticks > 20 && astray == 0);
	every(0);
	BARRIER();
	printf("signals of rank %d are well\n", (int)gasnet_mynode());
	return 0;
}
