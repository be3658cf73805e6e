#include "fast.h"
#include "_cgo_export.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "shapes.h"

// What Go has shared; rings is NULL if it has not.
static struct {
	struct gasneti_rings *rings;
	struct gasneti_state *state;
	bool several;       // threads may come: see enter
	bool prefetches;    // the processor has PREFETCHW
	int spins;          // polls in C of a wait before Go takes over
	uint32_t first;     // where the next poll begins: a sender, or a word of hints
	bool streaks;       // a ring may have one
	uint64_t empty;     // polls in a row that found no hint
} fast;

gasneti_fn_t gasneti_handlers[256];

enum {
	SENDS_PER_POLL = 16, // as in core
	BUDGET = 32,         // messages of a poll; likewise
	SPINS = 1024,        // some microseconds: more than an answer takes, less than to sleep
	TRIES = 128,         // for a lock, likewise
};

bool gasneti_share(uint32_t version, void *state, void *rings, int several) {
	if (version != GASNETI_LAYOUT_VERSION) {
		return false;
	}
	fast.state = state;
	fast.several = several;
	fast.spins = fast.state->hot > 1 ? SPINS : 1;
#if defined(__x86_64__)
	unsigned a, b, c = 0, d;
	fast.prefetches = __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1 << 8) != 0;
#endif
	fast.rings = rings;
	return true;
}

// A line that will soon be written. Compilers make a prefetch for reading of their builtin.
static inline void prefetch_to_write(const void *p) {
#if defined(__x86_64__)
	if (fast.prefetches) {
		__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
	}
#else
	__builtin_prefetch(p, 1);
#endif
}

// How the calling thread uses the rings: not at all; as the only one that has called the library, without locks; or beside
// others, with those that Go takes too.
enum way { NOT, ALONE, SHARED };

// The calling thread begins to use the rings, unless it may not: it runs a handler or holds a lock, or Go does not know yet
// that it is there. The protocol for several threads is that of core's bias.
static inline enum way enter(void) {
	enum way way = ALONE;
	if (fast.rings == NULL || (gasneti_thread.token.live | gasneti_thread.restricted) != 0) {
		return NOT;
	}
	if (fast.several) {
		struct gasneti_state *s = fast.state;
		int number = gasneti_thread.number;
		if (number == 1 && __atomic_load_n(&s->over, __ATOMIC_ACQUIRE) == 0) {
			if (s->inside != 0) {
				return NOT;
			}
			__atomic_store_n(&s->inside, 1, __ATOMIC_RELAXED);
			__atomic_signal_fence(__ATOMIC_SEQ_CST); // for the processor, who sets over runs membarrier
			if (__atomic_load_n(&s->over, __ATOMIC_ACQUIRE) != 0) {
				__atomic_store_n(&s->inside, 0, __ATOMIC_RELEASE);
				way = SHARED;
			}
		} else if (number == 0 || (number != 1 && __atomic_load_n(&s->left, __ATOMIC_ACQUIRE) == 0)) {
			return NOT;
		} else {
			way = SHARED;
		}
	}
	gasneti_count_call();
	gasneti_thread.inside = 1; // it was 0: the thread comes from the program
	return way;
}

static inline void leave(enum way way) {
	gasneti_thread.inside = 0;
	if (fast.several && way == ALONE) {
		__atomic_store_n(&fast.state->inside, 0, __ATOMIC_RELEASE);
	}
}

