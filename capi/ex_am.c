// Active messages of GASNet-EX's interface. What has nothing particular goes the way of those of GASNet-1.

#include "ex.h"
#include "_cgo_export.h"

#include <stdlib.h>

// What gex_EP_RegisterHandlers has registered, by index.
static gex_AM_Entry_t entries[256];

int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t numentries) {
	gasneti_need_attached("gex_EP_RegisterHandlers");
	if (ep != &gasneti_ex_ep || numentries > 256 || (table == NULL && numentries > 0)) {
		return GASNET_ERR_BAD_ARG;
	}
	int err = GASNETI_GO(aqExRegister(gasneti_self(), table, (int)numentries));
	for (size_t i = 0; err == GASNET_OK && i < numentries; i++) {
		entries[table[i].gex_index] = table[i];
	}
	return err;
}

// The source of a payload has been read when a call returns, so an event for that is complete.
static void set_local(gex_Event_t *lc_opt, const char *call) {
	if (lc_opt == NULL || lc_opt == GEX_EVENT_DEFER) {
		gasneti_misuse(call, "lc_opt is neither GEX_EVENT_NOW, nor GEX_EVENT_GROUP, nor the address of an event");
	}
	if (lc_opt != GEX_EVENT_NOW && lc_opt != GEX_EVENT_GROUP) {
		*lc_opt = GEX_EVENT_INVALID;
	}
}

// A request that may not wait for room, or that has been refused: Go says why, or returns that there is no room.
static int request(const char *call, int category, gasnet_node_t dest, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	gasneti_need_attached(call);
	return GASNETI_GO(aqExRequest(gasneti_self(), (char *)call, category, dest, handler, (void *)src, nbytes, to, flags, numargs, (uint32_t *)args));
}

int gasneti_ex_AMRequestShort(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestShort";
	gasnet_node_t dest = gasneti_ex_jobrank(call, tm, rank);
	if (!(flags & GEX_FLAG_IMMEDIATE) && gasneti_AMRequestShort(dest, handler, numargs, args) == GASNET_OK) {
		return 0;
	}
	return request(call, GASNETI_SHORT, dest, handler, NULL, 0, NULL, flags, numargs, args);
}

int gasneti_ex_AMRequestMedium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestMedium";
	gasnet_node_t dest = gasneti_ex_jobrank(call, tm, rank);
	set_local(lc_opt, call);
	if (!(flags & GEX_FLAG_IMMEDIATE) && gasneti_AMRequestMedium(dest, handler, src, nbytes, numargs, args) == GASNET_OK) {
		return 0;
	}
	return request(call, GASNETI_MEDIUM, dest, handler, src, nbytes, NULL, flags, numargs, args);
}

int gasneti_ex_AMRequestLong(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestLong";
	gasnet_node_t dest = gasneti_ex_jobrank(call, tm, rank);
	set_local(lc_opt, call);
	if (!(flags & GEX_FLAG_IMMEDIATE) && gasneti_AMRequestLong(dest, handler, src, nbytes, to, numargs, args) == GASNET_OK) {
		return 0;
	}
	return request(call, GASNETI_LONG, dest, handler, src, nbytes, to, flags, numargs, args);
}

// A reply that has been refused: Go says why.
static int refused(const char *call, gex_Token_t token, int category, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, int numargs, const gasnet_handlerarg_t *args) {
	if (token != &gasneti_thread.token || !token->live) {
		gasneti_misuse(call, "the token is not that of the handler that runs");
	}
	GASNETI_GO_VOID(aqExReply((char *)call, category, handler, (void *)src, nbytes, to, numargs, (uint32_t *)args));
	return 0;
}

int gasneti_ex_AMReplyShort(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	(void)flags; // a reply always has room
	if (gasneti_AMReplyShort(token, handler, numargs, args) == GASNET_OK) {
		return 0;
	}
	return refused("gex_AM_ReplyShort", token, GASNETI_SHORT, handler, NULL, 0, NULL, numargs, args);
}

