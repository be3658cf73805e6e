// What the clients share whose threads come and go, generation after generation (PAR): the job's beginning, and what is said of the
// messages that went in C.

#ifndef GENERATIONS_H
#define GENERATIONS_H

#include "check.h"

#include <errno.h>
#include <pthread.h>

extern uint64_t gasneti_fast_messages(void);

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;

// Attaches, with a segment of at least so many bytes.
static void begin(gasnet_handlerentry_t *table, int entries, uintptr_t size) {
	OK(gasnet_attach(table, entries, (size / GASNET_PAGESIZE + 1) * GASNET_PAGESIZE, 0));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	BARRIER();
}

// Runs work on so many threads, each with its number and, in every second generation, with a small stack. meanwhile is called
// until all have ended, unless it is NULL.
static void generation(int g, int threads, void *(*work)(void *), int (*meanwhile)(void)) {
	pthread_t t[16];
	pthread_attr_t attr;
	CHECK(threads <= 16);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < threads; i++) {
		CHECK(pthread_create(&t[i], g % 2 == 0 ? NULL : &attr, work, (void *)(intptr_t)i) == 0);
	}
	for (int i = 0; i < threads; i++) {
		while (meanwhile != NULL && pthread_tryjoin_np(t[i], NULL) == EBUSY) {
			OK(meanwhile());
		}
		if (meanwhile == NULL) {
			CHECK(pthread_join(t[i], NULL) == 0);
		}
	}
}

// Compares the messages that went in C since there have been several threads, in the generations after the first, with what the
// program's argument says: none, if "slow", else more than its threads have sent. Each is sent and taken twice; in some waits
// Go takes them.
static void check_way(const char *argument, uint64_t before, uint64_t sent) {
	uint64_t in_c = gasneti_fast_messages() - before;
	CHECK(strcmp(argument, "slow") == 0 ? in_c == 0 : in_c > sent);
	printf("%.2f messages in C of rank %d for each request\n", (double)in_c / (double)sent, (int)me);
}

#endif
