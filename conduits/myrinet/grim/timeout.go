package grim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// ErrUnreachable says that a host has not answered, and has been given up: see Host.OnUnreachable.
var ErrUnreachable = errors.New("grim: the host does not answer")

// mostNumbered is how many messages of a flow may be under way with time-outs. They are less than half of the sequence numbers, so that
// the receiving NI can tell a message that it has accepted before from one that comes too early.
const mostNumbered = 127

// before tells whether a sequence number comes before another; they are less than half of all numbers apart.
func before(a, b uint8) bool { return int8(a-b) < 0 }

// timeOuts is what an NI keeps for networks that lose packets: Image.TimeOuts. GRIM's extension: data and control messages are sent
// again. A message is sent again, and all behind it to the same destination, when its answer does not come; the receiving NI answers a
// message that it has accepted before once more. What is damaged or cut short is equal to what is lost.
//
// An answer tells that active messages before it in its flow have been accepted, too. Of remote memory each operation has an answer of its own, as
// it is carried out after it has been accepted. A read that is asked for again is carried out again: only reads follow a read in its
// flow until it is answered.
type timeOuts struct {
	program *Program
	timer   *vtime.Timer // one for all: the scoreboard says what is late when it rings
	chance  *rand.Rand
	tracks  sparse.Table[track]      // by flow
	peers   sparse.Table[standing]   // by host
	heard   sparse.Table[vtime.Time] // by host: when it has answered last
	decided fifo.Queue[int]          // peers of which the host has said to go on
	leaving *message                 // the send DMA is at work on it
	silent  func(host int) (again bool)

	denied map[denial]bool // messages that were answered by DENY
}

// denial names a message of an incoming flow.
type denial struct {
	flow     *inflow
	sequence uint8
}

// track is what time-outs need of an outgoing flow besides.
type track struct {
	base  uint8 // the number of the oldest message that is not answered
	tries uint8 // time-outs since the last progress
	reads uint8 // reads that are not answered
}

// trackSize is what a track takes of the SRAM, and of the incoming flow, in bytes.
const trackSize = 4

// standing is what an NI knows of another one.
type standing uint8

const (
	answers standing = iota
	silent           // the host has been told, and has not said whether to go on
	resumed          // it wants to
	gone             // it does not: the peer is given up
)

func newTimeOuts(p *Program) *timeOuts {
	t := &timeOuts{
		program: p, denied: map[denial]bool{},
		chance: p.loop.Rand(fmt.Sprint("myrinet/grim: time-outs of host ", p.id)),
	}
	t.tracks.Init(p.flowCount())
	t.peers.Init(p.nodes)
	t.heard.Init(p.nodes)
	t.timer = p.loop.NewTimer(t, 0, lateTimer)
	return t
}

// OnUnreachable has f called, as an event of the loop, for a host that has not acknowledged a message for grim.tries time-outs.
// If f returns true the NI goes on: f may have set another route. If it returns false, or if there is no f, the host is given up for
// good: messages to it are dropped and counted (Abandoned), and Send fails with ErrUnreachable. It is never called without Image.TimeOuts.
func (h *Host) OnUnreachable(f func(host int) (again bool)) {
	if t := h.program.timeOuts; t != nil {
		t.silent = f
	}
}

// Heard returns when a host has answered a message last; 0: never, or the image has no time-outs.
func (h *Host) Heard(host int) vtime.Time {
	if t := h.program.timeOuts; t != nil {
		return *t.heard.At(host)
	}
	return 0
}

// gone tells whether a host has been given up.
func (t *timeOuts) gone(host int) bool { return t != nil && *t.peers.At(host) == gone }

// leaves takes note of the message that the send DMA begins with. Its time begins when it has left: until then the network holds it up.
func (t *timeOuts) leaves(m *message) { t.leaving = m }

// left takes note that it has left.
func (t *timeOuts) left() {
	m := t.leaving
	if t.leaving = nil; m == nil || m.state != sent {
		return
	}
	g := &t.program.profile.GRIM
	wait := g.Resend << min(int(m.track.tries), g.Growth) // RFC 6298, rule 5.5; an answer has it begin anew
	m.late = t.program.loop.Now() + wait
	if m.track.tries > 0 { // NIs whose packets have met must not send them again at equal times for ever
		m.late += vtime.Time(t.chance.Int64N(int64(wait)))
	}
	t.watch(m.late)
}

// watch has the timer ring at a time, or before.
func (t *timeOuts) watch(at vtime.Time) {
	if due, set := t.timer.Set(); !set || at < due {
		t.timer.Reset(at)
	}
}

// The events of time-outs, by their second word.
const (
	lateTimer  uint64 = iota
	hostTold          // the host hears of a silent peer
	peerResume        // it has said to go on
	peerGiveUp        // or not to
)

var lateEvents = [...]string{"time-out", "silent peer", "peer goes on", "peer given up"}

