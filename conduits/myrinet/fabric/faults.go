package fabric

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// Harm is what can happen to a packet on a cable.
type Harm uint8

// Harms.
const (
	Corrupted Harm = iota // a byte is changed
	Cut                   // it ends early
	Lost                  // it vanishes
)

// Fault is what is to happen to one packet.
type Fault struct {
	Harm Harm
	Byte int  // Corrupted: which byte, counted on this cable, the CRC byte the last; Cut: the first that is missing, 1 or more
	Mask byte // Corrupted: what is changed of the byte; not 0
}

// crossing names a packet on a channel.
type crossing struct {
	channel int
	packet  uint64
}

// Plan has a fault happen to the n-th packet, from 0 on and those before counted, that is sent along a link from its
// end from. It panics if the fabric has no such link or the fault makes no sense.
func (f *Fabric) Plan(from End, n uint64, fault Fault) {
	if fault.Harm == Corrupted && fault.Mask == 0 || fault.Byte < 0 || fault.Harm == Cut && fault.Byte < 1 || fault.Harm > Lost {
		panic(fmt.Sprintf("fabric: a fault that changes nothing: %+v", fault))
	}
	for _, c := range f.channels {
		if c.ends[0] == from {
			if f.planned == nil {
				f.planned = make(map[crossing]Fault)
			}
			f.planned[crossing{c.index, n}] = fault
			return
		}
	}
	panic(fmt.Sprintf("fabric: no link begins at %+v", from))
}

// damage decides what happens to a packet on a channel, which is the last of its worms.
func (f *Fabric) damage(c *channel, w *worm) {
	if f.planned != nil {
		if fault, ok := f.planned[crossing{c.index, c.stats.packets - 1}]; ok {
			f.harm(c, w, fault)
		}
	}
	e := &f.constants.Error
	if e.Lose+e.Truncate+e.Corrupt == 0 || w.len() == 0 {
		return
	}
	if f.happens(e.Lose) {
		f.harm(c, w, Fault{Harm: Lost})
	}
	if n := w.len(); f.happens(e.Truncate) && n > 1 {
		f.harm(c, w, Fault{Harm: Cut, Byte: 1 + f.chance.IntN(n-1)})
	}
	if f.happens(e.Corrupt) {
		f.harm(c, w, Fault{Harm: Corrupted, Byte: f.chance.IntN(w.len()), Mask: 1 << f.chance.IntN(8)})
	}
}

func (f *Fabric) happens(chance machine.Chance) bool {
	return chance > 0 && f.chance.Int64N(int64(machine.Certain)) < int64(chance)
}

// harm does to a packet what a fault says. A packet whose CRC is wrong is not changed a second time: an 8-bit CRC
// would miss one in 256 of those, which GM could not tell from good ones either.
func (f *Fabric) harm(c *channel, w *worm, fault Fault) {
	switch {
	case w.ghost:
	case fault.Harm == Lost:
		f.counts.Lost++
		w.ghost = true
	case fault.Harm == Cut && fault.Byte < w.len():
		f.counts.Cut++
		c.split(w, w.start+int64(fault.Byte))
	case fault.Harm == Corrupted && fault.Byte < w.len() && w.verdict == Good:
		f.counts.Corrupted++
		w.packet = w.packet.changed(fault.Byte, fault.Mask)
		w.verdict = Corrupt
	}
}

// split ends a packet before a byte that has not come to the end of the channel. The rest becomes noise.
func (c *channel) split(w *worm, at int64) {
	rest := c.f.worm(Packet{}, Truncated)
	rest.start, rest.end, rest.ghost = at, w.end, true
	rest.next, w.next = w.next, rest
	if c.final == w {
		c.final = rest
	}
	c.shorten(w, at)
}

// trim ends what is under way on a channel before a byte that its sender will not send.
func (c *channel) trim(end int64) {
	for w := c.first; w != nil; w = w.next {
		switch {
		case w.start >= end:
			w.start, w.end, w.ghost = end, end, true
		case w.end > end:
			c.shorten(w, end)
		}
	}
}

// shorten ends a packet before a byte that will not come, in this buffer and wherever it has got to.
func (c *channel) shorten(w *worm, end int64) {
	w.end, w.verdict = end, Truncated
	r := c.reader
	if w.state != passing || r == nil {
		return
	}
	r.endAt(end - r.shift)
	if g := r.follower; g != nil && g.busy && g.supply == &r.out && g.end+g.shift > r.end {
		g.endAt(max(r.end-g.shift, g.begun))
		g.replan()
	}
	r.replan()
	now := c.f.loop.Now()
	c.await(now)
	if r.to != nil {
		r.to.await(now)
	}
}

// endAt ends the packet of a pump before a byte.
func (p *pump) endAt(end int64) {
	p.end, p.cutAt = end, p.f.loop.Now()
	if p.to != nil {
		p.to.trim(end)
	}
}

// FailLink has the link that ends at e fail, in both directions: packets on it end where they are, and what is
// sent later is lost. Nobody is told. Failures add up, also with those of the switches at the ends.
func (f *Fabric) FailLink(e End) {
	f.eachChannel(e, func(c *channel) {
		c.failures++
		c.fail()
	})
}

// RepairLink ends one failure of the link that ends at e, if there was one. A packet that is being sent is lost all the
// same. What is lost because a switch has failed stays lost.
func (f *Fabric) RepairLink(e End) {
	f.eachChannel(e, func(c *channel) {
		if c.failures > 0 {
			c.failures--
			c.dead--
		}
	})
}

// FailSwitch has all links of a switch fail, and what is in its buffers vanish.
func (f *Fabric) FailSwitch(s int) {
	f.failures[s]++
	for p, c := range f.inputs[s] {
		if c != nil {
			f.eachChannel(SwitchEnd(s, p), (*channel).fail)
			f.empty(c)
		}
	}
}

// RepairSwitch ends one failure of a switch, if there was one. Links of it that have failed themselves stay so.
func (f *Fabric) RepairSwitch(s int) {
	if f.failures[s] == 0 {
		return
	}
	f.failures[s]--
	for p, c := range f.inputs[s] {
		if c != nil {
			f.eachChannel(SwitchEnd(s, p), func(c *channel) { c.dead-- })
		}
	}
}

// eachChannel calls do for both directions of the link that ends at e.
func (f *Fabric) eachChannel(e End, do func(*channel)) {
	for _, c := range f.channels {
		if c.ends[0] == e || c.ends[1] == e {
			do(c)
		}
	}
}

// fail ends what is on a channel.
func (c *channel) fail() {
	now := c.f.loop.Now()
	c.dead++
	c.settle(now)
	come := c.out.count(now - c.delay)
	for w := c.first; w != nil; w = w.next {
		switch {
		case w.ghost || w.end <= come:
		case w.start >= come:
			c.f.counts.Failed++
			w.ghost = true
		default:
			c.f.counts.Failed++
			c.split(w, come)
		}
	}
	c.await(now)
}

// empty makes noise of all packets of a buffer that no pump drains.
func (f *Fabric) empty(c *channel) {
	for w := c.first; w != nil; w = w.next {
		if w.state == passing || w.ghost {
			continue
		}
		f.counts.Failed++
		if w.state == waiting {
			f.withdraw(c, w)
		}
		w.ghost = true
	}
	c.await(f.loop.Now())
}
