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
	memset(gasneti_handlers, 0, sizeof gasneti_handlers); // Go runs them, which knows what may be asked of a message
	gasneti_ex_world.size = gasneti_job.size;
}

static gex_Segment_t segment(void) { return gasneti_stage == GASNETI_ATTACHED && gasneti_job.segments[gasneti_job.rank].size > 0 ? &gasneti_ex_segment : NULL; }

int gasneti_ex_Client_Init(int joined, gex_Client_t *client_p, gex_EP_t *ep_p, gex_TM_t *tm_p, const char *client_name, gex_Flags_t flags) {
	if (joined != GASNET_OK) {
		return joined;
	}
	open_objects(client_name == NULL ? "" : client_name, flags);
	gasneti_stage = GASNETI_CONNECTED;
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
		*segment_p = segment();
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

gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep) {
	(void)ep;
	return segment();
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

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t length) {
	if (gasneti_stage != GASNETI_CONNECTED) {
		return GASNET_ERR_NOT_INIT;
	}
	if (segment_p == NULL || tm != &gasneti_ex_world || length == 0 || length % GASNET_PAGESIZE != 0 || length > gasneti_job.max_segment) {
		return GASNET_ERR_BAD_ARG;
	}
	int err = GASNETI_GO(aqAttach(gasneti_self(), NULL, 0, length));
	*segment_p = segment();
	return err;
}

// What there is one of in a process cannot be created.
static int no_more(const char *call, const char *why) {
	if (gasneti_ex_verbose) {
		fprintf(stderr, "aqueduct: rank %u: %s: %s\n", (unsigned)gasneti_job.rank, call, why);
	}
	return GASNET_ERR_RESOURCE;
}

int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities, gex_Flags_t flags) {
	(void)ep_p, (void)client, (void)capabilities, (void)flags;
	return no_more("gex_EP_Create", "a process has one endpoint (GASNET_MAXEPS), that of gex_Client_Init");
}

int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t length, gex_MK_t kind, gex_Flags_t flags) {
	(void)segment_p, (void)client, (void)address, (void)length, (void)kind, (void)flags;
	return no_more("gex_Segment_Create", "a process has one segment, whose memory is the library's; make it by gex_Segment_Attach");
}

int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args, gex_Flags_t flags) {
	(void)flags;
	if (kind_p == NULL || client == NULL || args == NULL) {
		return GASNET_ERR_BAD_ARG;
	}
	return no_more("gex_MK_Create", "the library has no memory of devices; use GEX_MK_HOST");
}

void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags) {
	(void)kind, (void)flags;
	gasneti_misuse("gex_MK_Destroy", "gex_MK_Create has made no such kind of memory");
}

void gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t s, gex_Flags_t flags) {
	(void)flags;
	if (ep != &gasneti_ex_ep || s != &gasneti_ex_segment || segment() == NULL) {
		gasneti_misuse("gex_EP_BindSegment", "the endpoint or the segment is none of the process's; gex_Segment_Attach makes and binds a segment");
	}
	gasneti_misuse("gex_EP_BindSegment", "the endpoint has a segment already");
}

int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags) {
	(void)flags;
	for (size_t i = 0; i < num_eps; i++) {
		if (eps == NULL || eps[i] != &gasneti_ex_ep) {
			return GASNET_ERR_BAD_ARG;
		}
	}
	gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
	return GASNET_OK;
}

// The segment of a job's rank, and where it is in this process if it is within reach; false if there is none.
static int bound(gasnet_node_t node, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p) {
	if (gasneti_job.segments == NULL || gasneti_job.segments[node].size == 0) {
		return 0;
	}
	const gasnet_seginfo_t *s = &gasneti_job.segments[node];
	const gasnet_nodeinfo_t *its = &gasneti_job.nodes[node], *own = &gasneti_job.nodes[gasneti_job.rank];
	if (owneraddr_p != NULL) {
		*owneraddr_p = s->addr;
	}
	if (localaddr_p != NULL) {
		*localaddr_p = its->supernode == own->supernode ? (void *)((uintptr_t)s->addr + its->offset) : NULL;
	}
	if (size_p != NULL) {
		*size_p = s->size;
	}
	return 1;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p) {
	return !bound(gasneti_ex_jobrank("gex_Segment_QueryBound", tm, rank), owneraddr_p, localaddr_p, size_p);
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags) {
	(void)flags;
	if (!bound(gasneti_ex_jobrank("gex_EP_QueryBoundSegmentNB", tm, rank), owneraddr_p, localaddr_p, size_p)) {
		if (owneraddr_p != NULL) {
			*owneraddr_p = NULL;
		}
		if (localaddr_p != NULL) {
			*localaddr_p = NULL;
		}
		if (size_p != NULL) {
			*size_p = 0;
		}
	}
	return GEX_EVENT_INVALID;
}

gex_Client_t gex_Segment_QueryClient(gex_Segment_t s) {
	(void)s;
	return &gasneti_ex_client;
}

gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t s) {
	(void)s;
	return 0;
}

void *gex_Segment_QueryAddr(gex_Segment_t s) {
	(void)s;
	return gasneti_job.segments[gasneti_job.rank].addr;
}

uintptr_t gex_Segment_QuerySize(gex_Segment_t s) {
	(void)s;
	return gasneti_job.segments[gasneti_job.rank].size;
}

void gasneti_ex_no_rank(const char *call, gex_TM_t tm, gex_Rank_t rank) {
	char why[80];
	if (tm == NULL) {
		gasneti_misuse(call, "the team is GEX_TM_INVALID");
	}
	snprintf(why, sizeof why, "no rank %u in a team of %u", (unsigned)rank, (unsigned)tm->size);
	gasneti_misuse(call, why);
}