// Label implements vtime.Labelled.
func (t *timeOuts) Label(_, what uint64) string { return "GRIM: " + lateEvents[what] }

// Fire implements vtime.Target.
func (t *timeOuts) Fire(peer, what uint64) {
	p := t.program
	switch what {
	case hostTold:
		answer := peerGiveUp
		if t.silent != nil && t.silent(int(peer)) {
			answer = peerResume
		}
		p.nic.HostWrite(word, t, peer, answer)
		return
	case peerResume:
		*t.peers.At(int(peer)) = resumed
		t.decided.Push(int(peer))
	case peerGiveUp:
		*t.peers.At(int(peer)) = gone
	}
	p.nic.CPU.Raise(evLate)
}

// resendLate has all flows sent again from their oldest message on whose time is over, and drops messages to hosts that are given up.
func (p *Program) resendLate() {
	t, now := p.timeOuts, p.loop.Now()
	n := 0
	for _, m := range p.scoreboard[:] {
		if m == nil || !m.open() {
			continue
		}
		node := p.node(m.to)
		standing := t.peers.At(node)
		switch {
		case *standing == gone:
			p.abandon(p.owner(m), m)
		case m.state != sent || m == t.leaving || m.bytes[sequenceByte] != m.track.base || *standing == silent:
		case *standing == answers && now < m.late:
			t.watch(m.late)
		case *standing == answers && int(m.track.tries) == p.profile.GRIM.Tries:
			*standing = silent
			p.loop.At(now+p.profile.Host.Visible, t, uint64(node), hostTold)
		default:
			if *standing == resumed {
				m.track.tries = 0
			}
			m.track.tries++
			p.counts.TimeOuts++
			n += p.rollback(m)
		}
	}
	for t.decided.Len() > 0 {
		node, _ := t.decided.Pop()
		*t.peers.At(node) = answers
	}
	p.nic.CPU.Raise(evScan)
	p.spend(n*p.profile.Steps.Rollback, p.step.rolled)
}

// abandon drops a message to a host that is given up.
func (p *Program) abandon(c *channel, m *message) {
	p.counts.Abandoned++
	if m.operation != nil {
		p.loop.At(p.loop.Now(), m.operation, opLost, 0)
	}
	c.acknowledge(m)
}

// open tells whether a message has a number and no answer.
func (m *message) open() bool { return m.named && m.state != acknowledged && !m.answered }

// settle takes note that a message has been answered, or refused while it stays open: those before it have been accepted.
func (p *Program) settle(m *message) {
	if p.timeOuts == nil {
		return
	}
	f, t := m.flow, m.track
	t.tries = 0
	*p.timeOuts.heard.At(p.node(m.to)) = p.loop.Now()
	if !m.open() && typeIn(m.bytes) == RMRV {
		t.reads--
	}
	if n := m.bytes[sequenceByte] - t.base; n > 0 {
		for _, o := range p.scoreboard[:] {
			if o != nil && o.flow == f && o.open() && typeIn(o.bytes).active() && o.bytes[sequenceByte]-t.base < n {
				p.owner(o).acknowledge(o)
			}
		}
	}
	t.base = p.opened(f, t.base)
	f.next = p.opened(f, f.next) // what was to be sent again may have arrived after all
}

// opened returns the first number from one on that an open message of a flow has, or that the next message will have.
func (p *Program) opened(f *flow, from uint8) uint8 {
	first := f.fresh
	for _, o := range p.scoreboard[:] {
		if o != nil && o.flow == f && o.open() && o.bytes[sequenceByte]-from < first-from {
			first = o.bytes[sequenceByte]
		}
	}
	return first
}

// active tells whether a message is done with when it has been accepted.
func (t Type) active() bool { return t == AM || t == Multicast }

// numbered takes note that a message has got its number, or is sent again by it, and that the next of its flow is due.
func (t *timeOuts) numbered(m *message, fresh bool) {
	if f := m.flow; !fresh {
		f.next = t.program.opened(f, f.next)
	} else if typeIn(m.bytes) == RMRV {
		m.track.reads++
	}
}

// repeated answers a message that has been accepted before: unless its answer is still to come, or finds no room.
func (p *Program) repeated(in *inflow, local int) {
	h := &p.header
	p.counts.Duplicate++
	switch {
	case in.pending > 0 || p.answers() >= p.capacity: // it will come again
		p.release()
		return
	case p.timeOuts.denied[denial{in, h.Sequence}]:
		p.answer.message.Type = DENY
	case h.Type == RMRV:
		p.acceptRM(in, local)
		return
	}
	p.spend(p.profile.Steps.Control, p.step.refuse)
}

// admitted counts the expected message of a flow as accepted.
func (p *Program) admitted(in *inflow) {
	if p.timeOuts != nil && len(p.timeOuts.denied) > 0 {
		delete(p.timeOuts.denied, denial{in, in.expected}) // one that had the number before
	}
	in.expected++
	in.nacked = false
}
