package grim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// ErrUnreachable says that a host has not answered, and has been given up: see Host.OnUnreachable.
var ErrUnreachable = errors.New("grim: the host does not answer")

// window is how many messages of a flow may be under way with time-outs. They are less than half of the sequence numbers, so that the
// receiving NI can tell a message that it has accepted before from one that comes too early.
const window = 127

// before tells whether a sequence number comes before another; they are less than half of all numbers apart.
func before(a, b uint8) bool { return int8(a-b) < 0 }

// timeOuts is what an NI keeps for networks that lose packets: Image.TimeOuts. GRIM's extension: "data and control messages are sent
// again". A message is sent again, and all behind it to the same destination, when its ACK does not come; the receiving NI answers a
// message that it has accepted before by another ACK. What is lost, damaged or cut short is equal to that.
type timeOuts struct {
	program *Program
	timer   *vtime.Timer // one for all: the scoreboard says what is late when it rings
	chance  *rand.Rand
	tracks  []track    // by flow
	peers   []standing // by host
	decided bool       // the host has said of a peer whether to go on
	leaving *message   // the send DMA is at work on it
	silent  func(host int) (again bool)
}

// track is what time-outs need of an outgoing flow besides.
type track struct {
	base  uint8 // the number of the oldest message that is not acknowledged
	tries uint8 // time-outs since the last progress
}

// trackSize is what a track takes of the SRAM, in bytes.
const trackSize = 2

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
		program: p, tracks: make([]track, p.flowCount()), peers: make([]standing, p.nodes),
		chance: p.loop.Rand(fmt.Sprint("myrinet/grim: time-outs of host ", p.id)),
	}
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

// gone tells whether a host has been given up.
func (t *timeOuts) gone(host int) bool { return t != nil && t.peers[host] == gone }

// leaves takes note of the message that the send DMA begins with. Its time begins when it has left: until then the network holds it up.
func (t *timeOuts) leaves(m *message) { t.leaving = m }

// left takes note that it has left.
func (t *timeOuts) left() {
	m := t.leaving
	if t.leaving = nil; m == nil || m.state != sent {
		return
	}
	resend := t.program.profile.GRIM.Resend
	m.at = t.program.loop.Now()
	if m.track.tries > 0 { // NIs whose packets have met must not send them again at equal times for ever
		m.at += vtime.Time(t.chance.Int64N(int64(resend)))
	}
	t.watch(m.at + resend)
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
		t.peers[peer], t.decided = resumed, true
	case peerGiveUp:
		t.peers[peer] = gone
	}
	p.nic.CPU.Raise(evLate)
}

// resendLate has all flows sent again from their oldest message on whose time is over, and drops messages to hosts that are given up.
func (p *Program) resendLate() {
	t, now, resend := p.timeOuts, p.loop.Now(), p.profile.GRIM.Resend
	n := 0
	for _, m := range p.scoreboard[:] {
		if m == nil || m.state == acknowledged {
			continue
		}
		node := p.node(m.to)
		switch standing := t.peers[node]; {
		case standing == gone:
			p.abandon(p.channelOf(m), m)
		case m.state != sent || m == t.leaving || m.bytes[sequenceByte] != m.track.base || standing == silent:
		case standing == answers && now < m.at+resend:
			t.watch(m.at + resend)
		case standing == answers && int(m.track.tries) == p.profile.GRIM.Tries:
			t.peers[node] = silent
			p.loop.At(now+p.profile.Host.Visible, t, uint64(node), hostTold)
		default:
			if standing == resumed {
				m.track.tries = 0
			}
			m.track.tries++
			p.counts.TimeOuts++
			n += p.rollback(m)
		}
	}
	if t.decided {
		t.decided = false
		for i, s := range t.peers {
			if s == resumed {
				t.peers[i] = answers
			}
		}
	}
	p.nic.CPU.Raise(evScan)
	p.spend(n*p.profile.Steps.Rollback, p.step.rolled)
}

// abandon drops a message to a host that is given up.
func (p *Program) abandon(c *channel, m *message) {
	p.counts.Abandoned++
	c.acknowledge(m)
}

// acceptedBefore marks the messages of a flow before a sequence number as acknowledged: the receiving NI has told of m, which is of
// that flow, and accepts none before those that come first.
func (p *Program) acceptedBefore(m *message, sequence uint8) {
	t := m.track
	n := sequence - t.base
	if n == 1 && m.bytes[sequenceByte] == t.base {
		p.channelOf(m).acknowledge(m)
	} else if n > 0 {
		for _, o := range p.scoreboard[:] {
			if o != nil && o.flow == m.flow && o.state != acknowledged && o.bytes[sequenceByte]-t.base < n {
				p.channelOf(o).acknowledge(o)
			}
		}
	}
	t.base, t.tries = sequence, 0
	if before(m.flow.next, sequence) { // what was to be sent again has arrived after all
		m.flow.next = sequence
	}
}
