// The barrier of all ranks. Where messages are sent and taken in C, so are the notices of barriers, on the state that Go's
// package engine has: each function here does what the method of its Barrier does that has the same name.

#include "fast.h"
#include "_cgo_export.h"

static struct gasneti_barrier *barrier; // NULL: Go carries out barriers
static struct {
	uint32_t handler, team[2];
} notices;

// Flags of a name, as in Go.
enum { ANONYMOUS = 1, MISMATCH = 2 };

void gasneti_share_barrier(void *state, uint32_t handler, uint64_t team) {
	barrier = state;
	notices.handler = handler;
	notices.team[0] = (uint32_t)team;
	notices.team[1] = (uint32_t)(team >> 32);
}

static struct gasneti_name name_of(int id, int flags) {
	return (struct gasneti_name){.id = id, .flags = (uint8_t)((flags & GASNET_BARRIERFLAG_ANONYMOUS ? ANONYMOUS : 0) | (flags & GASNET_BARRIERFLAG_MISMATCH ? MISMATCH : 0))};
}

static struct gasneti_name merge(struct gasneti_name a, struct gasneti_name b) {
	if (((a.flags | b.flags) & MISMATCH) != 0) {
		return (struct gasneti_name){.flags = MISMATCH};
	}
	if (a.flags & ANONYMOUS) {
		return b;
	}
	if (b.flags & ANONYMOUS || a.id == b.id) {
		return a;
	}
	return (struct gasneti_name){.flags = MISMATCH};
}

static inline bool done(const struct gasneti_barrier *b) { return b->done == b->moves_len; }

static inline bool sends(const struct gasneti_barrier *b) { return !done(b) && b->moves[b->done].to >= 0; }

static int take(struct gasneti_barrier *b) {
	uint32_t set = b->epoch & 1;
	int n = 0;
	for (; !done(b) && b->moves[b->done].to < 0; n++) {
		struct gasneti_hearing *h = &b->hears[b->moves[b->done].number];
		if (!h->here[set]) {
			return n;
		}
		h->here[set] = false;
		b->known = merge(b->known, h->told[set]);
		b->done++;
	}
	return n;
}

static void advance(struct gasneti_barrier *b) {
	for (;;) {
		take(b);
		if (!sends(b)) {
			return;
		}
		const struct gasneti_move *m = &b->moves[b->done];
		const gasnet_handlerarg_t args[] = {
			(gasnet_handlerarg_t)notices.team[0], (gasnet_handlerarg_t)notices.team[1], (gasnet_handlerarg_t)b->epoch, m->number, b->known.flags, b->known.id};
		const struct gasneti_message notice = {.kind = GASNETI_SHORT, .handler = (gasnet_handler_t)notices.handler, .nargs = 6, .args = args};
		if (!gasneti_fast_try((gasnet_node_t)m->to, &notice)) {
			GASNETI_GO_VOID(aqBarrierLater());
			return;
		}
		b->done++;
	}
}

static bool heard(const struct gasneti_barrier *b, int32_t hearing) {
	for (uint32_t i = 0; i < b->done; i++) {
		if (b->moves[i].to < 0 && b->moves[i].number == hearing) {
			return true;
		}
	}
	return false;
}

// Returns what hears a notice, or NULL if no correct peer sends that.
static struct gasneti_hearing *find(struct gasneti_barrier *b, gasnet_node_t from, uint32_t epoch, int32_t number) {
	for (uint32_t i = 0; i < b->hears_len; i++) {
		struct gasneti_hearing *h = &b->hears[i];
		if ((gasnet_node_t)h->from == from && h->number == number) {
			uint32_t ahead = epoch - b->epoch;
			bool wrong = ahead > 1 || (ahead == 0 && (!b->notified || heard(b, (int32_t)i))) || h->here[epoch & 1];
			return wrong ? NULL : h;
		}
	}
	return NULL;
}

