package bundle

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// receiveSome makes system calls until one brings something good, or nothing; not more than a
// poll may.
func (b *Bundle) receiveSome() (got socket.Yield) {
	b.tried = 0
	for range socket.PollReceives {
		if got = b.receive(); got != socket.Fruitless {
			break
		}
	}
	return got
}

// receive takes what one system call brings. The conduit's loop of that name is alike in form only: it looks up the
// sender and the time once per call, where senders here may be several at one address, and are unknown before their
// datagrams have been checked. One loop for both would call back for each of these, and be no shorter.
func (b *Bundle) receive() socket.Yield {
	s := b.sock
	if s.Troubled {
		s.Troubled = false
		b.inquire()
	}
	if b.block == nil {
		b.block = b.am.Block()
	}
	block := b.block
	buf := block.Bytes()
	n, segment, errno := s.Receive(buf)
	switch {
	case errno == unix.EAGAIN:
		return socket.Nothing
	case errno != 0:
		b.inquire() // what became of something that was sent
		return socket.Fruitless
	}
	b.block = nil // it is kept if nothing comes
	result := socket.Fruitless
	if n == 0 {
		b.drops.Malformed++
	}
	now := b.now()
	for at := 0; at < n; at += segment {
		if b.place(now, block, buf[at:min(at+segment, n)], at) {
			result = socket.Fruitful
		}
	}
	block.Release()
	return result
}

// place hands a datagram on that lies in a block, and copies it if payloads would lie badly there.
func (b *Bundle) place(now time.Duration, block *am2.Block, datagram []byte, at int) bool {
	if at%socket.Alignment == 0 {
		return b.accept(now, block, datagram)
	}
	other := b.am.Block()
	defer other.Release()
	return b.accept(now, other, append(other.Bytes()[:0], datagram...))
}

// accept checks the datagram that was received last and hands it to am2. It reports false if
// it was dropped. What costs little is checked first: keys are derived for no stranger who does
// not know the incarnation of this bundle, be it authentic or not.
func (b *Bundle) accept(now time.Duration, block *am2.Block, datagram []byte) bool {
	last := socket.IsFarewell(datagram)
	n, ok := am2.HeadLen(datagram)
	if !ok && !last {
		b.drops.Malformed++
		return false
	}
	from := &b.sock.From
	source, dest := am2.Incarnations(datagram)
	if dest != b.incarnation {
		b.drops.Misaddressed++
		return false
	}
	p := b.lookUp(from, source)
	unknown := p == nil
	if unknown {
		if last {
			return false // who is unknown may leave
		}
		if p = b.stranger(from, source); p == nil {
			return false
		}
	}
	if last {
		n = len(datagram)
	}
	if err := socket.Unseal(b.options.Security, p.seal, datagram, n); err != nil {
		b.drops.unsealed(err)
		if unknown {
			b.ring.Forget(p.seal)
		}
		return false
	}
	if unknown {
		b.admit(p)
	}
	if last {
		b.end(now, p)
		return true
	}
	b.heard(now, p)
	b.am.Receive(now, p.site.addr, block, datagram)
	return true
}

// inquire looks at what the network has said about datagrams that were sent. That nobody receives
// at an address is believed of this host only, and only if it says so itself: from elsewhere
// anybody could say so.
func (b *Bundle) inquire() {
	for range socket.MostErrors {
		f, ok := b.sock.Failed()
		if !ok {
			return
		}
		switch at := b.sites[f.To]; {
		case at == nil:
		case f.Errno == unix.EMSGSIZE:
			b.narrowed(&f.To)
		case f.Errno == unix.ECONNREFUSED && !at.far && f.By == at.addr.Addr():
			b.am.Refused(b.now(), at.addr)
		}
	}
}
