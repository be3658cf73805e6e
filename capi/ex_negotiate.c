// Negotiated payloads of GASNet-EX's interface: a thread prepares a message, writes its payload, and commits it. Where messages are
// sent in C this is too: what is committed is an ordinary message.

#include "ex.h"
#include "fast.h"
#include "_cgo_export.h"

#include <stdio.h>
#include <stdlib.h>

// The message that the thread has prepared.
struct gasneti_ex_srcdesc {
	int form; // GASNETI_MEDIUM or GASNETI_LONG, with GASNETI_IS_REQUEST; 0: none is prepared
	bool here; // in C: Go knows nothing of it
	int numargs;
	gasnet_node_t dest;
	void *addr;
	size_t size;
	void *to;
};
static __thread struct gasneti_ex_srcdesc prepared __attribute__((tls_model("initial-exec")));

// What a message is prepared for.
struct offer {
	const void *buf; // of the program's; NULL: of the library's
	size_t least, most;
	void *to;
	unsigned numargs;
};

// Returns the most bytes that the message may have, or less than offer->least if that is refused.
static size_t limit_of(int form, gasnet_node_t dest, const struct offer *o) {
	size_t limit = gasneti_job.max_medium;
	if (form & GASNETI_LONG) {
		limit = form & GASNETI_IS_REQUEST ? gasneti_job.max_long_request : gasneti_job.max_long_reply;
		if (o->to != NULL) {
			const gasneti_window_t *w = gasneti_windows == NULL ? NULL : &gasneti_windows[dest];
			uintptr_t off = w == NULL ? 0 : (uintptr_t)o->to - w->base;
			uintptr_t room = w == NULL || off > w->size ? 0 : w->size - off;
			limit = room < limit ? room : limit;
		}
	}
	return limit;
}

// Prepares the message in C, or reports false.
static bool prepare_here(int form, gasnet_node_t dest, const struct offer *o) {
	size_t limit = limit_of(form, dest, o);
	if (o->numargs > gasnet_AMMaxArgs() || o->least > o->most || o->least > limit) {
		return false;
	}
	prepared.size = o->most < limit ? o->most : limit;
	prepared.addr = (void *)o->buf;
	if (o->buf == NULL) {
		__typeof__(&gasneti_thread.staging[0]) s = &gasneti_thread.staging[(form & GASNETI_IS_REQUEST) != 0];
		if (s->size < prepared.size) {
			free(s->at);
			s->at = malloc(prepared.size);
			s->size = s->at == NULL ? 0 : prepared.size;
		}
		if (s->size < prepared.size) {
			return false;
		}
		prepared.addr = s->at;
	}
	return true;
}

static gex_AM_SrcDesc_t prepare(const char *call, int form, gasnet_node_t dest, struct offer o, gex_Event_t *lc_opt, gex_Flags_t flags) {
	const gex_Token_t token = form & GASNETI_IS_REQUEST ? NULL : &gasneti_thread.token;
	if (token != NULL && token->fast && !gasneti_thread.restricted) {
		gasneti_count_call();
	} else {
		gasneti_need_attached(call);
	}
	if (o.buf != NULL) {
		gasneti_ex_set_local(lc_opt, call);
	}
	prepared.here = token == NULL ? gasneti_fast_on() && !gasneti_thread.token.live : token->fast && token->answers;
	if (prepared.here) {
		prepared.here = prepare_here(form, dest, &o);
	}
	if (!prepared.here) {
		if (token != NULL && token->fast) {
			gasneti_misuse(call, !token->answers ? "the handler is that of a reply, or has replied already"
												 : "least is more than most, than the limit or than what the segment has there, there are more than 16 arguments, or there is no memory");
		}
		if (!GASNETI_GO(aqExPrepare(gasneti_self(), (char *)call, form, dest, (void *)o.buf, o.least, o.most, o.to, flags, (int)o.numargs, &prepared.addr, &prepared.size))) {
			return GEX_AM_SRCDESC_NO_OP;
		}
		if (o.buf != NULL) {
			prepared.addr = (void *)o.buf;
		}
	}
	prepared.form = form;
	prepared.dest = dest;
	prepared.to = o.to;
	prepared.numargs = (int)o.numargs;
	gasneti_thread.restricted |= GASNETI_PREPARED;
	return &prepared;
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareRequestMedium";
	return prepare(call, GASNETI_MEDIUM | GASNETI_IS_REQUEST, gasneti_ex_jobrank(call, tm, rank), (struct offer){client_buf, least_payload, most_payload, NULL, numargs}, lc_opt, flags);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareRequestLong";
	return prepare(call, GASNETI_LONG | GASNETI_IS_REQUEST, gasneti_ex_jobrank(call, tm, rank), (struct offer){client_buf, least_payload, most_payload, dest_addr, numargs}, lc_opt, flags);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareReplyMedium";
	return prepare(call, GASNETI_MEDIUM, gasneti_ex_replies_to(call, token), (struct offer){client_buf, least_payload, most_payload, NULL, numargs}, lc_opt, flags);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least_payload, size_t most_payload, void *dest_addr, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned int numargs) {
	const char *call = "gex_AM_PrepareReplyLong";
	return prepare(call, GASNETI_LONG, gasneti_ex_replies_to(call, token), (struct offer){client_buf, least_payload, most_payload, dest_addr, numargs}, lc_opt, flags);
}

void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd) { return sd->addr; }
size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd) { return sd->size; }

// Ends the preparation, of which the descriptor must be.
static void finish(const char *call, gex_AM_SrcDesc_t sd, int form) {
	if (sd != &prepared || sd->form != form) {
		gasneti_misuse(call, "the descriptor is not that of a message which the thread has prepared for such a call");
	}
	sd->form = 0;
	gasneti_thread.restricted &= ~GASNETI_PREPARED;
}

static int cancel(const char *call, gex_AM_SrcDesc_t sd, int form) {
	finish(call, sd, form);
	if (!sd->here) {
		GASNETI_GO_VOID(aqExCancel(gasneti_self(), (char *)call, form));
	}
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
	finish(call, sd, form);
	if (sd->to != NULL && to != sd->to) {
		gasneti_misuse(call, "the destination is another one than the message was prepared for");
	}
	if (!sd->here) {
		GASNETI_GO_VOID(aqExCommit(gasneti_self(), (char *)call, form, sd->dest, handler, nbytes, to, numargs, (uint32_t *)args));
		return;
	}
	char why[100];
	if (numargs != sd->numargs) {
		snprintf(why, sizeof why, "%d argument%s; the message was prepared for %d", numargs, numargs == 1 ? "" : "s", sd->numargs);
		gasneti_misuse(call, why);
	}
	if (nbytes > sd->size) {
		snprintf(why, sizeof why, "%zu bytes; the buffer has %zu", nbytes, sd->size);
		gasneti_misuse(call, why);
	}
	const struct gasneti_message m = {
		.kind = (enum gasneti_kind)(form & ~GASNETI_IS_REQUEST), .handler = handler, .src = sd->addr, .nbytes = nbytes, .to = to, .nargs = numargs, .args = args};
	if (form & GASNETI_IS_REQUEST) {
		gasneti_ex_request(call, sd->dest, m, 0);
	} else {
		gasneti_ex_reply(call, &gasneti_thread.token, m);
	}
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