static void arrive(gasnet_token_t token, gasnet_handlerarg_t low, gasnet_handlerarg_t high, gasnet_handlerarg_t epoch, gasnet_handlerarg_t number, gasnet_handlerarg_t flags, gasnet_handlerarg_t id) {
	(void)low, (void)high;
	struct gasneti_barrier *b = barrier;
	struct gasneti_hearing *h = find(b, token->source, (uint32_t)epoch, number);
	if (h == NULL) {
		gasneti_misuse("a barrier", "a peer has changed its notice after sending it");
	}
	h->here[epoch & 1] = true;
	h->told[epoch & 1] = (struct gasneti_name){.flags = (uint8_t)flags, .id = id};
	if ((uint32_t)epoch == b->epoch && take(b) > 0 && sends(b)) {
		advance(b);
	}
}

gasneti_fn_t gasneti_barrier_notice(gasnet_node_t from, uint32_t header, const uint32_t *args) {
	bool understood = barrier != NULL && header == GASNETI_HEADER(notices.handler, 0, GASNETI_SHORT, 6) && args[0] == notices.team[0] &&
					  args[1] == notices.team[1] && find(barrier, from, args[2], (int32_t)args[3]) != NULL;
	return understood ? (gasneti_fn_t)arrive : NULL;
}

static int finish(struct gasneti_barrier *b, struct gasneti_name end) {
	b->notified = false;
	b->last = b->known;
	struct gasneti_name against = b->own.flags & ANONYMOUS ? b->known : b->own;
	if (b->known.flags & MISMATCH || merge(against, end).flags & MISMATCH) {
		b->last = (struct gasneti_name){.flags = MISMATCH};
		return GASNET_ERR_BARRIER_MISMATCH;
	}
	return GASNET_OK;
}

// Begins a call that is done in C if the barrier has been notified, or has not been, as is due. What is not due is for Go to refuse.
static bool enter(bool notified) {
	if (barrier == NULL || !gasneti_fast_enter_alone()) {
		return false;
	}
	if (barrier->notified != notified) {
		gasneti_fast_leave_alone();
		return false;
	}
	return true;
}

void gasnet_barrier_notify(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_notify");
	if (!enter(false)) {
		GASNETI_GO_VOID(aqNotify(gasneti_self(), id, flags));
		return;
	}
	struct gasneti_barrier *b = barrier;
	b->notified = true;
	b->own = b->known = name_of(id, flags);
	b->epoch++;
	b->done = 0;
	advance(b);
	gasneti_fast_leave_alone();
}

// Polls in C, so many times at most, until the barrier is done, and ends it. *result is GASNET_ERR_NOT_READY then if it is not done.
// end_here reports false if something is Go's to do.
static bool end_here(int polls, int id, int flags, int *result) {
	if (!enter(true)) {
		return false;
	}
	bool left = false;
	for (int i = 0; i < polls && !left && !done(barrier); i++) {
		left = gasneti_fast_poll_alone();
	}
	*result = GASNET_ERR_NOT_READY;
	if (!left && done(barrier)) {
		*result = finish(barrier, name_of(id, flags));
	}
	gasneti_fast_leave_alone();
	return !left;
}

int gasnet_barrier_wait(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_wait");
	int result;
	return end_here(gasneti_fast_spins(), id, flags, &result) && result != GASNET_ERR_NOT_READY ? result : GASNETI_GO(aqWaitBarrier(gasneti_self(), id, flags));
}

int gasnet_barrier_try(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_try");
	int result;
	return end_here(1, id, flags, &result) ? result : GASNETI_GO(aqTryBarrier(gasneti_self(), id, flags));
}

int gasnet_barrier(int id, int flags) {
	gasnet_barrier_notify(id, flags);
	return gasnet_barrier_wait(id, flags);
}

int gasnet_barrier_result(int *id) {
	gasneti_need_attached("gasnet_barrier_result");
	int name;
	if (!GASNETI_GO(aqBarrierResult(&name))) {
		return 1;
	}
	if (id != NULL) {
		*id = name;
	}
	return 0;
}