int gasneti_ex_AMReplyMedium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_ReplyMedium";
	(void)flags;
	set_local(lc_opt, call);
	if (gasneti_AMReplyMedium(token, handler, src, nbytes, numargs, args) == GASNET_OK) {
		return 0;
	}
	return refused(call, token, GASNETI_MEDIUM, handler, src, nbytes, NULL, numargs, args);
}

int gasneti_ex_AMReplyLong(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_ReplyLong";
	(void)flags;
	set_local(lc_opt, call);
	if (gasneti_AMReplyLong(token, handler, src, nbytes, to, numargs, args) == GASNET_OK) {
		return 0;
	}
	return refused(call, token, GASNETI_LONG, handler, src, nbytes, to, numargs, args);
}

// Limits. They are the same towards all ranks, whatever a message's arguments and options.
unsigned int gex_AM_MaxArgs(void) { return (unsigned int)gasnet_AMMaxArgs(); }
size_t gex_AM_LUBRequestMedium(void) { return gasneti_job.max_medium; }
size_t gex_AM_LUBReplyMedium(void) { return gasneti_job.max_medium; }
size_t gex_AM_LUBRequestLong(void) { return gasneti_job.max_long_request; }
size_t gex_AM_LUBReplyLong(void) { return gasneti_job.max_long_reply; }

#define LIMIT(name)                                                                                                                          \
	size_t gex_AM_Max##name(gex_TM_t tm, gex_Rank_t other_rank, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {     \
		if (other_rank != GEX_RANK_INVALID) {                                                                                                 \
			gasneti_ex_jobrank("gex_AM_Max" #name, tm, other_rank);                                                                          \
		}                                                                                                                                    \
		(void)lc_opt, (void)flags, (void)numargs;                                                                                             \
		return gex_AM_LUB##name();                                                                                                           \
	}
LIMIT(RequestMedium)
LIMIT(ReplyMedium)
LIMIT(RequestLong)
LIMIT(ReplyLong)

#define REPLY_LIMIT(category)                                                                                                                \
	size_t gex_Token_MaxReply##category(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {             \
		(void)token, (void)lc_opt, (void)flags, (void)numargs;                                                                                \
		return gex_AM_LUBReply##category();                                                                                                  \
	}
REPLY_LIMIT(Medium)
REPLY_LIMIT(Long)

gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask) {
	if (token != &gasneti_thread.token || !token->live || info == NULL) {
		gasneti_misuse("gex_Token_Info", info == NULL ? "info is NULL" : "the token is not that of the handler that runs");
	}
	gex_TI_t filled = mask & (GEX_TI_SRCRANK | GEX_TI_EP);
	info->gex_srcrank = token->source;
	info->gex_ep = &gasneti_ex_ep;
	if (mask == filled || token->fast) {
		return filled;
	}
	int message = GASNETI_GO(aqExMessage());
	info->gex_is_req = message & GASNETI_IS_REQUEST ? 1 : 0;
	info->gex_is_long = message & GASNETI_IS_LONG ? 1 : 0;
	filled |= mask & (GEX_TI_IS_REQ | GEX_TI_IS_LONG);
	info->gex_entry = &entries[message & 255];
	if (info->gex_entry->gex_index != 0) {
		filled |= mask & GEX_TI_ENTRY;
	}
	return filled;
}

// The message that the thread has prepared.
struct gasneti_ex_srcdesc {
	int form; // GASNETI_MEDIUM or GASNETI_LONG, with GASNETI_IS_REQUEST; 0: none is prepared
	gasnet_node_t dest;
	void *addr;
	size_t size;
	void *to;
};
static __thread struct gasneti_ex_srcdesc prepared __attribute__((tls_model("initial-exec")));

