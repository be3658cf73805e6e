// Reads one element too far in a block of its own, with an argument: for tools that find that.
#include <gasnet.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) {
		return 1;
	}
	int *block = malloc(4 * sizeof *block);
	for (int i = 0; i < 4; i++) {
		block[i] = i;
	}
	volatile int at = argc > 1 ? 4 : 3;
	printf("rank %d: %d\n", (int)gasnet_mynode(), block[at]);
	free(block);
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
	gasnet_exit(0);
}
