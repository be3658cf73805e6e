// Atomic domains of GASNet-EX's interface.

#include "ex.h"
#include "_cgo_export.h"

#include <stdlib.h>

void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags) {
	const char *call = "gex_AD_Create";
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, tm, 0);
	gex_AD_t ad = calloc(1, sizeof *ad);
	if (ad == NULL) {
		gasneti_misuse(call, "out of memory");
	}
	ad->flags = flags;
	ad->tm = tm;
	ad->dt = dt;
	ad->ops = ops;
	ad->number = GASNETI_GO(aqExDomain(gasneti_self(), tm->number, dt, ops));
	*ad_p = ad;
}

void gex_AD_Destroy(gex_AD_t ad) {
	const char *call = "gex_AD_Destroy";
	gasneti_need_attached(call);
	if (ad == NULL) {
		gasneti_misuse(call, "the domain is GEX_AD_INVALID");
	}
	GASNETI_GO_VOID(aqExDomainFree(gasneti_self(), ad->number));
	free(ad);
}

void gex_AD_SetCData(gex_AD_t ad, const void *val) { ad->cdata = val; }
void *gex_AD_QueryCData(gex_AD_t ad) { return (void *)ad->cdata; }

gex_Client_t gex_AD_QueryClient(gex_AD_t ad) {
	(void)ad;
	return &gasneti_ex_client;
}

gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad) { return ad->flags; }
gex_TM_t gex_AD_QueryTM(gex_AD_t ad) { return ad->tm; }
gex_DT_t gex_AD_QueryDT(gex_AD_t ad) { return ad->dt; }
gex_OP_t gex_AD_QueryOps(gex_AD_t ad) { return ad->ops; }

static uint64_t operate(int form, const char *call, gex_AD_t ad, gex_DT_t dt, void *result_p, gex_Rank_t rank, void *addr, gex_OP_t op, uint64_t a, uint64_t b, gex_Flags_t flags) {
	gasneti_begin(call, form, GASNETI_PUTS | GASNETI_GETS);
	if (ad == NULL || ad->dt != dt) {
		gasneti_misuse(call, ad == NULL ? "the domain is GEX_AD_INVALID" : "the domain is for elements of another type");
	}
	gasnet_node_t node = flags & GEX_FLAG_RANK_IS_JOBRANK ? gasneti_ex_jobrank(call, &gasneti_ex_world, rank) : gasneti_ex_jobrank(call, ad->tm, rank);
	if (flags & GEX_FLAG_RANK_IS_JOBRANK) {
		rank = gex_TM_TranslateJobrankToRank(ad->tm, rank);
	}
	return GASNETI_GO(aqExAtomic(gasneti_self(), form, (char *)call, ad->number, result_p, rank, node, addr, op, a, b, flags));
}

gex_Event_t gasneti_ex_ADNB(gex_AD_t ad, gex_DT_t dt, void *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, uint64_t a, uint64_t b, gex_Flags_t flags) {
	return gasneti_ex_event(operate(GASNETI_NB, "gex_AD_OpNB", ad, dt, result_p, tgt_rank, tgt_addr, op, a, b, flags));
}

int gasneti_ex_ADNBI(gex_AD_t ad, gex_DT_t dt, void *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t op, uint64_t a, uint64_t b, gex_Flags_t flags) {
	operate(GASNETI_NBI, "gex_AD_OpNBI", ad, dt, result_p, tgt_rank, tgt_addr, op, a, b, flags);
	return 0;
}
