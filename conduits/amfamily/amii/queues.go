package amii

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// queues are an endpoint as its NIC knows it: what is in a frame while the endpoint is resident, and in the host's memory otherwise.
type queues struct {
	program *Program
	bundle  *am2.Bundle
	owner   *Endpoint // nil: messages for endpoints that are not there
	weight  int

	out     fifo.Queue[outgoing] // packets to be sent
	copies  fifo.Queue[fragment] // in the staging area, and not copied out of it
	staged  int                  // places of the staging area that are taken
	timer   *vtime.Timer
	serving bool // in Program.due

	taken   uint64 // fragments so far
	told    uint64 // of them, and of the bundle's events, those that the process knows of
	waiting int    // what the process could take, as far as it knows

	place   place
	pins    int        // packets of it that the firmware has in hand
	since   vtime.Time // when it was paged in
	usedAt  vtime.Time
	wanted  bool       // in driver.wanted
	leaving bool       // it is to be paged out, and takes no requests
	leaves  vtime.Time // then, when it does though something of it is under way
}

// place is where queues are.
type place uint8

const (
	absent   place = iota // in the host's memory
	moving                // on the way to the SRAM, or from there
	resident              // in a frame
)

// outgoing is a packet to be sent.
type outgoing struct {
	node  int
	bytes []byte // type and datagram
	host  []byte // its end, which is in the host's memory; the SRAM has room for it in bytes
}

// fragment is the payload of one in the staging area.
type fragment struct {
	size int
	kind am2.Kind
}

// wire is what the protocol sends by.
type wire = queues

// newQueues makes the queues of an endpoint, or with none those that answer for all that are not there.
func newQueues(p *Program, owner *Endpoint, weight int) (*queues, error) {
	q := &queues{program: p, owner: owner, weight: weight, place: resident}
	if owner != nil {
		q.place = absent
	}
	var err error
	if q.bundle, err = am2.NewBundle(p.profile.config(), q); err != nil {
		return nil, err
	}
	q.timer = p.loop.NewTimer(q, 0, 0)
	return q, nil
}

// Send implements am2.Wire: the packet waits until the firmware comes to the endpoint.
func (q *queues) Send(to netip.AddrPort, head, body []byte, _ int) {
	size := len(head) + len(body)
	n := q.program.profile.payloadOf(size, len(head))
	m := q.program.memory
	o := outgoing{node: nodeOf(to), bytes: appendFrame(m.get(size), q.program.id, head, body)}
	if n > 0 {
		sram := o.bytes[len(o.bytes)-n:]
		o.host = append(m.get(n), sram...)
		clear(sram)
	}
	q.out.Push(o)
}

// Flush implements am2.Wire.
func (q *queues) Flush() {
	if q.out.Len() > 0 {
		q.program.nic.CPU.Raise(evSend)
	}
}

// MTU implements am2.Wire: Myrinet's packets have any length.
func (q *queues) MTU(netip.AddrPort) int { return am2.BlockSize }

// Now implements am2.Wire.
func (q *queues) Now() time.Duration { return q.program.loop.Now().Duration() }

// attend has the firmware see to the protocol's timers, acknowledgements and packets when it is time: after every use of the
// bundle.
func (q *queues) attend() {
	switch due := q.bundle.Due(); {
	case q.place != resident, due == am2.Never:
		q.timer.Stop()
	case due <= q.Now():
		q.serve()
	default:
		q.timer.Reset(vtime.FromDuration(due))
	}
	q.program.driver.run()
}

// notify tells the process of what has come, if anything has.
func (q *queues) notify() {
	if q.owner == nil {
		return
	}
	n, waiting := q.bundle.Events()+q.taken, q.bundle.Backlog()
	if n != q.told || waiting > q.waiting { // more waits without an event when a reply has room again
		q.owner.come()
	}
	q.told, q.waiting = n, waiting
}

// Fire implements vtime.Target: a time of the protocol has come.
func (q *queues) Fire(_, _ uint64) { q.serve() }

// Label implements vtime.Labelled.
func (q *queues) Label(_, _ uint64) string { return "AM-II timer" }

// serve has the firmware call the protocol's Service.
func (q *queues) serve() {
	q.timer.Stop()
	if !q.serving {
		q.serving = true
		q.program.due.Push(q)
		q.program.nic.CPU.Raise(evService)
	}
}

// quiet reports whether nothing of the endpoint is under way, so that it can be paged out.
func (q *queues) quiet() bool { return q.idle() && q.bundle.Unacknowledged() == 0 }

// idle reports whether neither the NIC nor the process does anything with the endpoint now: at most packets are on their way to others,
// and acknowledgements from there.
func (q *queues) idle() bool {
	return q.pins == 0 && !q.serving && q.out.Len() == 0 && !q.owner.busy && len(q.owner.claims) == 0 && q.bundle.Due() > q.Now()
}
