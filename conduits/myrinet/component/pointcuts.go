package component

// Point is a point-cut: where protocols act in the baseline's algorithm. At each the composition calls those of its protocols
// that act there, in the order in which [Protocol] lists them.
type Point uint8

// The point-cuts, in the order in which a message comes to them.
const (
	Handed    Point = iota // host: a message's turn has come, and it is going to be cut into frames
	Addressed              // NIC: a frame is in the Send Ring, and is queued for those whom it is for
	Ready                  // NIC: may the next frame to a node leave?
	Leaving                // NIC: a frame's header is made
	Arrived                // NIC: a frame has come whole, and is taken or refused
	Placed                 // NIC: where in the host's memory a frame belongs
	Taken                  // host: a frame is in the host's memory, and is copied or lent
	Released               // host: the program needs a message no more
)

var pointNames = [...]string{"Handed", "Addressed", "Ready", "Leaving", "Arrived", "Placed", "Taken", "Released"}

// String returns the name of the point-cut.
func (p Point) String() string { return pointNames[p] }

// note reports a call of a protocol, or with 0 that a point-cut begins, with Traced.
func note[S any](c *Component[S], at Point, p Protocol) {
	if has[S](Traced) {
		c.report(at, p)
	}
}

func (c *Baseline) report(at Point, p Protocol) {
	if c.tracer != nil {
		c.tracer(at, p)
	}
}

// What acts at the point-cuts that a composition does without if it has none of these. Ready has the baseline's own question besides
// ([Component.mayLeave]).
const (
	atHanded    = MTU | Adaptive | Rendezvous | Traced
	atAddressed = Multicast | Traced
	atReady     = Active | Reliability | Credits | Traced
	atLeaving   = Active | Reliability | Credits | Traced
	atArrived   = Active | Reliability | Credits | Traced
)

// Trace has f called at the beginning of each point-cut, with no protocol, and before each call of a protocol there. It is for
// compositions with Traced; in others nothing is reported.
func (c *Baseline) Trace(f func(Point, Protocol)) { c.tracer = f }

// handed is the point-cut Handed.
func (c *Component[S]) handed(m *message, to *address) {
	note(c, Handed, 0)
	if has[S](MTU) {
		note(c, Handed, MTU)
		c.cut(m)
	}
	if has[S](Adaptive) {
		note(c, Handed, Adaptive)
		c.weigh(m, to)
	}
	if has[S](Rendezvous) {
		note(c, Handed, Rendezvous)
		c.request(m, to, has[S](Adaptive))
	}
}

// addressed is the point-cut Addressed. It returns the instructions that are still due before the frame is queued.
func (c *Component[S]) addressed(s *txSlot) (steps int) {
	note(c, Addressed, 0)
	if has[S](Multicast) {
		note(c, Addressed, Multicast)
		return c.membersOf(s) * c.profile.Protocol.Multicast
	}
	return 0
}

// ready is the point-cut Ready.
func (c *Component[S]) ready(p *peer) bool {
	note(c, Ready, 0)
	if has[S](Active) {
		note(c, Ready, Active)
		if !p.mayChange() {
			return false
		}
	}
	if has[S](Reliability) {
		note(c, Ready, Reliability)
		if p.again() {
			return true
		}
		if acts[S](p, Reliability) && p.full(c.traits.Window) {
			return false
		}
	}
	f := first[S](p)
	if f == nil {
		return false
	}
	if has[S](Credits) {
		note(c, Ready, Credits)
		return !staged(f) || p.credit(c.share)
	}
	return true
}

// leaving is the point-cut Leaving. It tells whether the frame is kept when it has left.
func (c *Component[S]) leaving(p *peer, f *outgoing, again bool) (kept bool) {
	note(c, Leaving, 0)
	h := &f.header
	if has[S](Active) {
		note(c, Leaving, Active)
		h.Flags = c.flags(p, h)
	}
	if has[S](Reliability) {
		note(c, Leaving, Reliability)
		if acts[S](p, Reliability) {
			kept = true
			c.number(p, f, again)
		}
	}
	if has[S](Credits) {
		note(c, Leaving, Credits)
		p.take(f, again)
	}
	return kept
}

// arrived is the point-cut Arrived. It tells whether the frame is taken.
func (c *Component[S]) arrived(p *peer, h *Header) bool {
	note(c, Arrived, 0)
	if has[S](Active) {
		note(c, Arrived, Active)
		if has[S](Credits) && h.Flags&Credits == 0 {
			c.counts.Malformed++ // frames of the staging buffer have an owner each
			return false
		}
	}
	if inFrame[S](Reliability, h.Flags) {
		note(c, Arrived, Reliability)
		if !c.sequence(p, h) {
			return false
		}
	}
	if has[S](Credits) {
		note(c, Arrived, Credits)
		if p.returned(h.Freed) {
			c.offer(p)
		}
	}
	return true
}

// where is the point-cut Placed: the memory for a frame, and its entry. The baseline takes the next place of the staging
// buffer, whoever needs what is there.
func (c *Component[S]) where(p *peer, h *Header, b *rxSlot, payload []byte) (s store, ok bool) {
	if has[S](Traced) {
		c.report(Placed, 0)
	}
	place := -1
	if has[S](Credits) {
		note(c, Placed, Credits)
		if h.Buffer == 0 {
			if place = c.own(p); place < 0 {
				c.counts.NoCredit++
				return s, false
			}
		}
	}
	if has[S](Rendezvous) {
		note(c, Placed, Rendezvous)
		if h.Buffer != 0 {
			memory := c.granted(p, h, c.mtuOf(h))
			if memory == nil {
				c.counts.BadBuffer++
				return s, false
			}
			return store{slot: b, sram: payload, host: memory, entry: entry{header: *h, place: -1}}, true
		}
	}
	if !has[S](Credits) {
		place = int(c.placed % uint32(len(c.staging)))
		c.placed++
	}
	return c.stage(h, b, place, len(payload)), true
}

// mtuOf returns the payload of each frame of a message but the last.
func (c *Component[S]) mtuOf(h *Header) int {
	if inFrame[S](MTU, h.Flags) {
		return int(h.MTU)
	}
	return c.traits.MTU
}

// taken is the point-cut Taken: it puts the payload of a frame into the message, by lending or by a copy, and tells whether
// it could.
func (c *Component[S]) taken(in *assembly, e *entry) bool {
	if has[S](Traced) {
		c.report(Taken, 0)
	}
	if has[S](Credits) {
		note(c, Taken, Credits)
		switch {
		case e.place < 0:
		case c.lends(&e.header):
			c.lend(in, e)
			return true
		default:
			whole := c.copyOut(in, e)
			c.giveUp(c.peers[e.header.Source], 1)
			return whole
		}
	}
	if has[S](Adaptive) {
		note(c, Taken, Adaptive)
		if e.place >= 0 {
			c.choice.copied(c.loop.Now()-c.copying, int(e.header.Length))
		}
	}
	if has[S](Rendezvous) {
		note(c, Taken, Rendezvous)
		if e.place < 0 {
			return c.filled(in, e)
		}
	}
	return c.copyOut(in, e)
}

// acts tells whether a protocol acts on frames to a node.
func acts[S any](p *peer, protocol Protocol) bool {
	return has[S](protocol) && (!has[S](Active) || p.active&protocol != 0)
}
