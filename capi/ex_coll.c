// Collective calls of GASNet-EX's interface.

#include "ex.h"
#include "_cgo_export.h"

#include <pthread.h>

gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags) {
	const char *call = "gex_Coll_BarrierNB";
	(void)flags;
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, tm, 0);
	return gasneti_ex_event(GASNETI_GO(aqExBarrier(gasneti_self(), tm->number)));
}

gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, size_t nbytes, gex_Flags_t flags) {
	const char *call = "gex_Coll_BroadcastNB";
	(void)flags;
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, tm, root);
	return gasneti_ex_event(GASNETI_GO(aqExBroadcast(gasneti_self(), tm->number, root, dst, (void *)src, nbytes)));
}

gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags) {
	const char *call = "gex_Coll_ReduceToOneNB";
	(void)flags;
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, tm, root);
	return gasneti_ex_event(GASNETI_GO(aqExReduce(gasneti_self(), (char *)call, tm->number, (int)root, dst, (void *)src, dt, dt_sz, dt_cnt, op, user_op, user_cdata)));
}

gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags) {
	const char *call = "gex_Coll_ReduceToAllNB";
	(void)flags;
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, tm, 0);
	return gasneti_ex_event(GASNETI_GO(aqExReduce(gasneti_self(), (char *)call, tm->number, GASNETI_NO_ROOT, dst, (void *)src, dt, dt_sz, dt_cnt, op, user_op, user_cdata)));
}

void gasneti_ex_combine(gex_Coll_ReduceFn_t fn, const void *arg1, void *arg2_and_out, size_t count, const void *cdata) {
	int before; // below is Go, through which a thread that is cancelled cannot go back
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	gasneti_thread.restricted |= GASNETI_COMPUTES;
	fn(arg1, arg2_and_out, count, cdata);
	gasneti_thread.restricted &= ~GASNETI_COMPUTES;
	pthread_setcancelstate(before, NULL);
}
