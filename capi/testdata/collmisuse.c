// Misuses of collective calls, by name.

#include "check.h"
#include <gasnet_coll.h>

static void first(void *results, size_t n, const void *left, size_t left_n, const void *right, size_t size, int flags, int arg) {
	(void)right, (void)flags, (void)arg, (void)left_n;
	memmove(results, left, n * size);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
	const char *name = argc > 1 ? argv[1] : "";
	char in[64] = "", out[64];
	gasnet_coll_fn_entry_t table[] = {{first, 0}};
	gasnet_image_t images[2] = {2, 1};
	if (strcmp(name, "early") == 0) {
		gasnet_coll_broadcast(GASNET_TEAM_ALL, out, 0, in, 8, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "images") == 0) {
		gasnet_coll_init(images, gasnet_mynode(), table, 1, 0);
	}
	gasnet_coll_init(NULL, gasnet_mynode(), table, 1, 0);
	if (strcmp(name, "late") == 0) {
		gasnet_coll_init(NULL, gasnet_mynode(), table, 1, 0);
	} else if (strcmp(name, "flags") == 0) {
		gasnet_coll_broadcast(GASNET_TEAM_ALL, out, 0, in, 8, GASNET_COLL_SINGLE | GASNET_COLL_IN_NOSYNC | GASNET_COLL_IN_MYSYNC);
	} else if (strcmp(name, "root") == 0) {
		gasnet_coll_wait_sync(gasnet_coll_scatter_nb(GASNET_TEAM_ALL, out, 2, in, 8, GASNET_COLL_LOCAL));
	} else if (strcmp(name, "null") == 0) {
		gasnet_coll_gather_all(GASNET_TEAM_ALL, NULL, in, 8, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "team") == 0) {
		gasnet_coll_exchange((gasnet_team_handle_t)(uintptr_t)7, out, in, 8, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "function") == 0) {
		gasnet_coll_reduce(GASNET_TEAM_ALL, 0, out, in, 0, 0, 8, 1, 1, 0, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "blocks") == 0) {
		gasnet_coll_reduce(GASNET_TEAM_ALL, 0, out, in, 2, 0, 8, 4, 0, 0, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "scan") == 0) {
		gasnet_coll_scan(GASNET_TEAM_ALL, out, 0, 0, in, 0, 0, 8, 1, 0, 0, GASNET_COLL_LOCAL);
	} else if (strcmp(name, "handle") == 0) {
		gasnet_coll_wait_sync((gasnet_coll_handle_t)(uintptr_t)1234);
	} else if (strcmp(name, "node") == 0) {
		gasnet_coll_team_node2rank(GASNET_TEAM_ALL, 2);
	}
	BARRIER();
	printf("not reached\n");
	return 0;
}
