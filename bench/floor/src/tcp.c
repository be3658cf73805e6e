// Messages between two processes by one TCP connection over the loopback interface.

#include "net.h"
#include <netinet/tcp.h>
#include <unistd.h>

enum { CONTROL = 4096 };

static void open_connection(struct proc *p) {
	(void)p;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockets[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || sockets[0] < 0 || bind(listener, (void *)&a, length) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (void *)&a, &length) != 0 || connect(sockets[0], (void *)&a, length) != 0 ||
	    (sockets[1] = accept(listener, NULL, NULL)) < 0)
		die_errno("TCP connection");
	close(listener);
	int on = 1;
	for (int i = 0; i < 2; i++)
		if (setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) die_errno("TCP_NODELAY");
}

INLINE void put(struct proc *p, size_t size, int flags) {
	for (size_t at = 0; at < size;) {
		ssize_t n;
		for (long idle = 0; (n = send(sockets[p->me], p->buf + at, size - at, flags)) < 0; idle++) retry("send", flags, idle);
		at += n;
	}
}

// take receives some of at most len bytes.
INLINE size_t take(struct proc *p, size_t at, size_t len, int flags) {
	size_t n = receive(sockets[p->me], p->buf + at, len, flags);
	if (n == 0) die("the other process closed the connection");
	return n;
}

INLINE void get(struct proc *p, size_t size, int flags) {
	for (size_t at = 0; at < size;) at += take(p, at, size - at, flags);
}

// trip bounces n messages of size bytes, answered by as many of back bytes.
static void trip(struct proc *p, long n) {
	for (long i = 0; i < n; i++) {
		if (p->me == 0) put(p, p->size, MSG_DONTWAIT);
		get(p, p->me == 0 ? p->back : p->size, MSG_DONTWAIT);
		if (p->me == 1) put(p, p->back, MSG_DONTWAIT);
	}
}

const struct kind tcp_trip = {
	"tcp-trip", 2, 2, 1, 2, CONTROL, CONTROL,
	(const struct variant[]){{"spin", trip}, {0}}, open_connection,
};

// stream sends n messages one way, a call for each. The receiver takes as much as there is:
// several small messages at once, and large ones to their places.
INLINE void stream(struct proc *p, long n, int flags) {
	if (p->me == 0) {
		for (long i = 0; i < n; i++) put(p, p->size, flags);
		await(p->mem, 1);
		return;
	}
	size_t span = p->size < 1 << 16 ? 1 << 16 : p->size;
	for (size_t got = 0, all = n * p->size; got < all;) {
		size_t at = got % span, len = span - at;
		got += take(p, at, len < all - got ? len : all - got, flags);
	}
	publish(p->mem, 1);
}

static void spin(struct proc *p, long n) { stream(p, n, MSG_DONTWAIT); }
static void block(struct proc *p, long n) { stream(p, n, 0); }

const struct kind tcp_stream = {
	"tcp-stream", 2, 2, 1, 1, CONTROL, CONTROL,
	(const struct variant[]){{"spin", spin}, {"block", block}, {0}}, open_connection,
};
