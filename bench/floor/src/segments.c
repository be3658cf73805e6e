// One-way stream of small datagrams, many to a system call: the kernel cuts what one call
// sends into segments (GSO), and gives the receiver many at once again (GRO).

#include "net.h"
#include <netinet/udp.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	CONTROL = 4096,
	SEGMENTS = 64, // that every kernel with GSO cuts a call into
};

static void open_segments(struct proc *p) {
	if (p->size > DATAGRAM) die("a segment must be at most 61440 bytes");
	open_pair(p);
	int size = p->size, on = 1;
	if (setsockopt(sockets[0], IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size) != 0) unsupported("segmentation offload of UDP");
	if (setsockopt(sockets[1], IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0) unsupported("receive offload of UDP");
}

// pour sends n segments, up to most in a call.
INLINE void pour(struct proc *p, long n, long most) {
	long fit = DATAGRAM / p->size, batch = fit < most ? fit : most;
	struct flow f = new_flow(p, 0, batch * p->size);
	if (p->me == 0) {
		for (long left = n, now; left > 0; left -= now) {
			now = left < batch ? left : batch;
			await_room(&f);
			deliver(sockets[0], p->buf, now * p->size, NULL);
		}
		await_all(&f);
		return;
	}
	// What one call sent need not come as one.
	size_t got = 0, whole = batch * p->size, all = n * p->size;
	while (got < all) {
		size_t calls = got / whole;
		got += receive(sockets[1], p->buf, 1 << 16, MSG_DONTWAIT);
		for (; calls < got / whole; calls++) took(&f);
	}
	if (all % whole != 0) took(&f);
}

static void all64(struct proc *p, long n) { pour(p, n, SEGMENTS); }
static void half32(struct proc *p, long n) { pour(p, n, SEGMENTS / 2); }

const struct kind udp_segments = {
	"udp-segments", 2, 2, 1, 1, CONTROL, CONTROL,
	(const struct variant[]){{"64", all64}, {"32", half32}, {0}},
	open_segments,
};
