// The life of a job, and what a program may ask of it.

#include "internal.h"
#include "model.h"
#include "include/gasnet_tools.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gasneti_job gasneti_job;
gasneti_window_t *gasneti_windows;
gasnet_node_t gasneti_window_count;
enum gasneti_stage gasneti_stage;
int gasneti_mode;

// Programs may define these themselves.
__attribute__((weak)) void (*gasnet_client_attach_hook)(void *, uintptr_t);
__attribute__((weak)) uint64_t gasnet_max_segsize;

int gasneti_init(int mode, int debug, int *argc, char ***argv) {
	if (gasneti_stage != GASNETI_FRESH) {
		return GASNET_ERR_NOT_INIT; // as shipped libraries answer a second call
	}
	gasneti_mode = mode;
	gasneti_freeze_if("GASNET_FREEZE");
	if (gasneti_make_ranks(argc == NULL ? 0 : *argc, argv == NULL ? NULL : *argv) != 0) {
		return GASNET_ERR_RESOURCE;
	}
	gasneti_make_signal_stack();
	gasneti_start_runtime(argc == NULL ? 0 : *argc, argv == NULL ? NULL : *argv);
	gasneti_prepare_leave();
	struct sigaction quit;
	sigaction(SIGQUIT, NULL, &quit);
	int err = GASNETI_GO(aqInit(mode, debug));
	gasneti_keep_quit(&quit);
	gasneti_tame_signals();
	if (err == GASNET_OK) {
		gasneti_claim_main();
		gasneti_stage = GASNETI_JOINED;
	}
	return err;
}

int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize, uintptr_t minheapoffset) {
	(void)minheapoffset; // segments lie apart from the heap
	if (gasneti_stage != GASNETI_JOINED) {
		return GASNET_ERR_NOT_INIT;
	}
	if (numentries < 0 || (table == NULL && numentries > 0)) {
		return GASNET_ERR_BAD_ARG;
	}
	if (segsize % GASNET_PAGESIZE != 0 || segsize > gasneti_job.max_segment) {
		return GASNET_ERR_BAD_ARG;
	}
	return GASNETI_GO(aqAttach(gasneti_self(), table, numentries, segsize));
}

void gasneti_attached(void) {
	gasneti_stage = GASNETI_ATTACHED;
	if (gasnet_client_attach_hook != NULL) {
		gasnet_seginfo_t *own = &gasneti_job.segments[gasneti_job.rank];
		gasnet_client_attach_hook(own->addr, own->size);
	}
}

void gasneti_not_attached(const char *call) {
	switch (gasneti_stage) {
	case GASNETI_FRESH:
		gasneti_misuse(call, "called before gasnet_init");
	case GASNETI_JOINED:
		gasneti_misuse(call, "called before gasnet_attach");
	case GASNETI_FORKED:
		gasneti_misuse(call, "called in a child process of a rank, which is not in the job; it may execute another program, or end by _exit");
	case GASNETI_CONNECTED:
	case GASNETI_ATTACHED:
		gasneti_restricted(call);
	}
}

gasnet_node_t gasnet_mynode(void) { return gasneti_job.rank; }
gasnet_node_t gasnet_nodes(void) { return gasneti_job.size; }

uintptr_t gasnet_getMaxLocalSegmentSize(void) { return gasneti_job.max_segment; }
uintptr_t gasnet_getMaxGlobalSegmentSize(void) { return gasneti_job.max_segment_of_all; }

char *gasnet_getenv(const char *name) { return name == NULL ? NULL : getenv(name); }

int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries) {
	if (gasneti_job.segments == NULL) {
		return GASNET_ERR_NOT_INIT;
	}
	if (numentries < 0 || (table == NULL && numentries > 0)) {
		return GASNET_ERR_BAD_ARG;
	}
	size_t n = (gasnet_node_t)numentries < gasneti_job.size ? (size_t)numentries : gasneti_job.size;
	if (n > 0) {
		memcpy(table, gasneti_job.segments, n * sizeof *table);
	}
	return GASNET_OK;
}

int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries) {
	if (gasneti_job.nodes == NULL) {
		return GASNET_ERR_NOT_INIT;
	}
	if (numentries < 0 || (table == NULL && numentries > 0)) {
		return GASNET_ERR_BAD_ARG;
	}
	size_t n = (gasnet_node_t)numentries < gasneti_job.size ? (size_t)numentries : gasneti_job.size;
	if (n > 0) {
		memcpy(table, gasneti_job.nodes, n * sizeof *table);
	}
	return GASNET_OK;
}

int gasnet_set_waitmode(int mode) {
	switch (mode) {
	case GASNET_WAIT_SPIN:
	case GASNET_WAIT_BLOCK:
	case GASNET_WAIT_SPINBLOCK:
		return GASNET_OK; // a hint: waits spin first and sleep then, as idle CPUs allow
	}
	return GASNET_ERR_BAD_ARG;
}

const char *gasnet_ErrorName(int errval) {
	switch (errval) {
	case GASNET_OK: return "GASNET_OK";
	case GASNET_ERR_NOT_INIT: return "GASNET_ERR_NOT_INIT";
	case GASNET_ERR_RESOURCE: return "GASNET_ERR_RESOURCE";
	case GASNET_ERR_BAD_ARG: return "GASNET_ERR_BAD_ARG";
	case GASNET_ERR_NOT_READY: return "GASNET_ERR_NOT_READY";
	case GASNET_ERR_BARRIER_MISMATCH: return "GASNET_ERR_BARRIER_MISMATCH";
	}
	return "*unknown*";
}

const char *gasnet_ErrorDesc(int errval) {
	switch (errval) {
	case GASNET_OK: return "no error";
	case GASNET_ERR_NOT_INIT: return "the library is not initialised, or was initialised before";
	case GASNET_ERR_RESOURCE: return "a resource is missing";
	case GASNET_ERR_BAD_ARG: return "an argument is invalid";
	case GASNET_ERR_NOT_READY: return "the operation is not complete";
	case GASNET_ERR_BARRIER_MISMATCH: return "the names of a barrier do not match";
	}
	return "no description";
}
