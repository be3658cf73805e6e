// Opens the library when it runs, and calls it without its headers.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

static void *name(const char *symbol) {
	void *p = dlsym(library, symbol);
	if (p == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return p;
}

int main(int argc, char **argv) {
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	int (*init)(int *, char ***), (*attach)(void *, int, unsigned long, unsigned long);
	unsigned (*mynode)(void);
	int (*barrier)(int, int);
	*(void **)&init = name("gasnet_init");
	*(void **)&attach = name("gasnet_attach");
	*(void **)&mynode = name("gasnet_mynode");
	*(void **)&barrier = name("gasnet_barrier");
	if (init(&argc, &argv) != 0 || attach(NULL, 0, 4096, 0) != 0 || barrier(0, 1) != 0) {
		return 3;
	}
	printf("rank %u is well", mynode());
	return dlclose(library);
}
