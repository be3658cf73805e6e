// Active messages. The numbered names of the headers come here with their arguments in an array.

#include "fast.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

// Where the fast path runs a handler, Go knows of none.
#define NOT_IN_HANDLER()                  \
	if (gasneti_thread.token.fast) {      \
		return GASNET_ERR_BAD_ARG;        \
	}

int gasneti_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int n, const gasnet_handlerarg_t *args) {
	const struct gasneti_message m = {.kind = GASNETI_SHORT, .handler = handler, .nargs = n, .args = args};
	int result;
	if (gasneti_fast_request(dest, &m, &result)) {
		return result;
	}
	NOT_IN_HANDLER();
	gasneti_need_attached("gasnet_AMRequestShort");
	return GASNETI_GO(aqRequestShort(gasneti_self(), dest, handler, n, (uint32_t *)args));
}

int gasneti_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, int n, const gasnet_handlerarg_t *args) {
	const struct gasneti_message m = {.kind = GASNETI_MEDIUM, .handler = handler, .src = src, .nbytes = nbytes, .nargs = n, .args = args};
	int result;
	if (gasneti_fast_request(dest, &m, &result)) {
		return result;
	}
	NOT_IN_HANDLER();
	gasneti_need_attached("gasnet_AMRequestMedium");
	return GASNETI_GO(aqRequestMedium(gasneti_self(), dest, handler, (void *)src, nbytes, n, (uint32_t *)args));
}

static int request_long(const char *call, int async, gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, void *to, int n, const gasnet_handlerarg_t *args) {
	const struct gasneti_message m = {.kind = GASNETI_LONG, .handler = handler, .src = src, .nbytes = nbytes, .to = to, .nargs = n, .args = args};
	int result;
	if (gasneti_fast_request(dest, &m, &result)) {
		return result;
	}
	NOT_IN_HANDLER();
	gasneti_need_attached(call);
	return GASNETI_GO(aqRequestLong(gasneti_self(), dest, handler, (void *)src, nbytes, to, async, n, (uint32_t *)args));
}

int gasneti_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, void *to, int n, const gasnet_handlerarg_t *args) {
	return request_long("gasnet_AMRequestLong", 0, dest, handler, src, nbytes, to, n, args);
}

int gasneti_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *src, size_t nbytes, void *to, int n, const gasnet_handlerarg_t *args) {
	return request_long("gasnet_AMRequestLongAsync", 1, dest, handler, src, nbytes, to, n, args);
}

// A reply is that of the handler which the calling thread runs.
static int replies(gasnet_token_t token, const char *call) {
	if (gasneti_thread.restricted) {
		gasneti_restricted(call);
	}
	return token == &gasneti_thread.token && token->live;
}

int gasneti_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int n, const gasnet_handlerarg_t *args) {
	if (!replies(token, "gasnet_AMReplyShort")) {
		return GASNET_ERR_BAD_ARG;
	}
	if (token->fast) {
		return gasneti_fast_reply(&(struct gasneti_message){.kind = GASNETI_SHORT, .handler = handler, .nargs = n, .args = args});
	}
	return GASNETI_GO(aqReplyShort(handler, n, (uint32_t *)args));
}

int gasneti_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, int n, const gasnet_handlerarg_t *args) {
	if (!replies(token, "gasnet_AMReplyMedium")) {
		return GASNET_ERR_BAD_ARG;
	}
	if (token->fast) {
		return gasneti_fast_reply(&(struct gasneti_message){.kind = GASNETI_MEDIUM, .handler = handler, .src = src, .nbytes = nbytes, .nargs = n, .args = args});
	}
	return GASNETI_GO(aqReplyMedium(handler, (void *)src, nbytes, n, (uint32_t *)args));
}

int gasneti_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *src, size_t nbytes, void *to, int n, const gasnet_handlerarg_t *args) {
	if (!replies(token, "gasnet_AMReplyLong")) {
		return GASNET_ERR_BAD_ARG;
	}
	if (token->fast) {
		return gasneti_fast_reply(&(struct gasneti_message){.kind = GASNETI_LONG, .handler = handler, .src = src, .nbytes = nbytes, .to = to, .nargs = n, .args = args});
	}
	return GASNETI_GO(aqReplyLong(handler, (void *)src, nbytes, to, n, (uint32_t *)args));
}

// The forms whose arguments are counted when they are called.
enum { MAX_ARGS = 16 };

