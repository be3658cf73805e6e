package udp

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// serveReceives is how many system calls the service makes for a rank before it looks at others.
const serveReceives = 64

// Poll implements core.Conduit. What came back without a message counts as one, since it is
// room that somebody may wait for.
func (c *conduit) Poll(budget int) int {
	c.mu.Enter() // not deferred: a handler that panics leaves it unlocked
	b := c.bundle
	got := socket.Nothing
	if b.Backlog() == 0 {
		for range socket.PollReceives {
			if got = c.receive(); got != socket.Fruitless {
				break
			}
		}
	}
	n := 0
	if b.Backlog() > 0 {
		if got != socket.Fruitful {
			c.last = c.now()
		}
		n = b.Deliver(c.last, budget)
	} else if c.empty++; c.empty%emptyPolls == 0 {
		c.last = c.now()
	}
	if due := b.Due(); due <= c.last {
		b.Service(c.now())
	}
	if e := b.Events(); e != c.seen {
		c.seen, n = e, max(n, 1)
	}
	c.attend()
	c.mu.Leave()
	return n
}

// emptyPolls is after how many polls that bring nothing one reads the clock, to see whether
// something is due. Reading it takes a tenth of such a poll; all together take some
// microseconds.
const emptyPolls = 16

// receive takes what one system call brings.
func (c *conduit) receive() socket.Yield {
	s := c.sock
	if s.Troubled {
		s.Troubled = false
		c.inquire()
	}
	block := c.incoming()
	buf := block.Bytes()
	n, segment, errno := s.Receive(buf)
	if errno != 0 {
		if errno == unix.EAGAIN {
			return socket.Nothing
		}
		c.inquire() // what became of something that was sent
		return socket.Fruitless
	}
	c.block = nil
	result := socket.Fruitless
	p := c.sender(&s.From)
	if p == nil {
		c.counts.strangers += uint64(max(1, (n+segment-1)/max(segment, 1)))
	} else if n > 0 {
		c.last = c.now()
		for at := 0; at < n; at += segment {
			datagram := buf[at:min(at+segment, n)]
			if at%socket.Alignment == 0 && c.accept(c.last, p, block, datagram) || at%socket.Alignment != 0 && c.acceptCopy(p, datagram) {
				result = socket.Fruitful
			}
		}
	}
	block.Release()
	return result
}

// acceptCopy is accept for a datagram that the kernel has joined to another at a place where
// payloads would lie badly.
func (c *conduit) acceptCopy(p *peer, datagram []byte) bool {
	block := c.bundle.Block()
	defer block.Release()
	return c.accept(c.last, p, block, append(block.Bytes()[:0], datagram...))
}

// incoming returns a block to receive into. It is kept if nothing comes.
func (c *conduit) incoming() *am2.Block {
	if c.block == nil {
		c.block = c.bundle.Block()
	}
	return c.block
}

// accept checks a datagram from a peer's address and hands it to the bundle. It reports false
// if it was dropped.
func (c *conduit) accept(now time.Duration, p *peer, block *am2.Block, datagram []byte) bool {
	head, ok := am2.HeadLen(datagram)
	if !ok {
		return c.acceptOwn(now, p, datagram)
	}
	if !c.between(p, datagram) {
		return false
	}
	if c.security != seal.None && !c.unseal(p, datagram, head) {
		return false
	}
	c.bundle.Receive(now, p.addr, block, datagram)
	return true
}

// acceptOwn is accept for what may be a datagram of this package.
func (c *conduit) acceptOwn(now time.Duration, p *peer, datagram []byte) bool {
	switch {
	case isPiece(datagram):
		return c.assemble(now, p, datagram)
	case isGreeting(datagram):
		return c.greeted(p, datagram)
	case !socket.IsFarewell(datagram):
		c.counts.malformed++
		return false
	case !c.between(p, datagram):
		return false
	case c.security != seal.None && !c.unseal(p, datagram, len(datagram)):
		return false
	}
	p.closed = true
	c.bundle.Refused(now, p.addr)
	return true
}

// between reports whether a datagram is for the endpoint of this rank and from that of a peer. So
// nothing of an earlier job gets further, and without security no garbage.
func (c *conduit) between(p *peer, datagram []byte) bool {
	source, dest := am2.Incarnations(datagram)
	if source != p.incarnation || dest != c.incarnation {
		c.counts.misaddressed++
		return false
	}
	return true
}

// unseal reports whether a datagram, whose head is so long, is authentic, and makes it readable.
func (c *conduit) unseal(p *peer, datagram []byte, head int) bool {
	err := socket.Unseal(c.security, p.seal, datagram, head)
	if err != nil {
		c.counts.unsealed(err)
	}
	return err == nil
}