static gex_AM_SrcDesc_t prepare(const char *call, int form, gasnet_node_t dest, const void *buf, size_t least, size_t most, void *to, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	gasneti_need_attached(call);
	if (prepared.form != 0) {
		gasneti_misuse(call, "the thread has prepared a message already; commit it first");
	}
	if (buf != NULL) {
		set_local(lc_opt, call);
	}
	if (!GASNETI_GO(aqExPrepare(gasneti_self(), (char *)call, form, dest, (void *)buf, least, most, to, flags, (int)numargs, &prepared.addr, &prepared.size))) {
		return GEX_AM_SRCDESC_NO_OP;
	}
	if (buf != NULL) {
		prepared.addr = (void *)buf;
	}
	prepared.form = form;
	prepared.dest = dest;
	prepared.to = to;
	return &prepared;
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareRequestMedium";
	return prepare(call, GASNETI_MEDIUM | GASNETI_IS_REQUEST, gasneti_ex_jobrank(call, tm, rank), client_buf, least_payload, most_payload, NULL, lc_opt, flags, numargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareRequestLong";
	return prepare(call, GASNETI_LONG | GASNETI_IS_REQUEST, gasneti_ex_jobrank(call, tm, rank), client_buf, least_payload, most_payload, dest_addr, lc_opt, flags, numargs);
}

static gasnet_node_t replies_to(const char *call, gex_Token_t token) {
	if (token != &gasneti_thread.token || !token->live) {
		gasneti_misuse(call, "the token is not that of the handler that runs");
	}
	return token->source;
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareReplyMedium";
	return prepare(call, GASNETI_MEDIUM, replies_to(call, token), client_buf, least_payload, most_payload, NULL, lc_opt, flags, numargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareReplyLong";
	return prepare(call, GASNETI_LONG, replies_to(call, token), client_buf, least_payload, most_payload, dest_addr, lc_opt, flags, numargs);
}

void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd) { return sd->addr; }
size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd) { return sd->size; }

static void need_prepared(const char *call, gex_AM_SrcDesc_t sd, int form) {
	if (sd != &prepared || sd->form != form) {
		gasneti_misuse(call, "the descriptor is not that of a message which the thread has prepared for such a call");
	}
}

static int cancel(const char *call, gex_AM_SrcDesc_t sd, int form) {
	need_prepared(call, sd, form);
	sd->form = 0;
	GASNETI_GO_VOID(aqExCancel(gasneti_self(), (char *)call, form));
	return 0;
}

#define CANCEL(name, form)                                                      \
	int gex_AM_Cancel##name(gex_AM_SrcDesc_t sd, gex_Flags_t flags) {          \
		(void)flags;                                                            \
		return cancel("gex_AM_Cancel" #name, sd, form);                        \
	}
CANCEL(RequestMedium, GASNETI_MEDIUM | GASNETI_IS_REQUEST)
CANCEL(RequestLong, GASNETI_LONG | GASNETI_IS_REQUEST)
CANCEL(ReplyMedium, GASNETI_MEDIUM)
CANCEL(ReplyLong, GASNETI_LONG)

static void commit(const char *call, gex_AM_SrcDesc_t sd, int form, gex_AM_Index_t handler, size_t nbytes, void *to, int numargs, const gasnet_handlerarg_t *args) {
	need_prepared(call, sd, form);
	if (sd->to != NULL && to != sd->to) {
		gasneti_misuse(call, "the destination is another one than the message was prepared for");
	}
	sd->form = 0;
	GASNETI_GO_VOID(aqExCommit(gasneti_self(), (char *)call, form, sd->dest, handler, nbytes, to, numargs, (uint32_t *)args));
}

void gasneti_ex_AMCommitRequestMedium(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, int numargs, const gasnet_handlerarg_t *args) {
	commit("gex_AM_CommitRequestMedium", sd, GASNETI_MEDIUM | GASNETI_IS_REQUEST, handler, nbytes, NULL, numargs, args);
}

void gasneti_ex_AMCommitRequestLong(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *to, int numargs, const gasnet_handlerarg_t *args) {
	commit("gex_AM_CommitRequestLong", sd, GASNETI_LONG | GASNETI_IS_REQUEST, handler, nbytes, to, numargs, args);
}

void gasneti_ex_AMCommitReplyMedium(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, int numargs, const gasnet_handlerarg_t *args) {
	commit("gex_AM_CommitReplyMedium", sd, GASNETI_MEDIUM, handler, nbytes, NULL, numargs, args);
}

void gasneti_ex_AMCommitReplyLong(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *to, int numargs, const gasnet_handlerarg_t *args) {
	commit("gex_AM_CommitReplyLong", sd, GASNETI_LONG, handler, nbytes, to, numargs, args);
}
