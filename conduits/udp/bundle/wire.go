package bundle

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// wire implements am2.Wire for a Bundle.
type wire struct{ b *Bundle }

// Send implements am2.Wire. What was sent in vain and leaves the host may be divided by IP.
func (w wire) Send(to netip.AddrPort, head, body []byte, vain int) {
	b := w.b
	if b.closed {
		return
	}
	_, incarnation := am2.Incarnations(head)
	p := b.receiver(to, incarnation)
	if p == nil || p.over {
		b.refuse(to, incarnation)
		return
	}
	head, body = b.seal(p, head, body)
	at := p.site
	if at.current != p {
		b.awaits(p)
	}
	loose := vain > 0 && at.far
	if least := socket.PayloadOf(b.sock.V6, 0); loose && vain >= socket.Suspicion && len(head)+len(body) > least {
		at.mtu = least // from now on; what is longer already may be lost for good
	}
	b.sock.Add(&at.sockaddr, head, body, loose)
}

// seal protects a datagram. What it returns stays until the next flush.
func (b *Bundle) seal(p *process, head, body []byte) (sealedHead, sealedBody []byte) {
	switch b.options.Security {
	case seal.Auth:
		socket.Authenticate(p.seal, head, body)
	case seal.Encrypt:
		return socket.Encrypt(&b.sealed, b.flush, p.seal, head, body), nil
	}
	return head, body
}

// Flush implements am2.Wire.
func (w wire) Flush() { w.b.flush() }

func (b *Bundle) flush() {
	if !b.closed {
		b.sock.Flush()
	}
	b.sealed = b.sealed[:0]
}

// MTU implements am2.Wire.
func (w wire) MTU(to netip.AddrPort) int {
	b := w.b
	if p := b.recent; p != nil && p.site.addr == to {
		return p.site.mtu
	}
	s, ok := b.reach(to)
	if !ok {
		return am2.MinDatagram
	}
	if at := b.sites[s]; at != nil {
		return at.mtu
	}
	return socket.PathMTU(b.sock.Local.Addr(), to)
}

// Now implements am2.Wire.
func (w wire) Now() time.Duration { return w.b.now() }

// farewell tells all processes that are known that this one closes.
func (b *Bundle) farewell() {
	for _, p := range b.known {
		if p.over {
			continue
		}
		head := socket.Farewell(b.incarnation, p.incarnation)
		head, _ = b.seal(p, head, nil)
		b.sock.Add(&p.site.sockaddr, head, nil, false)
	}
	b.flush()
}
