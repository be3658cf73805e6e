// What the programs of this folder begin with.

#include <gasnet.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void die(const char *what) {
	fprintf(stderr, "aqbench capi: %s\n", what);
	gasnet_exit(1);
}

static void ok(int result) {
	if (result != GASNET_OK) {
		die(gasnet_ErrorName(result));
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Has the calling thread run on the CPU of the list that is its: the first, or the second.
static void pin(const char *list, int second) {
	char *end;
	long cpu = strtol(list, &end, 10);
	if (second == 1 && *end == ',') {
		cpu = strtol(end + 1, &end, 10);
	}
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		die("cannot use the CPU");
	}
}
