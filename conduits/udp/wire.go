package udp

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// wire implements am2.Wire: it seals what the bundle sends and gathers it for the socket.
type wire struct{ c *conduit }

// Send implements am2.Wire.
func (w wire) Send(to netip.AddrPort, head, body []byte, vain int) {
	c := w.c
	p := c.receiver(to)
	if p == nil {
		return
	}
	if c.security != seal.None {
		head, body = c.protected(p.seal, head, body)
	}
	if p.far {
		c.sendFar(p, head, body, vain)
		return
	}
	c.sock.Add(&p.sockaddr, head, body, false)
}

// protected authenticates a datagram, and encrypts it if that is the mode.
func (c *conduit) protected(p *seal.Peer, head, body []byte) (h, b []byte) {
	if c.security == seal.Encrypt {
		return socket.Encrypt(&c.sealed, c.flush, p, head, body), nil
	}
	socket.Authenticate(p, head, body)
	return head, body
}

// sendFar gathers a datagram that leaves the host. One that was sent in vain may be divided by IP;
// what was so again and again is sent in pieces.
func (c *conduit) sendFar(p *peer, head, body []byte, vain int) {
	if vain >= socket.Suspicion && len(head)+len(body) > socket.PayloadOf(c.sock.V6, 0) {
		c.narrow(p)
	}
	if p.widen != 0 && len(head)+len(body) > p.mtu {
		c.tear(p, head, body)
		return
	}
	c.sock.Add(&p.sockaddr, head, body, vain > 0)
}

// Flush implements am2.Wire.
func (w wire) Flush() { w.c.flush() }

func (c *conduit) flush() {
	c.sock.Flush()
	c.sealed, c.torn = c.sealed[:0], c.torn[:0]
}

// MTU implements am2.Wire.
func (w wire) MTU(to netip.AddrPort) int {
	if p := w.c.receiver(to); p != nil {
		if p.widen != 0 {
			w.c.widened(p)
		}
		return p.mtu
	}
	return am2.MinDatagram
}

// Now implements am2.Wire.
func (w wire) Now() time.Duration { return w.c.now() }

// farewell tells all peers of this rank that its socket is closed on purpose, so that they do
// not take what the host says then for the death of the rank.
func (c *conduit) farewell() {
	for _, p := range c.known {
		if p.rank == c.rank || p.closed {
			continue
		}
		head := socket.Farewell(c.incarnation, p.incarnation)
		if c.security != seal.None {
			head, _ = c.protected(p.seal, head, nil)
		}
		c.sock.Add(&p.sockaddr, head, nil, false)
	}
	c.flush()
}
