// What the clients of this folder share.

#ifndef CHECK_H
#define CHECK_H

#include <gasnet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(cond)                                                                                    \
	do {                                                                                               \
		if (!(cond)) {                                                                                 \
			fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, (int)gasnet_mynode(), #cond);  \
			gasnet_exit(3);                                                                            \
		}                                                                                              \
	} while (0)

#define OK(call)                                                                                       \
	do {                                                                                               \
		int ok_result = (call);                                                                        \
		if (ok_result != GASNET_OK) {                                                                  \
			fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, (int)gasnet_mynode(), #call, \
					gasnet_ErrorName(ok_result));                                                      \
			gasnet_exit(3);                                                                            \
		}                                                                                              \
	} while (0)

#define BARRIER()                                                \
	do {                                                         \
		gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);  \
		OK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS)); \
	} while (0)

#endif
