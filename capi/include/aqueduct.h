// What Aqueduct offers to programs in C besides GASNet's interfaces: virtual time. A program that is to be built with other libraries, too,
// may ask for this header by __has_include.

#ifndef AQUEDUCT_H
#define AQUEDUCT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns 1 if the job runs in virtual time, on a model, and 0 if it runs live, or was not joined yet.
extern int aqueduct_modelled(void);

// Returns the time since the rank has joined, in picoseconds: under a model in virtual time, which is the same in every run; live on the
// host's clock. 0 before the job is joined. A handler may call it.
extern uint64_t aqueduct_now(void);

// Lets so many nanoseconds pass for the rank in virtual time: what a computation takes on the modelled machine. The program's own
// code takes none. Live it does nothing, as the computation takes the time that it takes. It does not poll. A handler may call it.
// Virtual time lasts 106 days; to compute for longer ends the job.
extern void aqueduct_compute(uint64_t ns);

#ifdef __cplusplus
}
#endif

#endif
