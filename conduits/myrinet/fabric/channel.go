package fabric

import (
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// channel is a cable in one direction, with its sender and with the slack buffer at its end.
type channel struct {
	pump                // the sender
	index    int        // 2*link + direction
	ends     [2]End     // where it begins and ends
	kinds    [2]Kind    // of the ports there
	delay    vtime.Time // of a byte along the cable
	rate     machine.Rate
	period   vtime.Time // of a byte, at that rate
	failures int        // of the link itself, that have not been repaired
	dead     int        // those, and those of the switches at its ends

	// Where the channel begins at a switch: inputs whose packets wait for it, and who had it last.
	queue uint32
	last  int

	// Where it ends: packets in the slack buffer or on their way there.
	worms   fifo.Queue[*worm]
	drained int64        // bytes that have left the buffer, when nobody drains it
	reader  *pump        // who drains it; nil: nobody
	sink    *pump        // what absorbs packets, or takes them in
	head    *vtime.Timer // the switch or the host sees the first packet, or the time limit has come
	since   vtime.Time   // when the first packet became it
	port    *Port        // of the host at the end; nil: a switch

	// STOP and GO.
	stopping bool       // the last that the buffer has sent
	next     vtime.Time // when it sends the other, as far as is known
	nextSet  bool
	signals  fifo.Queue[signal]

	stats Traffic
}

// signal is a STOP or a GO under way.
type signal struct {
	at   vtime.Time // when it has come
	stop bool
}

// drainedAt returns how many bytes have left the buffer at t.
func (c *channel) drainedAt(t vtime.Time) int64 {
	if r := c.reader; r != nil {
		return r.out.count(t) + r.shift
	}
	return c.drained
}

// settle notes the signals that the buffer has sent until now.
func (c *channel) settle(now vtime.Time) {
	if c.nextSet && c.next <= now {
		c.note(now)
	}
}

func (c *channel) note(now vtime.Time) {
	for c.nextSet && c.next <= now {
		c.stopping = !c.stopping
		if c.stopping {
			c.stats.Stops++
		}
		c.signals.Push(signal{c.next + c.delay + c.period, c.stopping})
		c.next, c.nextSet = c.crossing(c.next)
	}
}

// foresee works out when the buffer sends its next signal.
func (c *channel) foresee(now vtime.Time) {
	next, set := c.crossing(now)
	if next == c.next && set == c.nextSet {
		return
	}
	c.next, c.nextSet = next, set
	if c.busy && c.signals.Len() == 0 {
		c.arm(now)
	}
}

// signalled returns when the next signal comes to the sender, as far as is known.
func (c *channel) signalled() (vtime.Time, bool) {
	if c.signals.Len() > 0 {
		return c.signals.At(0).at, true
	}
	return c.next + c.delay + c.period, c.nextSet
}

// obey lets the signals that have come to the sender take effect.
func (c *channel) obey(now vtime.Time) {
	c.settle(now)
	for c.signals.Len() > 0 && c.signals.At(0).at <= now {
		s, _ := c.signals.Pop()
		if c.held = s.stop; c.held {
			c.stats.heldSince = s.at
		} else {
			c.stats.Held += s.at - c.stats.heldSince
		}
	}
}

// crossing returns the first time from a time on at which the level of the buffer reaches the threshold that the
// next signal is for.
func (c *channel) crossing(from vtime.Time) (vtime.Time, bool) {
	if c.stopping {
		return c.crossingGo(from)
	}
	return c.crossingStop(from)
}

func (c *channel) crossingStop(from vtime.Time) (vtime.Time, bool) {
	limit := c.f.slack.stop
	r := c.reader
	if r == nil {
		at, ok := c.out.when(c.drained + limit - 1)
		return max(from, at+c.delay), ok
	}
	if at, ok, found := c.crossingSteady(from, limit); found {
		return at, ok
	}
	drained := c.drainedAt(from)
	for n := drained + limit - 1; ; {
		at, ok := c.out.when(n)
		if !ok {
			return 0, false
		}
		at = max(from, at+c.delay)
		if drained = c.drainedAt(at); n+1-drained >= limit {
			return at, true
		}
		n = max(drained+limit-1, n+1)
		// As long as bytes leave no slower than they come, the level does not rise.
		i, j := c.out.find(n), r.out.find(drained-r.shift)
		if n < c.out.next && i >= 0 && j >= 0 && drained-r.shift < r.out.next {
			if in, out := &c.out.known[i], &r.out.known[j]; out.step <= in.step && out.at <= at && in.at+c.delay <= at {
				n = max(n, in.count(out.last()-c.delay))
			}
		}
	}
}

// crossingSteady is crossingStop where bytes leave without a break, and no slower than they can come, from a time on until
// none is known to leave any more; else it reports that it has not found out. Then the level does not rise meanwhile, but
// before the first byte leaves and after the last.
func (c *channel) crossingSteady(from vtime.Time, limit int64) (at vtime.Time, ok, found bool) {
	r := c.reader
	last := len(r.out.known) - 1
	if last < 0 {
		return 0, false, false
	}
	out := &r.out.known[last]
	if out.step > c.period {
		return 0, false, false
	}
	if out.at > from {
		if last > 0 && r.out.known[last-1].last() > from {
			return 0, false, false
		}
		at, ok = c.out.when(out.first + r.shift + limit - 1)
		if at += c.delay; !ok || at < out.at {
			return max(from, at), ok, true
		}
	} else if c.out.count(from-c.delay)-c.drainedAt(from) >= limit-1 { // a byte may come before the next one leaves
		return 0, false, false
	}
	at, ok = c.out.when(out.end + r.shift + limit - 1)
	at += c.delay
	return max(from, at), ok, !ok || at >= out.last()
}

func (c *channel) crossingGo(from vtime.Time) (vtime.Time, bool) {
	limit := c.f.slack.resume
	r := c.reader
	in := c.out.count(from - c.delay)
	if in-c.drainedAt(from) <= limit {
		return from, true
	}
	if r == nil {
		return 0, false
	}
	for n := in - limit - 1; ; { // when that byte has left, the level is the limit, if no more has come
		at, ok := r.out.when(n - r.shift)
		if !ok {
			return 0, false
		}
		at = max(from, at)
		if in = c.out.count(at - c.delay); in-(n+1) <= limit {
			return at, true
		}
		n = max(in-limit-1, n+1)
		// As long as bytes come no slower than they leave, the level does not fall.
		i, j := c.out.find(in), r.out.find(n-r.shift)
		if in < c.out.next && i >= 0 && j >= 0 && n-r.shift < r.out.next {
			if in, out := &c.out.known[i], &r.out.known[j]; in.step <= out.step && in.at+c.delay <= at {
				n = max(n, out.count(in.last()+c.delay-1)+r.shift)
			}
		}
	}
}

// send has the channel carry a packet, whose bytes the pump has been given by begin.
func (c *channel) send(w *worm) {
	w.start, w.end = c.begun, c.pump.end
	w.ghost = w.ghost || c.dead > 0
	if c.worms.Len() == 0 {
		c.since = c.f.loop.Now()
	}
	c.worms.Push(w)
	c.stats.Packets++
	c.stats.Bytes += int64(w.len())
	c.f.damage(c, w)
	c.replan()
}

// await sets the timer for when the switch or the host looks at the first packet.
func (c *channel) await(now vtime.Time) {
	if c.worms.Len() == 0 {
		return
	}
	w := *c.worms.At(0)
	if w.state != coming {
		return
	}
	at, ok := c.out.when(w.start)
	if !ok {
		c.head.Stop()
		return
	}
	at = max(at+c.delay, c.since) + c.look(w)
	if set, is := c.head.Set(); !is || set != at {
		c.head.Reset(max(at, now))
	}
}

// look returns how long a switch takes to decide where a packet goes.
func (c *channel) look(w *worm) vtime.Time {
	if c.port != nil || w.ghost || w.len() == 0 {
		return 0
	}
	kind := c.kinds[1]
	if out := c.f.output(c, w); out != nil {
		kind = out.kinds[0]
	}
	return c.f.constants.through(c.kinds[1], kind)
}

// absorb drains the first packet to nowhere.
func (c *channel) absorb(w *worm) {
	w.state = passing
	c.sink.step, c.sink.held = c.period, false
	c.sink.done = func() {}
	c.drain(c.sink, w, 0)
	c.sink.replan()
}

// drain gives the first packet to a pump, without its first bytes.
func (c *channel) drain(p *pump, w *worm, skip int64) {
	c.settle(c.f.loop.Now())
	p.begin(&c.out, w.start+skip, c.delay, c, int64(w.len())-skip)
	c.reader = p
}

// drainedAll takes the first packet out of the buffer.
func (c *channel) drainedAll(p *pump) {
	now := c.f.loop.Now()
	c.settle(now)
	c.head.Stop()
	w, _ := c.worms.Pop()
	if c.port != nil {
		c.port.arrival.verdict, c.port.arrival.length = w.verdict, w.len()
	}
	c.reader, c.drained = nil, w.end
	c.f.free = append(c.f.free, w)
	c.foresee(now)
	c.since = now
	c.await(now)
}