static inline bool try_lock(uint32_t *lock) {
	uint32_t none = 0;
	return __atomic_load_n(lock, __ATOMIC_RELAXED) == 0 &&
		   __atomic_compare_exchange_n(lock, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void unlock(uint32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static inline void relax(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

// Notes that a poll has found something, for who waits. Who sleeps for all that wait is woken by rouse, afterwards.
static bool note(enum way way) {
	struct gasneti_state *s = fast.state;
	__atomic_store_n(&s->found, s->found + 1, __ATOMIC_RELEASE);
	if (way == ALONE) {
		return false;
	}
	__atomic_add_fetch(&s->words->bursts, 1, __ATOMIC_ACQ_REL);
	return __atomic_load_n(&s->words->sleeping, __ATOMIC_RELAXED) != 0; // it was set with the lock held
}

static void rouse(void) { GASNETI_GO_VOID(aqRouse()); }

bool gasneti_fast_on(void) { return fast.rings != NULL; }

void gasneti_fast_end(void) { fast.rings = NULL; }

void gasneti_fast_abandon(void) {
	enum way way = (enum way)gasneti_thread.token.fast;
	if (way == NOT) {
		return;
	}
	gasneti_thread.token.live = gasneti_thread.token.fast = 0;
	bool sleeps = note(way); // what the handler has done
	if (way == SHARED) {
		unlock(&fast.state->words->polling);
	}
	leave(way);
	if (sleeps) {
		rouse();
	}
}

static inline uint8_t lap_of(uint32_t slot) { return (uint8_t)(slot >> GASNETI_DEPTH_SHIFT) | 1 << 7; }

// Where the inline payload of a message with so many arguments begins in its slot.
static inline size_t inline_at(int nargs) { return offsetof(struct gasneti_slot, args) + (((size_t)nargs * 4 + 7) & ~(size_t)7); }

// Wakes the peer if it sleeps, after something was published. Who goes to sleep runs membarrier before it looks again,
// unless publishing has a full barrier.
static inline void wake(uint32_t peer) {
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&fast.rings->asleep[peer], __ATOMIC_RELAXED) != 0, 0)) {
		GASNETI_GO_VOID(aqWake((int)peer));
	}
}

static inline void publish(uint64_t *word, uint64_t value) {
	if (fast.rings->fenced) {
		__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
	}
}

// Looks at what the peer has consumed since, and reports whether there is more room. What no correct peer says
// is for Go to find.
static bool refresh(struct gasneti_out_ring *r) {
	uint64_t now = __atomic_load_n(r->credit, __ATOMIC_ACQUIRE);
	uint32_t tail = (uint32_t)now, before = (uint32_t)r->seen;
	uint32_t pay = (uint32_t)(now >> 32), pay_before = (uint32_t)(r->seen >> 32);
	if (now == r->seen || tail - before > r->head - before || pay - pay_before > r->pay - pay_before) {
		return false;
	}
	__atomic_store_n(&r->waits, 0, __ATOMIC_RELAXED);
	r->seen = now;
	r->room = tail + GASNETI_DEPTH;
	r->pay_room = pay + GASNETI_PAYLOAD_RING;
	return true;
}

static inline bool reply_room(struct gasneti_out_ring *r) {
	while (r->head == r->room || r->pay_room - r->pay < 2 * GASNETI_MAX_MEDIUM) {
		if (!refresh(r)) {
			return false;
		}
	}
	return true;
}

// Finds room in the ring of payloads for a Medium's, which lies there in one piece. It reports false if there is none.
static inline bool take_payload(struct gasneti_out_ring *r, size_t nbytes, uint64_t *aux) {
	uint32_t take = ((uint32_t)nbytes + GASNETI_PAYLOAD_UNIT - 1) & ~(uint32_t)(GASNETI_PAYLOAD_UNIT - 1);
	uint32_t pos = r->pay % GASNETI_PAYLOAD_RING;
	if (pos + take > GASNETI_PAYLOAD_RING) {
		take += GASNETI_PAYLOAD_RING - pos;
		pos = 0;
	}
	while ((int32_t)(r->pay_room - r->pay) < (int32_t)take) {
		if (!refresh(r)) {
			return false;
		}
	}
	r->pay += take;
	*aux = (uint64_t)take << 32 | pos;
	return true;
}

// A message's place: its slot, the place's number, what the slot says of the payload, and where that goes.
struct place {
	struct gasneti_slot *slot;
	uint32_t number;
	uint64_t aux;
	char *to;
	bool inlined;
};

// Checks what the message asks for, and finds out where the payload of a Long goes.
static inline bool acceptable(gasnet_node_t dest, int lane, const struct gasneti_message *m, struct place *p) {
	if (dest >= fast.rings->peers || m->handler == 0 || (unsigned)m->nargs > 16 || (m->nbytes > 0 && m->src == NULL)) {
		return false;
	}
	if (m->kind == GASNETI_MEDIUM) {
		p->inlined = m->nbytes <= GASNETI_SLOT_SIZE - inline_at(m->nargs);
		return m->nbytes <= GASNETI_MAX_MEDIUM;
	}
	if (m->kind == GASNETI_LONG) {
		if (gasneti_windows == NULL) {
			return false;
		}
		const gasneti_window_t *w = &gasneti_windows[dest];
		uintptr_t off = (uintptr_t)m->to - w->base;
		if (m->nbytes == 0) { // whose address is nobody's business
			p->aux = off <= w->size ? off : 0;
			return true;
		}
		p->aux = off;
		p->to = w->here + off;
		return off <= w->size && m->nbytes <= w->size - off &&
			   m->nbytes <= (lane == GASNETI_REPLIES ? gasneti_job.max_long_reply : gasneti_job.max_long_request);
	}
	return true;
}

// Takes a place for the message, and reports false if there is none.
static inline bool reserve(struct gasneti_out_ring *r, const struct gasneti_message *m, struct place *p) {
	if (r->head == r->room && !refresh(r)) {
		return false;
	}
	if (m->kind == GASNETI_MEDIUM && !p->inlined && !take_payload(r, m->nbytes, &p->aux)) {
		return false;
	}
	p->number = r->head++;
	p->slot = &r->slots[p->number & (GASNETI_DEPTH - 1)];
	return true;
}

// Writes the message to its place and publishes it.
static inline void commit(gasnet_node_t dest, int lane, struct gasneti_ends *e, const struct gasneti_message *m, const struct place *p) {
	struct gasneti_slot *s = p->slot;
	uint32_t header = GASNETI_HEADER(m->handler, lane, m->kind, m->nargs);
	uint64_t word = (uint64_t)m->nbytes << 32 | header << 16 | lap_of(p->number);
	if (m->kind == GASNETI_MEDIUM) {
		char *to;
		if (p->inlined) {
			word |= GASNETI_FLAG_INLINE;
			to = (char *)s + inline_at(m->nargs);
		} else {
			s->aux = p->aux;
			to = (char *)e->out[lane].payload + (uint32_t)p->aux;
		}
		if (m->nbytes > 0) {
			memcpy(to, m->src, m->nbytes);
		}
	} else if (m->kind == GASNETI_LONG) {
		s->aux = p->aux;
		if (m->nbytes > 0) {
			memmove(p->to, m->src, m->nbytes);
		}
	}
	for (int i = 0; i < m->nargs; i++) {
		s->args[i] = (uint32_t)m->args[i];
	}
	publish(&s->word, word);
	prefetch_to_write(s + GASNETI_PREFETCH_OUT);
	if (fast.rings->hinted) {
		__atomic_store_n(e->hint, 1, __ATOMIC_RELEASE);
	}
	wake(dest);
}

enum outcome { SENT, FULL, REFUSED };

// Sends a request. Beside other threads it does not wait long for its turn: Go has a queue.
static inline enum outcome put_request(enum way way, gasnet_node_t dest, const struct gasneti_message *m) {
	struct place p;
	if (!acceptable(dest, GASNETI_REQUESTS, m, &p)) {
		return REFUSED;
	}
	struct gasneti_ends *e = &fast.rings->ends[dest];
	uint32_t *lock = NULL;
	if (way == SHARED) {
		lock = &fast.state->words->sending;
		for (int i = 0; !try_lock(lock); i++) {
			if (i == TRIES) {
				return REFUSED;
			}
			relax();
		}
	}
	bool room = reserve(&e->out[GASNETI_REQUESTS], m, &p);
	if (room) {
		e->requests++;
	}
	if (lock != NULL) {
		unlock(lock);
	}
	if (!room) {
		return FULL;
	}
	commit(dest, GASNETI_REQUESTS, e, m, &p);
	return SENT;
}

// A message that has come, in the terms of handlers.
struct arrival {
	gasneti_fn_t fn;
	uint32_t header;
	int nargs, payload;
	void *buf;
	size_t nbytes;
	uint32_t pay; // bytes of the payload ring that it has taken
};

// Reads what the slot of a peer says, and reports whether it is a sound message for a handler in C.
static inline bool understand(const struct gasneti_in_ring *r, struct gasneti_slot *s, uint64_t word, uint32_t peer, int lane, struct arrival *a) {
	uint32_t header = (uint32_t)(word >> 16) & 0xffff;
	a->fn = __atomic_load_n(&gasneti_handlers[gasneti_header_handler(header)], __ATOMIC_ACQUIRE);
	a->header = header;
	a->nargs = gasneti_header_nargs(header);
	a->payload = 0;
	a->buf = NULL;
	a->nbytes = 0;
	a->pay = 0;
	if (__builtin_expect(a->fn == NULL, 0)) {
		a->fn = gasneti_barrier_notice(peer, header, s->args);
	}
	if (a->fn == NULL || a->nargs > 16 || gasneti_header_reply(header) != lane) {
		return false;
	}
	uint64_t n = word >> 32;
	switch (gasneti_header_kind(header)) {
	case GASNETI_SHORT:
		return true;
	case GASNETI_MEDIUM:
		if (word & GASNETI_FLAG_INLINE) {
			size_t first = inline_at(a->nargs);
			if (n > GASNETI_SLOT_SIZE - first) {
				return false;
			}
			a->buf = (char *)s + first;
		} else {
			uint64_t pos = s->aux & 0xffffffff, take = s->aux >> 32;
			if (n > GASNETI_MAX_MEDIUM || pos + n > GASNETI_PAYLOAD_RING || take < n || take > GASNETI_PAYLOAD_RING) {
				return false;
			}
			a->buf = r->payload + pos;
			a->pay = (uint32_t)take;
		}
		break;
	case GASNETI_LONG: {
		if (gasneti_windows == NULL) {
			return false;
		}
		const gasneti_window_t *own = &gasneti_windows[gasneti_job.rank];
		if (s->aux > own->size || n > own->size - s->aux) {
			return false;
		}
		a->buf = (char *)own->base + s->aux;
		break;
	}
	default:
		return false;
	}
	a->payload = 1;
	a->nbytes = n;
	return true;
}

// Tells the sender what has been consumed, and wakes it in case it waits.
static void return_credit(struct gasneti_in_ring *r, uint32_t peer) {
	r->returned = r->tail;
	r->pay_known = r->pay;
	publish(r->back, (uint64_t)r->pay << 32 | r->tail);
	wake(peer);
}

static inline bool ready(const struct gasneti_in_ring *r) {
	return (uint8_t)__atomic_load_n(&r->next->word, __ATOMIC_ACQUIRE) == r->lap;
}

// Has the message with the given number come next.
static inline void await(struct gasneti_in_ring *r, uint32_t number) {
	r->tail = number;
	r->next = &r->slots[number & (GASNETI_DEPTH - 1)];
	r->lap = lap_of(number);
}

// Handles up to budget messages of a ring, and returns how many. If one is Go's to handle, it stays, and *left is set.
static int take(enum way way, uint32_t peer, int lane, int budget, bool *left) {
	struct gasneti_ends *e = &fast.rings->ends[peer];
	struct gasneti_in_ring *r = &e->in[lane];
	struct gasneti_token *t = &gasneti_thread.token;
	int n = 0;
	for (; n < budget; n++) {
		struct gasneti_slot *s = r->next;
		uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		struct arrival a;
		if ((uint8_t)word != r->lap) {
			break;
		}
		if (!understand(r, s, word, peer, lane, &a) || (lane == GASNETI_REQUESTS && !reply_room(&e->out[GASNETI_REPLIES]))) {
			*left = true;
			break;
		}
		if (n >= GASNETI_BACKLOG) {
			__builtin_prefetch(&r->slots[(r->tail + GASNETI_PREFETCH_IN) & (GASNETI_DEPTH - 1)]);
		} else if (r->answered) { // so will this one be
			struct gasneti_out_ring *o = &e->out[GASNETI_REPLIES];
			prefetch_to_write(&o->slots[o->head & (GASNETI_DEPTH - 1)]);
		}
		// The message counts as taken before its handler runs, in which the thread may be cancelled. Its slot is the
		// sender's again when credit is returned.
		await(r, r->tail + 1);
		r->pay += a.pay;
		e->received++;
		t->source = peer;
		t->header = a.header;
		t->answers = lane == GASNETI_REQUESTS;
		t->live = 1;
		t->fast = (int)way;
		gasneti_call(a.fn, t, a.nargs, (const gasnet_handlerarg_t *)s->args, a.payload, a.buf, a.nbytes);
		t->live = t->fast = 0;
		r->answered = lane == GASNETI_REQUESTS && !t->answers;
		if (__builtin_expect(gasneti_thread.restricted, 0)) {
			gasneti_left_restricted();
		}
		if (r->tail - r->returned >= GASNETI_CREDIT_EVERY || r->pay - r->pay_known >= GASNETI_PAY_EVERY) {
			return_credit(r, peer);
		}
	}
	return n;
}

// How many messages a poll may take that has found one: one after a poll without any, since to look for a second would
// fetch a line that the sender owns.
static inline int limit(struct gasneti_in_ring *r, int budget) {
	if (!r->streak) {
		r->streak = fast.streaks = true;
		return 1;
	}
	return budget;
}

// Reports whether no message has come at all.
static inline bool nothing(void) {
	const struct gasneti_rings *rings = fast.rings;
	for (const struct gasneti_ends *e = rings->ends, *end = e + rings->peers; e < end; e++) {
		if (ready(&e->in[GASNETI_REPLIES]) || ready(&e->in[GASNETI_REQUESTS])) {
			return false;
		}
	}
	return true;
}

static void end_streaks(void) {
	fast.streaks = false;
	for (uint32_t i = 0; i < fast.rings->peers; i++) {
		struct gasneti_in_ring *in = fast.rings->ends[i].in;
		in[GASNETI_REPLIES].streak = in[GASNETI_REQUESTS].streak = false;
	}
}

static int poll_all(enum way way, bool *left) {
	const struct gasneti_rings *rings = fast.rings;
	int n = 0;
	for (uint32_t i = 0; i < rings->peers && n < BUDGET; i++) {
		uint32_t peer = fast.first;
		if (++fast.first == rings->peers) {
			fast.first = 0;
		}
		for (int lane = GASNETI_REPLIES; lane >= GASNETI_REQUESTS; lane--) {
			struct gasneti_in_ring *r = &rings->ends[peer].in[lane];
			if (ready(r)) {
				n += take(way, peer, lane, limit(r, BUDGET - n), left);
			} else {
				r->streak = false;
			}
		}
	}
	return n;
}

// Handles what a sender has written; if some stays, the hint does too.
static int take_hinted(enum way way, uint32_t peer, int budget, bool *left) {
	uint8_t *hint = &fast.rings->hints[peer];
	__atomic_exchange_n(hint, 0, __ATOMIC_SEQ_CST);
	int n = take(way, peer, GASNETI_REPLIES, budget, left);
	n += take(way, peer, GASNETI_REQUESTS, budget, left);
	struct gasneti_in_ring *in = fast.rings->ends[peer].in;
	if (ready(&in[GASNETI_REPLIES]) || ready(&in[GASNETI_REQUESTS])) {
		__atomic_store_n(hint, 1, __ATOMIC_RELEASE);
	}
	return n;
}

// Looks only at the senders who say that they have written, eight at a time.
static int poll_hinted(enum way way, bool *left) {
	const struct gasneti_rings *rings = fast.rings;
	const uint64_t *all = (const uint64_t *)rings->hints;
	uint32_t words = (rings->peers + 7) / 8;
	int n = 0;
	for (uint32_t i = 0; i < words && n < BUDGET; i++) {
		uint32_t w = fast.first;
		if (++fast.first == words) {
			fast.first = 0;
		}
		if (__atomic_load_n(&all[w], __ATOMIC_ACQUIRE) == 0) {
			continue;
		}
		for (uint32_t peer = 8 * w; peer < 8 * w + 8 && peer < rings->peers; peer++) {
			if (__atomic_load_n(&rings->hints[peer], __ATOMIC_ACQUIRE) != 0) {
				n += take_hinted(way, peer, BUDGET - n, left);
			}
		}
	}
	if (n > 0) {
		fast.empty = 0;
	} else if (++fast.empty == rings->forced_scan) {
		fast.empty = 0;
		for (uint32_t peer = 0; peer < rings->peers; peer++) {
			n += take_hinted(way, peer, BUDGET, left);
		}
	}
	return n;
}

// Polls, with the lock if there is one, and returns how many messages were handled. *left is set if Go is to poll too.
static inline int poll_rings(enum way way, bool *left) {
	struct gasneti_state *s = fast.state;
	if (__builtin_expect((s->kicked | __atomic_load_n(&s->failed, __ATOMIC_RELAXED)) != 0, 0)) {
		*left = true;
		return 0;
	}
	__atomic_store_n(&s->polls, s->polls + 1, __ATOMIC_RELAXED);
	int n = 0;
	if (fast.rings->hinted) {
		n = poll_hinted(way, left);
	} else if (!nothing()) {
		n = poll_all(way, left);
	} else if (fast.streaks) {
		end_streaks();
	}
	return n;
}

// Polls with the lock, unless another thread polls, and reports whether it has.
static bool poll_shared(int *n, bool *left) {
	struct gasneti_words *w = fast.state->words;
	if (!try_lock(&w->polling)) {
		*left = __atomic_load_n(&fast.state->failed, __ATOMIC_RELAXED) != 0;
		return false;
	}
	*n = poll_rings(SHARED, left);
	bool sleeps = *n > 0 && note(SHARED);
	unlock(&w->polling);
	if (__builtin_expect(sleeps, 0)) {
		rouse();
	}
	return true;
}

static inline int poll_once(enum way way, bool *left) {
	int n = 0;
	if (way == SHARED) {
		poll_shared(&n, left);
	} else if ((n = poll_rings(ALONE, left)) > 0) {
		note(ALONE);
	}
	return n;
}

// Reports whether a poll would be in vain, of a program with one thread. It changes nothing but counts.
static inline bool idle(void) {
	struct gasneti_state *s = fast.state;
	if (fast.rings == NULL || fast.several || (gasneti_thread.token.live | gasneti_thread.restricted) != 0 || fast.rings->hinted ||
		fast.streaks || !nothing() || (s->kicked | __atomic_load_n(&s->failed, __ATOMIC_RELAXED)) != 0) {
		return false;
	}
	__atomic_store_n(&s->polls, s->polls + 1, __ATOMIC_RELAXED);
	gasneti_count_call();
	return true;
}

static __attribute__((noinline)) bool poll_busy(void) {
	enum way way = enter();
	if (way == NOT) {
		return false;
	}
	bool left = false;
	poll_once(way, &left);
	leave(way);
	return !left;
}

bool gasneti_fast_poll(void) { return idle() || poll_busy(); }

bool gasneti_fast_enter_alone(void) {
	enum way way = enter();
	if (way == SHARED) {
		leave(way);
	}
	return way == ALONE;
}

void gasneti_fast_leave_alone(void) { leave(ALONE); }

bool gasneti_fast_poll_alone(void) {
	bool left = false;
	poll_once(ALONE, &left);
	return left;
}

int gasneti_fast_spins(void) { return fast.spins; }

bool gasneti_fast_try(gasnet_node_t dest, const struct gasneti_message *m) {
	enum way way = gasneti_thread.token.live ? (enum way)gasneti_thread.token.fast : ALONE;
	return put_request(way, dest, m) == SENT;
}

// The number of the last event, of which whoever waits looks at its condition.
static uint32_t events(void) { return __atomic_load_n(&fast.state->words->bursts, __ATOMIC_ACQUIRE); }

bool gasneti_fast_wait(void) {
	enum way way = enter();
	if (way == NOT) {
		return false;
	}
	if (way == SHARED) {
		gasneti_thread.looked = events();
	}
	leave(way);
	return true;
}

// Waits in turns with other threads. What one of them has found may be for this one. Where others poll all the time it is
// better to wait in Go, where one sleeps.
static bool spin_shared(void) {
	bool left = false;
	for (int i = 0, tries = fast.spins < TRIES ? fast.spins : TRIES; i < fast.spins && tries > 0 && !left; i++) {
		uint32_t now = events();
		if (now != gasneti_thread.looked) {
			gasneti_thread.looked = now;
			return true;
		}
		int n = 0;
		if (!poll_shared(&n, &left)) {
			tries--;
			relax();
		}
	}
	return false;
}

bool gasneti_fast_spin(void) {
	int n = 0;
	bool left = false;
	for (int i = 0; i < fast.spins && n == 0 && !left; i++) {
		enum way way = enter();
		if (way == NOT) {
			break;
		}
		if (way == SHARED) {
			bool found = spin_shared();
			leave(way);
			return found;
		}
		n = poll_once(ALONE, &left);
		leave(ALONE);
	}
	return n > 0;
}

bool gasneti_fast_request(gasnet_node_t dest, const struct gasneti_message *m, int *result) {
	enum way way = enter();
	if (way == NOT) {
		return false;
	}
	bool left = false;
	enum outcome o = put_request(way, dest, m);
	for (int i = 0; o == FULL && !m->immediate && i < fast.spins && !left; i++) {
		poll_once(way, &left);
		o = put_request(way, dest, m);
	}
	if (o == SENT) {
		left = false;
		if (++gasneti_thread.sends >= SENDS_PER_POLL) {
			gasneti_thread.sends = 0;
			poll_once(way, &left);
		}
	}
	leave(way);
	if (o == FULL && m->immediate) {
		*result = GASNETI_NO_ROOM;
		return true;
	}
	if (o != SENT) {
		return false;
	}
	*result = left ? GASNETI_GO(aqPoll(gasneti_self())) : GASNET_OK;
	return true;
}

int gasneti_fast_reply(const struct gasneti_message *m) {
	struct gasneti_token *t = &gasneti_thread.token;
	struct place p;
	if (!t->answers || !acceptable(t->source, GASNETI_REPLIES, m, &p)) {
		return GASNET_ERR_BAD_ARG;
	}
	struct gasneti_ends *e = &fast.rings->ends[t->source];
	reserve(&e->out[GASNETI_REPLIES], m, &p); // which has room: its request was taken for that reason
	t->answers = 0;
	e->replies++;
	commit(t->source, GASNETI_REPLIES, e, m, &p);
	return GASNET_OK;
}
