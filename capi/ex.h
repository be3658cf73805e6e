// What the C files of GASNet-EX's interface share with each other and with Go. Nothing of it is seen by clients.

#ifndef GASNETI_EX_H
#define GASNETI_EX_H

#include "fast.h"
#include "internal.h"
#include "include/gasnetex.h"

// The program's client, endpoint and segment. There is one of each.
struct gasneti_ex_client {
	const void *cdata;
	gex_Flags_t flags;
	char *name;
};

struct gasneti_ex_segment {
	const void *cdata;
	void *addr; // of one that the program has created; of the other one Go says it
	uintptr_t size;
	void *pages; // that the library has made for it, and how many bytes; NULL: the memory is the program's
	size_t bytes;
};

struct gasneti_ex_ep {
	const void *cdata;
	gex_Segment_t segment; // that the program has bound; NULL: none
};

// What is said of a message that is prepared beside its category.
enum { GASNETI_IS_REQUEST = 256 };

// A team. Go knows it by its number.
struct gasneti_ex_tm {
	const void *cdata;
	gex_Flags_t flags;
	int number;
	gex_Rank_t rank, size;
	gex_Rank_t *jobranks; // of its members; NULL: it is all ranks in their order
	gex_Memvec_t scratch; // of the program's, to be handed back
};

// An atomic domain. Go knows it by its number.
struct gasneti_ex_ad {
	const void *cdata;
	gex_Flags_t flags;
	int number;
	gex_TM_t tm;
	gex_DT_t dt;
	gex_OP_t ops;
};

extern struct gasneti_ex_client gasneti_ex_client;
extern struct gasneti_ex_ep gasneti_ex_ep;
extern struct gasneti_ex_segment gasneti_ex_segment;
extern struct gasneti_ex_tm gasneti_ex_world;

// Has the event for the source of a payload be complete: when a call returns, the source has been read.
void gasneti_ex_set_local(gex_Event_t *lc_opt, const char *call);

// Sends a request, in C if that is possible. It returns 1 if the request may not wait for room, and there is none.
int gasneti_ex_request(const char *call, gasnet_node_t dest, struct gasneti_message m, gex_Flags_t flags);

// Returns the rank that the token's message has come from.
gasnet_node_t gasneti_ex_replies_to(const char *call, gex_Token_t token);

// Sends a reply, for which there is always room. It returns 0.
int gasneti_ex_reply(const char *call, gex_Token_t token, struct gasneti_message m);

// A group of ranks that the caller is in, such as those of its host, and its place among all such groups.
struct gasneti_ex_group {
	gex_RankInfo_t *ranks; // ascending
	gex_Rank_t count, self, groups, number;
};
extern struct gasneti_ex_group gasneti_ex_nbrhd, gasneti_ex_host;

// Whether errors that calls return are told of on standard error.
extern int gasneti_ex_verbose;

// Returns GASNET_ERR_RESOURCE, and tells why.
int gasneti_ex_refuse(const char *call, const char *why);

// Ends the job because there is no such rank.
GASNETI_NORETURN void gasneti_ex_no_rank(const char *call, gex_TM_t tm, gex_Rank_t rank);

// Returns the rank in the job of a team's rank.
static inline gasnet_node_t gasneti_ex_jobrank(const char *call, gex_TM_t tm, gex_Rank_t rank) {
	if (__builtin_expect(tm == NULL || rank >= tm->size, 0)) {
		gasneti_ex_no_rank(call, tm, rank);
	}
	return tm->jobranks == NULL ? rank : tm->jobranks[rank];
}

// The rank in a team of a rank that is no member.
#define GASNETI_NO_MEMBER UINT32_MAX

// In place of the root of a reduction whose result goes to all.
enum { GASNETI_NO_ROOT = -1 };

// Runs a program's function that combines elements.
void gasneti_ex_combine(gex_Coll_ReduceFn_t fn, const void *arg1, void *arg2_and_out, size_t count, const void *cdata);

static inline gex_Event_t gasneti_ex_event(uint64_t event) { return (gex_Event_t)(uintptr_t)event; }

#endif
