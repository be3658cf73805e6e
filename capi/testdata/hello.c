// A job that only joins and leaves: from main or, with EARLY, from a constructor, before main.

#include "check.h"

static void join(void) {
	setenv("HELLO", "is there", 1); // the library reads the environment as gasnet_init finds it
	OK(gasnet_init(NULL, NULL));
	OK(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
	BARRIER();
}

#ifdef EARLY
__attribute__((constructor)) static void early(void) { join(); }
#endif

int main(void) {
#ifndef EARLY
	join();
#endif
	CHECK(strcmp(gasnet_getenv("HELLO"), "is there") == 0);
	BARRIER();
	printf("rank %d of %d is well", (int)gasnet_mynode(), (int)gasnet_nodes()); // not a whole line: stdio keeps it
	return 0;
}
