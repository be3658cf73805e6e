// Calls of the functions in a shim's table, for Go, which cannot call through pointers.
#ifndef AQMPI_CALL_H
#define AQMPI_CALL_H

#include "shim/aqmpi.h"

static inline const char *aqmpi_call_error(const aqmpi_table *t) { return t->error(); }
static inline const char *aqmpi_call_library(const aqmpi_table *t) { return t->library(); }
static inline int aqmpi_call_init(const aqmpi_table *t, int want, int *level, int *owner) { return t->init(want, level, owner); }
static inline int aqmpi_call_finalize(const aqmpi_table *t) { return t->finalize(); }
static inline int aqmpi_call_world(const aqmpi_table *t, int *rank, int *size) { return t->world(rank, size); }
static inline int aqmpi_call_local(const aqmpi_table *t, int32_t *ranks, int *n) { return t->local(ranks, n); }
static inline int aqmpi_call_abort(const aqmpi_table *t, int status, int apart) { return t->abort(status, apart); }
static inline int aqmpi_call_gather(const aqmpi_table *t, const void *in, int n, void *out, const int *count, const int *at)
{
	return t->gather(in, n, out, count, at);
}
static inline int aqmpi_call_gathered(const aqmpi_table *t, int *ended) { return t->gathered(ended); }
static inline int aqmpi_call_open(const aqmpi_table *t, const int *group, int n, aqmpi_end **end) { return t->open(group, n, end); }

// aqmpi_crossing is what calls of progress have in common, in C's memory.
typedef struct {
	const aqmpi_table *table;
	aqmpi_end *end;
	int ended; // how many have ended, or -1
} aqmpi_crossing;

// aqmpi_call_progress leaves its result in the crossing: a C function that returns nothing is called sooner.
// Pointers are passed as numbers: of those Go would check, at every call, whether they lead to memory of its own.
static inline void aqmpi_call_progress(uintptr_t crossing, uintptr_t posts, int n, uintptr_t done, int most, int spin)
{
	aqmpi_crossing *c = (aqmpi_crossing *)crossing;
	if (c->table->progress(c->end, (const aqmpi_post *)posts, n, (aqmpi_done *)done, most, spin, &c->ended) != 0)
		c->ended = -1;
}
static inline int aqmpi_call_share(const aqmpi_table *t, aqmpi_end *end, int64_t size, aqmpi_near *near, aqmpi_shared *shared)
{
	return t->share(end, size, near, shared);
}
static inline int aqmpi_call_join(const aqmpi_table *t, aqmpi_end *end) { return t->join(end); }
static inline int aqmpi_call_collect(const aqmpi_table *t, aqmpi_end *end, uintptr_t c)
{
	return t->collect(end, (const aqmpi_collective *)c);
}
static inline int aqmpi_call_close(const aqmpi_table *t, aqmpi_end *end, int drain) { return t->close(end, drain); }

#endif
