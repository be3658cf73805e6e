package fabric

import (
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// channel is a cable in one direction, with its sender and with the slack buffer at its end.
type channel struct {
	pump // the sender

	// Where the channel ends: packets in the slack buffer or on their way there, one after the other.
	head         vtime.Timer // the switch or the host sees the first packet
	first, final *worm
	reader       *pump      // who drains the buffer; nil: nobody
	drained      int64      // bytes that have left it, when nobody drains it
	since        vtime.Time // when the first packet became it
	next         vtime.Time // when the buffer sends its next signal, as far as is known
	due          vtime.Time // when the first of the signals under way comes: STOP, if the sender is not held, and else GO
	delay        vtime.Time // of a byte along the cable
	round        vtime.Time // from when a signal is sent until it has come
	period       vtime.Time // of a byte, at the link's rate
	port         *Port      // of the host at the end; nil: a switch
	input        int        // the port of the switch
	outputs      []*channel // of the switch, by port; nil without a cable
	stopping     bool       // the last signal that the buffer has sent was STOP
	kinds        [2]Kind    // of the ports at the channel's ends

	// Where it begins at a switch: inputs whose packets wait for it, who had it last, and all inputs, by port.
	queue  uint32
	last   int
	inputs []*channel

	stats    stats
	timeout  vtime.Timer            // of the first packet: the time limit has come
	signals  fifo.Queue[vtime.Time] // when those under way come behind the first, which are STOP and GO in turn
	sink     pump                   // what absorbs packets, or takes them in
	ends     [2]End                 // where it begins and ends
	store    [2][remembered]stretch // of the streams of both pumps, as long as that is enough
	rate     machine.Rate
	index    int // 2*link + direction
	failures int // of the link itself, that have not been repaired
	dead     int // those, and those of the switches at its ends
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
	if c.next <= now {
		c.note(now)
	}
}

// note is settle of signals that there are.
func (c *channel) note(now vtime.Time) {
	for c.next <= now {
		c.stopping = !c.stopping
		if c.stopping {
			c.stats.stops++
		}
		if at := c.next + c.round; c.due == never {
			c.due = at
		} else {
			c.signals.Push(at)
		}
		c.next = c.crossing(c.next)
	}
}

// foresee works out when the buffer sends its next signal.
func (c *channel) foresee(now vtime.Time) {
	before := c.next
	c.next = c.crossing(now)
	if c.next == before || !c.busy || c.due < never {
		return
	}
	if c.out.end == c.end && min(before, c.next)+c.round >= c.clear { // the tail comes before
		return
	}
	c.arm(now)
}

// signalled returns when the next signal comes to the sender, as far as is known.
func (c *channel) signalled() vtime.Time {
	return min(c.due, c.next+c.round)
}

// obey lets the signals that have come to the sender take effect.
func (c *channel) obey(now vtime.Time) {
	c.settle(now)
	if c.due <= now {
		c.take(now)
	}
}

// review is obey for somebody who looks. A signal that comes just now is left to the sender, which has an event for it.
func (c *channel) review(now vtime.Time) { c.obey(now - 1) }

// take is obey of signals that there are.
func (c *channel) take(now vtime.Time) {
	for c.due <= now {
		if c.held = !c.held; c.held {
			c.stats.heldSince = c.due
		} else {
			c.stats.held += c.due - c.stats.heldSince
		}
		c.due = never
		if at, more := c.signals.Pop(); more {
			c.due = at
		}
	}
}

// crossing returns the first time from a time on at which the level of the buffer reaches the threshold that the
// next signal is for, or never.
func (c *channel) crossing(from vtime.Time) vtime.Time {
	if c.stopping {
		return c.crossingGo(from)
	}
	limit := c.f.slack.stop
	if r := c.reader; r != nil {
		if at, found := c.crossingSteady(from, r, limit); found {
			return at
		}
		return c.crossingStop(from, r, limit)
	}
	if n := c.drained + limit - 1; n < c.out.end {
		return max(from, c.out.past(n)+c.delay)
	}
	return never
}

// crossingStop is crossing for STOP where a pump drains the buffer in whatever way.
func (c *channel) crossingStop(from vtime.Time, r *pump, limit int64) vtime.Time {
	drained := c.drainedAt(from)
	for n := drained + limit - 1; n < c.out.end; {
		at := max(from, c.out.past(n)+c.delay)
		if drained = c.drainedAt(at); n+1-drained >= limit {
			return at
		}
		n = max(drained+limit-1, n+1)
		// As long as bytes leave no slower than they come, the level does not rise.
		i, j := c.out.index(n), r.out.index(drained-r.shift)
		if n < c.out.end && i >= 0 && j >= 0 && drained-r.shift < r.out.end {
			if in, out := c.out.nth(i), r.out.nth(j); out.step <= in.step && out.at <= at && in.at+c.delay <= at {
				n = max(n, in.count(out.last()-c.delay))
			}
		}
	}
	return never
}

// crossingSteady is crossingStop where bytes leave without a break, and no slower than they can come, from a time on until
// none is known to leave any more; else it reports that it has not found out. Then the level does not rise meanwhile, but
// before the first byte leaves and after the last: it was below the threshold when the first one left, or at that of GO later.
func (c *channel) crossingSteady(from vtime.Time, r *pump, limit int64) (at vtime.Time, found bool) {
	out := &r.out.stretch
	if out.first == out.end || out.step > c.period {
		return 0, false
	}
	if out.at > from {
		if last := len(r.out.before) - 1; last >= 0 && r.out.before[last].last() > from {
			return 0, false
		}
		n := out.first + r.shift + limit - 1
		if n >= c.out.end {
			return never, true
		}
		if at = c.out.past(n) + c.delay; at < out.at {
			return max(from, at), true
		}
	} else if c.f.slack.resume == limit-1 && c.out.count(from-c.delay)-c.drainedAt(from) >= limit-1 { // a byte may come before the next one leaves
		return 0, false
	}
	n := out.end + r.shift + limit - 1
	if n >= c.out.end {
		return never, true
	}
	at = c.out.past(n) + c.delay
	return max(from, at), at >= out.last()
}

// crossingGo is crossing for GO.
func (c *channel) crossingGo(from vtime.Time) vtime.Time {
	limit := c.f.slack.resume
	r := c.reader
	if r == nil { // it does not fall
		return never
	}
	in := c.out.count(from - c.delay)
	if in-c.drainedAt(from) <= limit {
		return from
	}
	for n := in - limit - 1; n-r.shift < r.out.end; { // when that byte has left, the level is the limit, if no more has come
		at := max(from, r.out.past(n-r.shift))
		if in = c.out.count(at - c.delay); in-(n+1) <= limit {
			return at
		}
		n = max(in-limit-1, n+1)
		// As long as bytes come no slower than they leave, the level does not fall.
		i, j := c.out.index(in), r.out.index(n-r.shift)
		if in < c.out.end && i >= 0 && j >= 0 && n-r.shift < r.out.end {
			if in, out := c.out.nth(i), r.out.nth(j); in.step <= out.step && in.at+c.delay <= at {
				n = max(n, out.count(in.last()+c.delay-1)+r.shift)
			}
		}
	}
	return never
}

// send has the channel carry a packet, whose bytes the pump has been given by begin.
func (c *channel) send(w *worm) {
	w.start, w.end = c.begun, c.pump.end
	w.ghost = w.ghost || c.dead > 0 || w.len() == 0 // of one that was cut off while it waited nothing may be left
	now := c.f.loop.Now()
	c.tidy(now)
	if c.first == nil {
		c.since = now
	}
	c.push(w)
	c.stats.packets++
	c.stats.bytes += int64(w.len())
	c.f.damage(c, w)
	c.start(now)
}

// push adds a packet to those in the buffer.
func (c *channel) push(w *worm) {
	if c.first == nil {
		c.first = w
	} else {
		c.final.next = w
	}
	c.final = w
}

// tidy takes a packet out of the buffer that has left without anybody waiting for that.
func (c *channel) tidy(now vtime.Time) {
	if r := c.reader; r != nil && r.to != nil {
		r.collect(now)
	}
}

// await sets the timer for when the switch or the host looks at the first packet; of a switch also at the second one, if it is
// known when the first will have left.
func (c *channel) await(now vtime.Time) {
	w, since := c.first, c.since
	if w == nil {
		return
	}
	if r := c.reader; r != nil && r.to != nil && w.next != nil {
		if w, since = w.next, r.left(); r.out.end < r.end {
			c.head.Stop()
			return
		}
	}
	if w.state != coming {
		return
	}
	if at := c.out.when(w.start); at == never {
		c.head.Stop()
	} else {
		at = max(at+c.delay, since) + c.look(w)
		if set, is := c.head.Set(); !is || set != at {
			c.head.Reset(max(at, now))
		}
	}
	if c.late {
		c.arm(now)
	}
}

// drains is called when the packet that leaves the buffer does so at other times than before.
func (c *channel) drains(now vtime.Time) {
	c.foresee(now)
	if c.first != c.final {
		c.await(now)
	}
}

// looks reports whether the switch or the host is going to look at the first packet, and does so until a time. What
// it does then decides what happens to the sender, whose timer need not be set before.
func (c *channel) looks(until vtime.Time) bool {
	if c.reader != nil || c.first == nil || c.first.state != coming {
		return false
	}
	at, set := c.head.Set()
	return set && at <= until
}

// look returns how long a switch takes to decide where a packet goes.
func (c *channel) look(w *worm) vtime.Time {
	if c.port != nil || w.ghost || w.len() == 0 {
		return 0
	}
	c.output(w)
	return w.decision
}

// absorb drains the first packet to nowhere.
func (c *channel) absorb(w *worm) {
	w.state = passing
	c.sink.step, c.sink.held = c.period, false
	c.sink.host = nil
	c.drain(&c.sink, w, 0)
	c.sink.start(c.f.loop.Now())
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
	w := c.first
	if c.first = w.next; c.first == nil {
		c.head.Stop()
	}
	if c.port != nil {
		c.port.arrival.verdict, c.port.arrival.length = w.verdict, w.len()
	}
	c.reader, c.drained = nil, w.end
	c.f.free, w.next = w, c.f.free
	c.since = p.left()
	c.foresee(now)
}