#define COLLECT(last, n, args)                         \
	gasnet_handlerarg_t args[MAX_ARGS];                \
	if ((n) < 0 || (n) > MAX_ARGS) {                   \
		return GASNET_ERR_BAD_ARG;                     \
	}                                                  \
	va_list list;                                      \
	va_start(list, last);                              \
	for (int i = 0; i < (n); i++) {                    \
		args[i] = va_arg(list, gasnet_handlerarg_t);   \
	}                                                  \
	va_end(list)

int gasnet_AMRequestShort(gasnet_node_t dest, gasnet_handler_t handler, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMRequestShort(dest, handler, numargs, args);
}

int gasnet_AMRequestMedium(gasnet_node_t dest, gasnet_handler_t handler, const void *source_addr, size_t nbytes, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMRequestMedium(dest, handler, source_addr, nbytes, numargs, args);
}

int gasnet_AMRequestLong(gasnet_node_t dest, gasnet_handler_t handler, const void *source_addr, size_t nbytes, void *dest_addr, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMRequestLong(dest, handler, source_addr, nbytes, dest_addr, numargs, args);
}

int gasnet_AMRequestLongAsync(gasnet_node_t dest, gasnet_handler_t handler, const void *source_addr, size_t nbytes, void *dest_addr, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMRequestLongAsync(dest, handler, source_addr, nbytes, dest_addr, numargs, args);
}

int gasnet_AMReplyShort(gasnet_token_t token, gasnet_handler_t handler, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMReplyShort(token, handler, numargs, args);
}

int gasnet_AMReplyMedium(gasnet_token_t token, gasnet_handler_t handler, const void *source_addr, size_t nbytes, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMReplyMedium(token, handler, source_addr, nbytes, numargs, args);
}

int gasnet_AMReplyLong(gasnet_token_t token, gasnet_handler_t handler, const void *source_addr, size_t nbytes, void *dest_addr, int numargs, ...) {
	COLLECT(numargs, numargs, args);
	return gasneti_AMReplyLong(token, handler, source_addr, nbytes, dest_addr, numargs, args);
}

size_t gasnet_AMMaxArgs(void) { return MAX_ARGS; }
size_t gasnet_AMMaxMedium(void) { return gasneti_job.max_medium; }
size_t gasnet_AMMaxLongRequest(void) { return gasneti_job.max_long_request; }
size_t gasnet_AMMaxLongReply(void) { return gasneti_job.max_long_reply; }

int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex) {
	if (token == NULL || srcindex == NULL || !token->live) {
		return GASNET_ERR_BAD_ARG;
	}
	*srcindex = token->source;
	return GASNET_OK;
}

int gasnet_AMPoll(void) {
	if (gasneti_fast_poll()) {
		return GASNET_OK;
	}
	NOT_IN_HANDLER();
	gasneti_need_attached("gasnet_AMPoll");
	return GASNETI_GO(aqPoll(gasneti_self()));
}

// A wait begins in C where that is possible, and goes on in Go, which notes what has happened since it was begun there: so the
// program looks at its condition between the two. Where one thread calls the library nothing happens in between, and the wait
// begins in Go with its first turn.
static void begin_turns(void) {
	gasneti_thread.turns = 1;
	GASNETI_GO_VOID(aqTurns(gasneti_self()));
}

void gasneti_blockuntil(void) {
	gasneti_need_attached("GASNET_BLOCKUNTIL");
	gasneti_thread.turns = 0;
	if (!gasneti_fast_wait() && gasneti_mode == GASNETI_PAR) {
		begin_turns();
	}
}

void gasneti_blockuntil_turn(void) {
	if (!gasneti_fast_spin()) {
		if (gasneti_thread.turns || gasneti_mode != GASNETI_PAR) {
			GASNETI_GO_VOID(aqTurn(gasneti_self(), !gasneti_thread.turns));
			gasneti_thread.turns = 1;
		} else {
			begin_turns();
		}
	}
	if (__atomic_load_n(&gasneti_coll_pending, __ATOMIC_RELAXED)) {
		gasneti_coll_progress();
	}
	atomic_thread_fence(memory_order_acquire); // a handler may have run on another thread
}

#include "shapes.h"

// The handler's function has exactly as many arguments as were sent (GASNet 1.8, "Active Message Interface").
void gasneti_dispatch(gasneti_fn_t fn, gasnet_node_t source, int nargs, const uint32_t *args, int payload, void *buf, size_t n) {
	struct gasneti_token *t = &gasneti_thread.token;
	t->live = 1;
	t->source = source;
	int before; // below is Go, through which a thread that is cancelled cannot go back
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	gasneti_call(fn, t, nargs, (const gasnet_handlerarg_t *)args, payload, buf, n);
	pthread_setcancelstate(before, NULL);
	t->live = 0;
	if (gasneti_thread.restricted) {
		gasneti_left_restricted();
	}
}
