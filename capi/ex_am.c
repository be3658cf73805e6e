// Active messages of GASNet-EX's interface. What has nothing particular goes the way of those of GASNet-1.

#include "ex.h"
#include "fast.h"
#include "_cgo_export.h"


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
		__atomic_store_n(&gasneti_handlers[table[i].gex_index], (gasneti_fn_t)table[i].gex_fnptr, __ATOMIC_RELEASE);
	}
	return err;
}

void gasneti_ex_set_local(gex_Event_t *lc_opt, const char *call) {
	if (lc_opt == NULL || lc_opt == GEX_EVENT_DEFER) {
		gasneti_misuse(call, "lc_opt is neither GEX_EVENT_NOW, nor GEX_EVENT_GROUP, nor the address of an event");
	}
	if (lc_opt != GEX_EVENT_NOW && lc_opt != GEX_EVENT_GROUP) {
		*lc_opt = GEX_EVENT_INVALID;
	}
}

// Go says what is wrong with a request that C refuses.
int gasneti_ex_request(const char *call, gasnet_node_t dest, struct gasneti_message m, gex_Flags_t flags) {
	int result;
	m.immediate = (flags & GEX_FLAG_IMMEDIATE) != 0;
	if (gasneti_fast_request(dest, &m, &result)) {
		return result == GASNETI_NO_ROOM;
	}
	gasneti_need_attached(call);
	return GASNETI_GO(aqExRequest(gasneti_self(), (char *)call, m.kind, dest, m.handler, (void *)m.src, m.nbytes, m.to, flags, m.nargs, (uint32_t *)m.args));
}

int gasneti_ex_AMRequestShort(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestShort";
	return gasneti_ex_request(call, gasneti_ex_jobrank(call, tm, rank), (struct gasneti_message){.kind = GASNETI_SHORT, .handler = handler, .nargs = numargs, .args = args}, flags);
}

int gasneti_ex_AMRequestMedium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestMedium";
	gasneti_ex_set_local(lc_opt, call);
	return gasneti_ex_request(call, gasneti_ex_jobrank(call, tm, rank),
		(struct gasneti_message){.kind = GASNETI_MEDIUM, .handler = handler, .src = src, .nbytes = nbytes, .nargs = numargs, .args = args}, flags);
}

int gasneti_ex_AMRequestLong(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_RequestLong";
	gasneti_ex_set_local(lc_opt, call);
	return gasneti_ex_request(call, gasneti_ex_jobrank(call, tm, rank),
		(struct gasneti_message){.kind = GASNETI_LONG, .handler = handler, .src = src, .nbytes = nbytes, .to = to, .nargs = numargs, .args = args}, flags);
}

gasnet_node_t gasneti_ex_replies_to(const char *call, gex_Token_t token) {
	if (token != &gasneti_thread.token || !token->live) {
		gasneti_misuse(call, "the token is not that of the handler that runs");
	}
	return token->source;
}

int gasneti_ex_reply(const char *call, gex_Token_t token, struct gasneti_message m) {
	gasneti_ex_replies_to(call, token);
	if (gasneti_thread.restricted) {
		gasneti_restricted(call);
	}
	if (!token->fast) {
		GASNETI_GO_VOID(aqExReply((char *)call, m.kind, m.handler, (void *)m.src, m.nbytes, m.to, m.nargs, (uint32_t *)m.args));
	} else if (gasneti_fast_reply(&m) != GASNET_OK) {
		gasneti_misuse(call, !token->answers ? "the handler is that of a reply, or has replied already"
											 : "the handler's index is 0, there are more than 16 arguments, or the payload is NULL, too long or leaves the segment");
	}
	return 0;
}

int gasneti_ex_AMReplyShort(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	(void)flags;
	return gasneti_ex_reply("gex_AM_ReplyShort", token, (struct gasneti_message){.kind = GASNETI_SHORT, .handler = handler, .nargs = numargs, .args = args});
}

int gasneti_ex_AMReplyMedium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_ReplyMedium";
	(void)flags;
	gasneti_ex_set_local(lc_opt, call);
	return gasneti_ex_reply(call, token, (struct gasneti_message){.kind = GASNETI_MEDIUM, .handler = handler, .src = src, .nbytes = nbytes, .nargs = numargs, .args = args});
}

int gasneti_ex_AMReplyLong(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes, void *to, gex_Event_t *lc_opt, gex_Flags_t flags, int numargs, const gasnet_handlerarg_t *args) {
	const char *call = "gex_AM_ReplyLong";
	(void)flags;
	gasneti_ex_set_local(lc_opt, call);
	return gasneti_ex_reply(call, token, (struct gasneti_message){.kind = GASNETI_LONG, .handler = handler, .src = src, .nbytes = nbytes, .to = to, .nargs = numargs, .args = args});
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
	if (mask == filled) {
		return filled;
	}
	uint32_t header = token->fast ? token->header : GASNETI_GO(aqExHeader());
	info->gex_is_req = !gasneti_header_reply(header);
	info->gex_is_long = gasneti_header_kind(header) == GASNETI_LONG;
	filled |= mask & (GEX_TI_IS_REQ | GEX_TI_IS_LONG);
	info->gex_entry = &entries[gasneti_header_handler(header)];
	if (info->gex_entry->gex_index != 0) {
		filled |= mask & GEX_TI_ENTRY;
	}
	return filled;
}

