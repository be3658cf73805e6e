package udp

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
)

// lossDelay is how long a rank waits, when it has learnt from its own host that a peer's
// socket is closed, before it ends the job: whoever started the peer knows more, such as its
// exit status, and says so in this time.
const lossDelay = 250 * time.Millisecond

// inquire looks at what the network has said about datagrams that were sent.
func (c *conduit) inquire() {
	for range socket.MostErrors {
		f, ok := c.sock.Failed()
		if !ok {
			return
		}
		switch f.Errno {
		case unix.EMSGSIZE:
			c.narrowed(&f.To)
		case unix.ECONNREFUSED:
			c.refused(&f.To, f.By)
		}
	}
}

// refused notes that nobody receives at an address, as somebody has said. It is believed of this
// host only, and only if it says so itself: by its own address, which the kernel takes from no
// other host. From elsewhere anybody could say so.
func (c *conduit) refused(to *socket.Addr, by netip.Addr) {
	e := c.byAddr[*to]
	if e == nil || !e.local || by != to.AddrPort().Addr() || e.peer == nil || e.peer.closed || c.dead != nil {
		return
	}
	c.dead, c.deadAt, c.deadPolls = e.peer, c.now()+lossDelay, c.polls
}

// buried returns why the job has to end, if a peer's process is gone and nobody has said so. It
// says nothing as long as the program neither sleeps nor has polled since: it does not wait for
// that peer then. It may be in the bootstrap's last barrier, which others have passed and closed
// their sockets; that they said so may have been lost.
func (c *conduit) buried(now time.Duration) error {
	switch {
	case c.dead == nil:
		return nil
	case c.dead.closed:
		c.dead = nil
		return nil
	case now < c.deadAt, !c.asleep && c.polls == c.deadPolls:
		return nil
	}
	p := c.dead
	c.dead = nil
	return &core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("udp: rank %d (%v) is gone: its host says that nobody receives there; has its process died?", p.rank, p.addr)}
}
