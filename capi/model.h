// What the library's parts need to know of virtual time.

#ifndef GASNETI_MODEL_H
#define GASNETI_MODEL_H

#include <stdint.h>

// Under a model: this rank's end of the socket to the model's process. Else -1.
extern int gasneti_model_socket;

// Makes the ranks of a modelled job, if the environment wants one: copies of the calling process, each of which returns 0 here. The calling
// process itself becomes the model's and does not return. -1 says that it cannot be, and why was said on standard error.
int gasneti_make_ranks(int argc, char **argv);

// The clock of a modelled job in nanoseconds, and how time passes there; NULL live. The tools ask it.
struct gasneti_virtual {
	uint64_t (*now)(void);
	void (*pass)(uint64_t ns);
};
extern const struct gasneti_virtual *gasneti_virtual;

// Has the tools ask for that of the job, which is under a model and was joined.
void gasneti_model_clock(void);

#endif
