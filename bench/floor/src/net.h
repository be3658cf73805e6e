// What the floors that use the network share: sockets on the loopback interface, made before
// the processes are started, which all inherit them.

#ifndef NET_H
#define NET_H

#include "floor.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

// The socket of each process and the address it is bound to.
extern int sockets[MAXPROCS];
extern struct sockaddr_in addresses[MAXPROCS];

// DATAGRAM is the most that is sent in one datagram or one call: what a datagram holds beyond
// it would make the kernel's buffer twice as large.
enum { DATAGRAM = 60 << 10 };

// RECEIVE is how many bytes, as the kernel counts its buffers, may wait at a socket.
enum { RECEIVE = 256 << 10 };

// open_datagrams makes a UDP socket for each process; open_pair connects those of two.
void open_datagrams(struct proc *p);
void open_pair(struct proc *p);

// window returns how many datagrams of len bytes may wait at a socket: a kernel buffer is
// about the next power of two from what it holds and its headers.
INLINE uint64_t window(size_t len) {
	size_t buffer = 1024;
	while (buffer < len + 1024) buffer *= 2;
	return RECEIVE / buffer < 64 ? RECEIVE / buffer : 64;
}

// A flow counts the datagrams of one direction. The receiver publishes in shared memory how
// many it has taken, so that the sender never overruns its socket and none is lost.
struct flow {
	uint64_t count, taken, window;
	char *credit;
};

INLINE struct flow new_flow(struct proc *p, int direction, size_t len) {
	return (struct flow){.window = window(len), .credit = p->mem + direction * 1024};
}

INLINE void await_room(struct flow *f) {
	while (f->count >= f->taken + f->window) f->taken = load(f->credit);
	f->count++;
}

INLINE void await_all(struct flow *f) { await(f->credit, f->count); }

INLINE void took(struct flow *f) { publish(f->credit, ++f->count); }

// retry returns if a call with these flags that failed, the idle-th time in a row, is worth
// repeating. A floor that waits for some 10 s waits for a datagram that was lost, and ends.
INLINE void retry(const char *what, int flags, long idle) {
	enum { PATIENCE = 30 << 20 };
	if (errno == EINTR) return;
	if (errno != EAGAIN) die_errno(what);
	if (!(flags & MSG_DONTWAIT) || idle > PATIENCE) die("a datagram was lost; is the loopback interface filtered or shaped?");
}

// receive takes what has come, up to len bytes; it spins with MSG_DONTWAIT among the flags
// and sleeps without.
INLINE size_t receive(int fd, void *at, size_t len, int flags) {
	ssize_t n;
	for (long idle = 0; (n = recv(fd, at, len, flags)) < 0; idle++) retry("recv", flags, idle);
	return n;
}

// deliver sends one datagram, or what is cut into several, to the address or, if it is NULL,
// to the peer of a connected socket.
INLINE void deliver(int fd, const void *at, size_t len, const struct sockaddr_in *to) {
	while (sendto(fd, at, len, 0, (void *)to, to != NULL ? sizeof *to : 0) < 0) retry("sendto", 0, 0);
}

#endif
