// Teams of GASNet-EX's interface.

#include "ex.h"
#include "_cgo_export.h"

#include <stdio.h>
#include <stdlib.h>

void gex_TM_SetCData(gex_TM_t tm, const void *val) { tm->cdata = val; }
void *gex_TM_QueryCData(gex_TM_t tm) { return (void *)tm->cdata; }

gex_Client_t gex_TM_QueryClient(gex_TM_t tm) {
	(void)tm;
	return &gasneti_ex_client;
}

gex_EP_t gex_TM_QueryEP(gex_TM_t tm) {
	(void)tm;
	return &gasneti_ex_ep;
}

gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm) { return tm->flags; }
gex_Rank_t gex_TM_QueryRank(gex_TM_t tm) { return tm->rank; }
gex_Rank_t gex_TM_QuerySize(gex_TM_t tm) { return tm->size; }

// The library has scratch memory of its own. What it asks for is not nothing, as that is the answer for who joins no team.
enum { SCRATCH = 64 }; // bytes

// Makes the object for a team that Go has made, by its number.
static gex_TM_t object(const char *call, int number, void *scratch_addr, size_t scratch_size, gex_Flags_t flags) {
	gex_TM_t tm = calloc(1, sizeof *tm);
	if (tm == NULL) {
		gasneti_misuse(call, "out of memory");
	}
	tm->number = number;
	tm->flags = flags;
	tm->scratch.gex_addr = scratch_addr;
	tm->scratch.gex_len = scratch_size;
	GASNETI_GO_VOID(aqExTeam(number, &tm->rank, &tm->size, &tm->jobranks));
	return tm;
}

static int asks_for_size(gex_Flags_t flags) { return (flags & (GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED)) != 0; }

size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent, int color, int key, void *scratch_addr, size_t scratch_size, gex_Flags_t flags) {
	const char *call = "gex_TM_Split";
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, parent, 0);
	if (asks_for_size(flags)) {
		return new_tm_p == NULL ? 0 : SCRATCH;
	}
	if (new_tm_p != NULL && color < 0) {
		gasneti_misuse(call, "the colour is negative; who joins no team gives NULL for new_tm_p");
	}
	int number = GASNETI_GO(aqExSplit(gasneti_self(), parent->number, new_tm_p == NULL ? -1 : color, key));
	if (new_tm_p != NULL) {
		*new_tm_p = object(call, number, scratch_addr, flags & GEX_FLAG_TM_NO_SCRATCH ? 0 : scratch_size, flags);
	}
	return 0;
}

size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent, gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs, size_t scratch_size, gex_Flags_t flags) {
	const char *call = "gex_TM_Create";
	gasneti_need_attached(call);
	gasneti_ex_jobrank(call, parent, 0);
	if (num_new_tms > 1 || (num_new_tms == 1 && (new_tms == NULL || args == NULL || numargs == 0))) {
		gasneti_misuse(call, num_new_tms > 1 ? "a process has one endpoint, and so joins one team at most" : "the list of members, or the place for the team, is missing");
	}
	if (asks_for_size(flags)) {
		return num_new_tms == 0 ? 0 : SCRATCH;
	}
	size_t self = numargs; // which of the list is the caller
	for (size_t i = 0; num_new_tms == 1 && i < numargs; i++) {
		gex_Rank_t rank = args[i].gex_rank;
		if (args[i].gex_ep_index != 0) {
			gasneti_misuse(call, "an endpoint's index is not 0, the only one that there is");
		}
		if (rank == (flags & GEX_FLAG_RANK_IS_JOBRANK ? gasneti_job.rank : parent->rank)) {
			self = i;
		}
	}
	int number = GASNETI_GO(aqExCreate(gasneti_self(), parent->number, args, num_new_tms == 0 ? 0 : numargs, (flags & GEX_FLAG_RANK_IS_JOBRANK) != 0));
	if (num_new_tms == 1) {
		void *scratch = NULL;
		if (scratch_addrs != NULL && !(flags & GEX_FLAG_TM_NO_SCRATCH)) {
			scratch = scratch_addrs[flags & GEX_FLAG_TM_GLOBAL_SCRATCH ? self : 0];
		}
		new_tms[0] = object(call, number, scratch, scratch == NULL ? 0 : scratch_size, flags);
	}
	return 0;
}

int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags) {
	const char *call = "gex_TM_Destroy";
	(void)flags; // a barrier of the team does no harm
	gasneti_need_attached(call);
	if (tm == NULL || tm == &gasneti_ex_world) {
		gasneti_misuse(call, tm == NULL ? "the team is GEX_TM_INVALID" : "the team of all ranks cannot be destroyed");
	}
	GASNETI_GO_VOID(aqExFree(gasneti_self(), tm->number));
	gex_Memvec_t scratch = tm->scratch;
	free(tm->jobranks);
	free(tm);
	if (scratch_p == NULL || scratch.gex_len == 0) {
		return 0;
	}
	*scratch_p = scratch;
	return 1;
}

// There is one endpoint in each process, so a pair names its peers as the team of all ranks does.
gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_index) {
	if (local_ep != &gasneti_ex_ep || remote_index != 0) {
		gasneti_misuse("gex_TM_Pair", "the endpoint is not the process's own, or the remote index is not 0, the only one that there is");
	}
	return &gasneti_ex_world;
}

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank) { return gasneti_ex_jobrank("gex_TM_TranslateRankToJobrank", tm, rank); }

gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank) {
	if (tm == NULL || jobrank >= gasneti_job.size) {
		gasneti_ex_no_rank("gex_TM_TranslateJobrankToRank", tm == NULL ? NULL : &gasneti_ex_world, jobrank);
	}
	return tm->jobranks == NULL ? jobrank : (gex_Rank_t)GASNETI_GO(aqExRankOf(tm->number, jobrank));
}

gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags) {
	(void)flags;
	gex_EP_Location_t location = {gasneti_ex_jobrank("gex_TM_TranslateRankToEP", tm, rank), 0};
	return location;
}
