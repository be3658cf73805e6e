// Package bundle is Active Messages II over UDP for programs that are no ranks of one job, such as a client and a
// server, and that share a key. It is a driver of package am2 beside the conduit, without core, a job or a launcher.
package bundle

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// Bundle is a socket with endpoints of Active Messages II behind it, for talk between programs:
// jobs, a client and a server, a monitor. It belongs to no job, and core knows nothing of it. Who
// may talk has the same Key; whom to talk to, programs tell each other by other means, as
// [am2.Name], which can be printed and read. An endpoint answers whoever sends to it, mapped or
// not: [am2.Message].Remote tells who that was.
//
// The methods of a Bundle, and those of its endpoints, are called by one goroutine at a time.
// Handlers run in Poll alone. They may send, map, and make and close endpoints, but neither poll,
// wait nor close the bundle.
//
// No goroutine stands in for a program that does not poll, as one does for a job's ranks: it
// would need a lock around all calls of the endpoints. So a program that computes is
// silent meanwhile. What is sent to it waits, and comes back to its senders as Unreachable when
// they have tried for Config.Unreachable. Poll every now and then, or give the bundle a goroutine
// of its own that waits.
type Bundle struct {
	options     Options
	incarnation uint32 // of all its endpoints
	began       time.Time
	sock        *socket.Socket
	am          *am2.Bundle
	ring        *seal.Ring
	numbers     map[uint16]bool // that endpoints have or had
	sites       map[socket.Addr]*site
	processes   map[processKey]*process
	known       []*process // the same, in the order in which they became known
	recent      *process   // who was looked up last
	refused     []undeliverable
	tried       int // strangers whose datagrams this poll has tried
	drops       Drops
	block       *am2.Block // what the next datagram goes to
	sealed      []byte     // mode Encrypt: what is being sent
	seen        uint64     // events when the last poll ended
	swept       time.Duration
	delivering  bool
	closed      bool
}

// NewEndpoint adds an endpoint; see [am2.Bundle.NewEndpoint] for tag, weight and handler. No two
// endpoints of a bundle may have the same number, not even after one another, since names must
// stay unique.
func (b *Bundle) NewEndpoint(number uint16, tag am2.Tag, weight int, h am2.Handler) (*am2.Endpoint, error) {
	if b.numbers[number] {
		return nil, fmt.Errorf("udp: endpoint %d: the bundle has or had one with that number; take another", number)
	}
	e, err := b.am.NewEndpoint(number, b.incarnation, tag, weight, h)
	if err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	b.numbers[number] = true
	return e, nil
}

// Name returns the name of the endpoint with a number, by which other programs map it.
func (b *Bundle) Name(number uint16) am2.Name {
	return am2.Name{Addr: b.options.Address, Number: number, Incarnation: b.incarnation}
}

// Poll receives what has come and calls the handlers for it, for budget messages at most, does
// what is due otherwise, and sends what that brings. It never waits. It returns how many messages
// were delivered or came back; a packet that came back counts as one.
func (b *Bundle) Poll(budget int) int {
	b.enter("Poll")
	b.returnRefused()
	if b.am.Backlog() == 0 {
		b.receiveSome()
	}
	n := 0
	if b.am.Backlog() > 0 {
		b.delivering = true
		n = b.am.Deliver(b.now(), budget)
		b.delivering = false
	}
	now := b.now()
	b.sweep(now)
	if b.am.Due() <= now {
		b.am.Service(now)
	}
	b.seen = b.am.Events()
	return n
}

// Wait sleeps until Poll would have something to deliver or give back, credit or memory for
// messages has come back since the last Poll, or the last packet is acknowledged, and returns
// true; or until timeout has passed, and returns false. [am2.Never] waits without end. Meanwhile
// it does what is due, but calls no handler.
func (b *Bundle) Wait(timeout time.Duration) bool {
	b.enter("Wait")
	until := am2.Never
	if now := b.now(); timeout < am2.Never-now {
		until = now + timeout
	}
	unacknowledged := b.Unacknowledged() > 0
	for {
		b.returnRefused()
		got := b.receiveSome()
		now := b.now()
		b.sweep(now)
		next := b.am.Service(now)
		switch {
		case b.am.Backlog() > 0 || b.am.Events() != b.seen, unacknowledged && b.Unacknowledged() == 0:
			return true
		case now >= until:
			return false
		case got == socket.Nothing:
			b.sleep(min(until, next, b.swept+socket.KeysKept/2) - now)
		}
	}
}

// sleep waits until the socket is readable, or a time has passed.
func (b *Bundle) sleep(d time.Duration) {
	fds := [1]unix.PollFd{{Fd: int32(b.sock.FD), Events: unix.POLLIN}}
	timeout := unix.NsecToTimespec(int64(max(d, 0)))
	_, _ = unix.Ppoll(fds[:], &timeout, nil) // interrupted or not, the caller looks again
}

// FD returns the socket, for a program that sleeps on several things: until it is readable, or
// the time Due has passed. Then Poll is to be called. It stays the bundle's.
func (b *Bundle) FD() int { return b.sock.FD }

// Due returns in which time Poll is to be called though the socket is not readable: 0 is now.
func (b *Bundle) Due() time.Duration {
	if b.am.Backlog() > 0 || len(b.refused) > 0 {
		return 0
	}
	now := b.now()
	return max(0, min(b.am.Due(), b.swept+socket.KeysKept/2)-now)
}

// Unacknowledged returns how many packets others may not have yet; see
// [am2.Bundle.Unacknowledged]. A program that has nothing more to say waits and polls until
// it is 0, and closes.
func (b *Bundle) Unacknowledged() int { return b.am.Unacknowledged() }

// Stats returns what happened behind the socket so far.
func (b *Bundle) Stats() am2.Stats { return b.am.Stats() }

// enter refuses calls that would disturb a poll under way.
func (b *Bundle) enter(call string) {
	if b.delivering {
		panic("udp: a handler called " + call + " of its bundle; only what is outside of handlers may")
	}
	if b.closed && call != "Close" {
		panic("udp: " + call + " of a bundle that is closed")
	}
}

// now is the time that am2 knows.
func (b *Bundle) now() time.Duration { return time.Since(b.began) }
