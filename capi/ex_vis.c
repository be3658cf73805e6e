// Vector, indexed and strided transfers of GASNet-EX's interface.

#include "ex.h"
#include "include/gasnet_vis.h"
#include "_cgo_export.h"

_Static_assert(sizeof(gex_Memvec_t) == sizeof(gasnet_memvec_t) && offsetof(gex_Memvec_t, gex_len) == offsetof(gasnet_memvec_t, len), "the lists of both interfaces are alike");

static int local(gex_Flags_t flags) { return flags & GEX_FLAG_ENABLE_LEAF_LC ? GASNETI_LC_LEAF : GASNETI_LC_DEFER; }

static gex_Event_t vector(int form, int get, const char *call, gex_TM_t tm, gex_Rank_t rank, size_t nfar, gex_Memvec_t const far[], size_t nnear, gex_Memvec_t const near[], gex_Flags_t flags) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	return gasneti_ex_event(GASNETI_GO(aqVector(gasneti_self(), form, get, local(flags), (char *)call, gasneti_ex_jobrank(call, tm, rank), nfar, (void *)far, nnear, (void *)near)));
}

static gex_Event_t indexed(int form, int get, const char *call, gex_TM_t tm, gex_Rank_t rank, size_t nfar, void *const far[], size_t far_len, size_t nnear, void *const near[], size_t near_len, gex_Flags_t flags) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	return gasneti_ex_event(GASNETI_GO(aqIndexed(gasneti_self(), form, get, local(flags), (char *)call, gasneti_ex_jobrank(call, tm, rank), nfar, (void *)far, far_len, nnear, (void *)near, near_len)));
}

// Of a transfer without bytes nothing is looked at ("GASNet-EX API Description", Non-contiguous).
static gex_Event_t strided(int form, int get, const char *call, gex_TM_t tm, gex_Rank_t rank, const void *far, const ptrdiff_t far_strides[], const void *near, const ptrdiff_t near_strides[], size_t elemsz, const size_t count[], size_t levels, gex_Flags_t flags) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	if (levels > 0 && (count == NULL || far_strides == NULL || near_strides == NULL) && elemsz > 0) {
		gasneti_misuse(call, "a list of counts or strides is NULL");
	}
	for (size_t i = 0; elemsz > 0 && i < levels; i++) {
		elemsz = count[i] == 0 ? 0 : elemsz;
	}
	if (elemsz == 0) {
		return GEX_EVENT_INVALID;
	}
	return gasneti_ex_event(GASNETI_GO(aqExStrided(gasneti_self(), form, get, local(flags), (char *)call, gasneti_ex_jobrank(call, tm, rank), (void *)far, (ptrdiff_t *)far_strides, (void *)near, (ptrdiff_t *)near_strides, elemsz, (size_t *)count, levels)));
}

// What the calling thread's next put is to tell its peer when all of it has come; handler 0: nothing.
static __thread struct {
	gex_AM_Index_t handler;
	const void *src;
	size_t nbytes;
} announced;

void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes, gex_Flags_t flags) {
	const char *call = "gex_VIS_SetPeerCompletionHandler";
	(void)flags;
	gasneti_need_attached(call);
	if (handler != 0 && (nbytes > GEX_VIS_MAX_PEERCOMPLETION || (nbytes > 0 && source_addr == NULL))) {
		gasneti_misuse(call, nbytes > GEX_VIS_MAX_PEERCOMPLETION ? "the payload is larger than GEX_VIS_MAX_PEERCOMPLETION" : "the payload is NULL");
	}
	announced.handler = handler;
	announced.src = source_addr;
	announced.nbytes = nbytes;
}

// A put that is to be announced is complete when the call returns.
static int form_of(int form) { return announced.handler != 0 ? GASNETI_BLOCKING : form; }

static gex_Event_t announce(gex_TM_t tm, gex_Rank_t rank, gex_Event_t event) {
	gex_AM_Index_t handler = announced.handler;
	if (handler != 0) {
		announced.handler = 0;
		gasneti_ex_AMRequestMedium(tm, rank, handler, announced.src, announced.nbytes, GEX_EVENT_NOW, 0, 0, NULL);
	}
	return event;
}

// The six names of a form: what they return, how that comes of an event, and the form.
#define NAMES(result, give, form, suffix)                                                                                                          \
	result gex_VIS_VectorPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags) { \
		give(announce(tm, dstrank, vector(form_of(form), 0, "gex_VIS_VectorPut" #suffix, tm, dstrank, dstcount, dstlist, srccount, srclist, flags)));                             \
	}                                                                                                                                              \
	result gex_VIS_VectorGet##suffix(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t flags) { \
		give(vector(form, 1, "gex_VIS_VectorGet" #suffix, tm, srcrank, srccount, srclist, dstcount, dstlist, flags));                             \
	}                                                                                                                                              \
	result gex_VIS_IndexedPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags) { \
		give(announce(tm, dstrank, indexed(form_of(form), 0, "gex_VIS_IndexedPut" #suffix, tm, dstrank, dstcount, dstlist, dstlen, srccount, srclist, srclen, flags)));           \
	}                                                                                                                                              \
	result gex_VIS_IndexedGet##suffix(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen, gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen, gex_Flags_t flags) { \
		give(indexed(form, 1, "gex_VIS_IndexedGet" #suffix, tm, srcrank, srccount, srclist, srclen, dstcount, dstlist, dstlen, flags));           \
	}                                                                                                                                              \
	result gex_VIS_StridedPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[], const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags) { \
		give(announce(tm, dstrank, strided(form_of(form), 0, "gex_VIS_StridedPut" #suffix, tm, dstrank, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, stridelevels, flags))); \
	}                                                                                                                                              \
	result gex_VIS_StridedGet##suffix(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank, const void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[], size_t stridelevels, gex_Flags_t flags) { \
		give(strided(form, 1, "gex_VIS_StridedGet" #suffix, tm, srcrank, srcaddr, srcstrides, dstaddr, dststrides, elemsz, count, stridelevels, flags)); \
	}

#define EVENT(event) return event
#define NONE(event) \
	(void)event;    \
	return 0
NAMES(gex_Event_t, EVENT, GASNETI_NB, NB)
NAMES(int, NONE, GASNETI_NBI, NBI)
NAMES(int, NONE, GASNETI_BLOCKING, Blocking)
