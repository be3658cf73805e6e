// Sockets on the loopback interface.

#include "net.h"
#include <sys/time.h>

int sockets[MAXPROCS];
struct sockaddr_in addresses[MAXPROCS];

void open_datagrams(struct proc *p) {
	for (int i = 0; i < p->n; i++) {
		struct sockaddr_in *a = &addresses[i];
		*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t length = sizeof *a;
		sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (sockets[i] < 0 || bind(sockets[i], (void *)a, length) != 0 || getsockname(sockets[i], (void *)a, &length) != 0)
			die_errno("UDP socket");
		// The kernel doubles what it is told, and may count a quarter that has been taken already.
		int room = RECEIVE;
		length = sizeof room;
		if (setsockopt(sockets[i], SOL_SOCKET, SO_RCVBUF, &room, length) != 0 ||
		    getsockopt(sockets[i], SOL_SOCKET, SO_RCVBUF, &room, &length) != 0)
			die_errno("receive buffer");
		if (room * 3L / 4 < RECEIVE) die("receive buffers are too small; set net.core.rmem_max to at least 212992");
		// No receiver that sleeps waits for ever for a datagram that was lost.
		struct timeval patience = {.tv_sec = 10};
		if (setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) die_errno("receive timeout");
	}
}

void open_pair(struct proc *p) {
	open_datagrams(p);
	for (int i = 0; i < 2; i++)
		if (connect(sockets[i], (void *)&addresses[!i], sizeof addresses[!i]) != 0) die_errno("connect");
}
