// What belongs to a thread of the program: its number, which is the key to its context, and its token.

#include "fast.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__thread struct gasneti_thread gasneti_thread;
struct gasneti_thread *_Atomic gasneti_main_thread;

static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_thread(void *thread) {
	gasneti_fast_abandon();
	for (int i = 0; i < 2; i++) {
		free(gasneti_thread.staging[i].at);
	}
	memset(gasneti_thread.staging, 0, sizeof gasneti_thread.staging);
	if (gasneti_main_thread == thread) {
		gasneti_main_thread = NULL;
	}
	int self = gasneti_thread.number - 1;
	gasneti_thread.number = 0;
	aqThreadClose(self);
}

static void make_key(void) { pthread_key_create(&ending, close_thread); }

// Has the calling thread give its number back when it ends.
static void watch_end(int self) {
	pthread_once(&once, make_key);
	pthread_setspecific(ending, &gasneti_thread);
	if (self == 0) {
		gasneti_main_thread = &gasneti_thread;
	}
}

// Gives the calling thread its number. In one-threaded modes all threads have that of gasnet_init's, as the program sees
// to it that one calls at a time.
int gasneti_open_thread(void) {
	int self = 0;
	if (gasneti_mode == GASNETI_PAR) {
		self = aqThreadOpen();
		watch_end(self);
	}
	gasneti_thread.number = self + 1;
	return self;
}

void gasneti_claim_main(void) {
	gasneti_thread.number = 1;
	gasneti_main_thread = &gasneti_thread;
	if (gasneti_mode == GASNETI_PAR) {
		watch_end(0);
	}
}

int *gasneti_implicit(void) {
	static int of_all;
	return gasneti_mode == GASNETI_PAR ? &gasneti_thread.implicit : &of_all;
}
