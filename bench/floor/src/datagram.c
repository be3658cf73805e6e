// Messages between two processes by UDP over the loopback interface, each in as few datagrams
// as it takes.

#include "net.h"

enum { CONTROL = 4096, CONNECTED = 0, ADDRESSED = 1 };

INLINE size_t first_of(size_t size) { return size < DATAGRAM ? size : DATAGRAM; }

// put sends a message. Addressed, the kernel looks the way up for every datagram, as it must
// for a socket with several peers.
INLINE void put(struct proc *p, struct flow *f, size_t size, int addressed) {
	for (size_t at = 0, len; at < size; at += len) {
		len = first_of(size - at);
		await_room(f);
		deliver(sockets[p->me], p->buf + at, len, addressed ? &addresses[!p->me] : NULL);
	}
}

// get takes a message.
INLINE void get(struct proc *p, struct flow *f, size_t size, int flags) {
	for (size_t at = 0; at < size; took(f)) at += receive(sockets[p->me], p->buf + at, size - at, flags);
}

// trip bounces n messages of size bytes, answered by as many of back bytes.
INLINE void trip(struct proc *p, long n, int addressed, int flags) {
	struct flow there = new_flow(p, 0, first_of(p->size)), back = new_flow(p, 1, first_of(p->back));
	for (long i = 0; i < n; i++) {
		if (p->me == 0) {
			put(p, &there, p->size, addressed);
			get(p, &back, p->back, flags);
		} else {
			get(p, &there, p->size, flags);
			put(p, &back, p->back, addressed);
		}
	}
}

static void trip_connected(struct proc *p, long n) { trip(p, n, CONNECTED, MSG_DONTWAIT); }
static void trip_addressed(struct proc *p, long n) { trip(p, n, ADDRESSED, MSG_DONTWAIT); }

const struct kind udp_trip = {
	"udp-trip", 2, 2, 1, 2, CONTROL, CONTROL,
	(const struct variant[]){{"connected", trip_connected}, {"addressed", trip_addressed}, {0}},
	open_pair,
};

// The sockets are connected to nobody, as one that serves several peers is.
const struct kind udp_shared = {
	"udp-shared", 2, 2, 1, 2, CONTROL, CONTROL,
	(const struct variant[]){{"addressed", trip_addressed}, {0}},
	open_datagrams,
};

static void sleep_connected(struct proc *p, long n) { trip(p, n, CONNECTED, 0); }
static void sleep_addressed(struct proc *p, long n) { trip(p, n, ADDRESSED, 0); }

const struct kind udp_sleep = {
	"udp-sleep", 2, 2, 1, 2, CONTROL, CONTROL,
	(const struct variant[]){{"connected", sleep_connected}, {"addressed", sleep_addressed}, {0}},
	open_pair,
};

// stream sends n messages one way. It ends when process 1 has taken all.
INLINE void stream(struct proc *p, long n, int addressed) {
	struct flow f = new_flow(p, 0, first_of(p->size));
	for (long i = 0; i < n; i++) {
		if (p->me == 0) put(p, &f, p->size, addressed);
		else get(p, &f, p->size, MSG_DONTWAIT);
	}
	if (p->me == 0) await_all(&f);
}

static void stream_connected(struct proc *p, long n) { stream(p, n, CONNECTED); }
static void stream_addressed(struct proc *p, long n) { stream(p, n, ADDRESSED); }

const struct kind udp_stream = {
	"udp-stream", 2, 2, 1, 1, CONTROL, CONTROL,
	(const struct variant[]){{"connected", stream_connected}, {"addressed", stream_addressed}, {0}},
	open_pair,
};
