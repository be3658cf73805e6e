// Dissemination barrier by UDP over the loopback interface, of any number of processes on any
// CPUs: in round k process i tells process i + 2^k.

#include "net.h"
#include <sched.h>

enum { CONTROL = 4096, ROUNDS = 8 };

// word is the datagram: this is round `round` of barrier number `count`.
struct word { uint64_t count, round; };

// disseminate has a waiter look polls times before it yields its CPU. A process is at most one barrier ahead of those it
// tells, so a socket holds no more than two words of each round.
INLINE void disseminate(struct proc *p, long n, int polls) {
	uint64_t told[ROUNDS] = {0};
	int fd = sockets[p->me];
	for (uint64_t i = 1; i <= (uint64_t)n; i++) {
		for (int k = 0, d = 1; d < p->n; k++, d *= 2) {
			struct word w = {i, k};
			deliver(fd, &w, sizeof w, &addresses[(p->me + d) % p->n]);
			for (long idle = 0; told[k] < i;) {
				if (recv(fd, &w, sizeof w, MSG_DONTWAIT) == sizeof w && w.round < ROUNDS) {
					told[w.round] = w.count;
					continue;
				}
				retry("recv", MSG_DONTWAIT, idle);
				if (++idle > polls) sched_yield();
			}
		}
	}
}

static void yield0(struct proc *p, long n) { disseminate(p, n, 0); }
static void poll20(struct proc *p, long n) { disseminate(p, n, 20); }

const struct kind udp_barrier = {
	"udp-barrier", 1, MAXPROCS, 0, 0, CONTROL, CONTROL,
	(const struct variant[]){{"yield", yield0}, {"poll20", poll20}, {0}},
	open_datagrams,
};
