// The objects of a job: the client, its endpoint and its segment, and which ranks share a host.

#include "ex.h"
#include "include/gasnet_mk.h"
#include "_cgo_export.h"

#include <stdio.h>
#include <string.h>

struct gasneti_ex_client gasneti_ex_client;
struct gasneti_ex_ep gasneti_ex_ep;
struct gasneti_ex_segment gasneti_ex_segment;
struct gasneti_ex_tm gasneti_ex_world;
struct gasneti_ex_group gasneti_ex_nbrhd, gasneti_ex_host;

// Fills in what is known of the job, once, when a program asks for its objects.
static void open_objects(const char *name, gex_Flags_t flags) {
	if (gasneti_ex_world.size != 0) {
		return;
	}
	gasneti_ex_client.name = strdup(name);
	gasneti_ex_client.flags = flags;
	gasneti_ex_world.rank = gasneti_job.rank;
	GASNETI_GO_VOID(aqExOpen());
	gasneti_ex_world.size = gasneti_job.size;
}

int gasneti_ex_Client_Init(int joined, gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *client_name, gex_Flags_t flags) {
	if (joined != GASNET_OK) {
		return joined;
	}
	open_objects(client_name == NULL ? "" : client_name, flags);
	gasneti_stage = GASNETI_CONNECTED;
	GASNETI_GO_VOID(aqExConnect());
	gasnet_QueryGexObjects(client_p, ep_p, tm_p, NULL);
	return GASNET_OK;
}

void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, gex_Segment_t *segment_p) {
	if (gasneti_stage < GASNETI_JOINED) {
		gasneti_not_attached("gasnet_QueryGexObjects");
	}
	open_objects("GASNET1", GEX_FLAG_USES_GASNET1);
	if (client_p != NULL) {
		*client_p = &gasneti_ex_client;
	}
	if (ep_p != NULL) {
		*ep_p = &gasneti_ex_ep;
	}
	if (tm_p != NULL) {
		*tm_p = &gasneti_ex_world;
	}
	if (segment_p != NULL) {
		*segment_p = gex_EP_QuerySegment(&gasneti_ex_ep);
	}
}

// A word of the program's with each object.
#define CDATA(kind, type)                                                      \
	void gex_##kind##_SetCData(type object, const void *val) { object->cdata = val; } \
	void *gex_##kind##_QueryCData(type object) { return (void *)object->cdata; }
CDATA(Client, gex_Client_t)
CDATA(EP, gex_EP_t)
CDATA(Segment, gex_Segment_t)

gex_Flags_t gex_Client_QueryFlags(gex_Client_t client) { return client->flags; }
const char *gex_Client_QueryName(gex_Client_t client) { return client->name; }

gex_Client_t gex_EP_QueryClient(gex_EP_t ep) {
	(void)ep;
	return &gasneti_ex_client;
}

gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep) {
	(void)ep;
	return 0;
}

gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep) {
	(void)ep;
	return 0;
}

gex_Rank_t gex_System_QueryJobRank(void) { return gasneti_job.rank; }
gex_Rank_t gex_System_QueryJobSize(void) { return gasneti_job.size; }

static void query(const struct gasneti_ex_group *g, gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p) {
	if (info_p != NULL) {
		*info_p = g->ranks;
	}
	if (info_count_p != NULL) {
		*info_count_p = g->count;
	}
	if (my_info_index_p != NULL) {
		*my_info_index_p = g->self;
	}
}

void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p) {
	query(&gasneti_ex_nbrhd, info_p, info_count_p, my_info_index_p);
}

void gex_System_QueryHostInfo(gex_RankInfo_t **info_p, gex_Rank_t *info_count_p, gex_Rank_t *my_info_index_p) {
	query(&gasneti_ex_host, info_p, info_count_p, my_info_index_p);
}

static void position(const struct gasneti_ex_group *g, gex_Rank_t *set_size, gex_Rank_t *set_rank) {
	if (set_size != NULL) {
		*set_size = g->groups;
	}
	if (set_rank != NULL) {
		*set_rank = g->number;
	}
}

void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_set_size, gex_Rank_t *nbrhd_set_rank, gex_Rank_t *host_set_size, gex_Rank_t *host_set_rank) {
	position(&gasneti_ex_nbrhd, nbrhd_set_size, nbrhd_set_rank);
	position(&gasneti_ex_host, host_set_size, host_set_rank);
}

int gasneti_ex_verbose = 1;
int gex_System_GetVerboseErrors(void) { return gasneti_ex_verbose; }
void gex_System_SetVerboseErrors(int enable) { gasneti_ex_verbose = enable != 0; }

// There is no limit but that of numbers.
uint64_t gex_System_QueryMaxThreads(void) { return gasneti_mode == GASNETI_SEQ ? 1 : INT32_MAX; }

int gex_System_QueryHiddenAMConcurrencyLevel(void) { return GASNET_HIDDEN_AM_CONCURRENCY_LEVEL; }

int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p, const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags) {
	(void)flags;
	if (client == NULL || count_p == NULL || info_p == NULL) {
		return GASNET_ERR_BAD_ARG;
	}
	*count_p = 0;
	*info_p = NULL;
	return GASNET_OK;
}

int gasneti_ex_refuse(const char *call, const char *why) {
	if (gasneti_ex_verbose) {
		fprintf(stderr, "aqueduct: rank %u: %s: %s\n", (unsigned)gasneti_job.rank, call, why);
	}
	return GASNET_ERR_RESOURCE;
}

int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities, gex_Flags_t flags) {
	(void)ep_p, (void)client, (void)capabilities, (void)flags;
	return gasneti_ex_refuse("gex_EP_Create", "a process has one endpoint (GASNET_MAXEPS), that of gex_Client_Init");
}

int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args, gex_Flags_t flags) {
	(void)flags;
	if (kind_p == NULL || client == NULL || args == NULL) {
		return GASNET_ERR_BAD_ARG;
	}
	return gasneti_ex_refuse("gex_MK_Create", "the library has no memory of devices; use GEX_MK_HOST");
}

void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags) {
	(void)kind, (void)flags;
	gasneti_misuse("gex_MK_Destroy", "gex_MK_Create has made no such kind of memory");
}

void gasneti_ex_no_rank(const char *call, gex_TM_t tm, gex_Rank_t rank) {
	char why[80];
	if (tm == NULL) {
		gasneti_misuse(call, "the team is GEX_TM_INVALID");
	}
	snprintf(why, sizeof why, "no rank %u in a team of %u", (unsigned)rank, (unsigned)tm->size);
	gasneti_misuse(call, why);
}
