// Puts and gets of GASNet-EX's interface: what their names say becomes arguments. Flags are permissions that the library has no
// use for.

#include "ex.h"
#include "_cgo_export.h"

static uint64_t put(int form, const char *call, gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t n, int lc) {
	gasneti_begin(call, form, GASNETI_PUTS);
	return GASNETI_GO(aqPut(gasneti_self(), form, (char *)call, gasneti_ex_jobrank(call, tm, rank), dest, (void *)src, n, lc));
}

static uint64_t get(int form, const char *call, gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t n) {
	gasneti_begin(call, form, GASNETI_GETS);
	return GASNETI_GO(aqGet(gasneti_self(), form, (char *)call, dest, gasneti_ex_jobrank(call, tm, rank), (void *)src, n));
}

static uint64_t put_val(int form, const char *call, gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t n) {
	gasneti_begin(call, form, GASNETI_PUTS);
	return GASNETI_GO(aqPutValue(gasneti_self(), form, (char *)call, gasneti_ex_jobrank(call, tm, rank), dest, value, n));
}

int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	put(GASNETI_BLOCKING, "gex_RMA_PutBlocking", tm, rank, dest, src, nbytes, GASNETI_LC_DEFER);
	return 0;
}

gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags) {
	const char *call = "gex_RMA_PutNB";
	(void)flags;
	if (lc_opt == NULL || lc_opt == GEX_EVENT_GROUP) {
		gasneti_misuse(call, "lc_opt is neither GEX_EVENT_NOW, nor GEX_EVENT_DEFER, nor the address of an event");
	}
	if (lc_opt == GEX_EVENT_NOW || lc_opt == GEX_EVENT_DEFER) {
		return gasneti_ex_event(put(GASNETI_NB, call, tm, rank, dest, src, nbytes, lc_opt == GEX_EVENT_NOW ? GASNETI_LC_NOW : GASNETI_LC_DEFER));
	}
	gex_Event_t root = gasneti_ex_event(put(GASNETI_NB, call, tm, rank, dest, src, nbytes, GASNETI_LC_LEAF));
	*lc_opt = gex_Event_QueryLeaf(root, GEX_EC_LC);
	return root;
}

int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags) {
	const char *call = "gex_RMA_PutNBI";
	(void)flags;
	int lc = GASNETI_LC_NOW;
	if (lc_opt == GEX_EVENT_DEFER) {
		lc = GASNETI_LC_DEFER;
	} else if (lc_opt == GEX_EVENT_GROUP) {
		lc = GASNETI_LC_LEAF;
	} else if (lc_opt != GEX_EVENT_NOW) {
		gasneti_misuse(call, "lc_opt is none of GEX_EVENT_NOW, GEX_EVENT_DEFER and GEX_EVENT_GROUP");
	}
	put(GASNETI_NBI, call, tm, rank, dest, src, nbytes, lc);
	return 0;
}

int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	get(GASNETI_BLOCKING, "gex_RMA_GetBlocking", tm, dest, rank, src, nbytes);
	return 0;
}

gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	return gasneti_ex_event(get(GASNETI_NB, "gex_RMA_GetNB", tm, dest, rank, src, nbytes));
}

int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	get(GASNETI_NBI, "gex_RMA_GetNBI", tm, dest, rank, src, nbytes);
	return 0;
}

int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	put_val(GASNETI_BLOCKING, "gex_RMA_PutBlockingVal", tm, rank, dest, value, nbytes);
	return 0;
}

gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	return gasneti_ex_event(put_val(GASNETI_NB, "gex_RMA_PutNBVal", tm, rank, dest, value, nbytes));
}

int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags) {
	(void)flags;
	put_val(GASNETI_NBI, "gex_RMA_PutNBIVal", tm, rank, dest, value, nbytes);
	return 0;
}

gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes, gex_Flags_t flags) {
	const char *call = "gex_RMA_GetBlockingVal";
	(void)flags;
	gasneti_need_attached(call);
	return GASNETI_GO(aqGetValue(gasneti_self(), (char *)call, gasneti_ex_jobrank(call, tm, rank), (void *)src, nbytes));
}
