package fabric

// stoppedLimits is how many time limits a packet may be stopped: one more than a head may wait, so that what stops it, if
// that is a head, has been ended and has let it go on before.
const stoppedLimits = 2

// limit starts the time that the first packet may stay where it is, which is so many time limits.
func (c *channel) limit(n int) {
	t := c.f.constants.Limit.Time
	if t == 0 {
		return
	}
	at := c.f.loop.Now()
	for range n {
		at = at.Plus(t)
	}
	c.timeout.Reset(at)
}

// heed starts the time that a packet may be stopped, if STOP keeps the sender from sending more of it, and else ends that time.
// At a host, which is not part of a circle, there is no such time: the limit ends what stops it.
func (p *pump) heed() {
	switch {
	case p.near == nil:
	case p.held && p.out.end < p.end:
		p.near.limit(stoppedLimits)
	default:
		p.near.timeout.Stop()
	}
}

// expire ends the first packet of a buffer. Its head has waited too long, for an output or for a host, or it has been stopped too
// long on the way out.
func (f *Fabric) expire(c *channel) {
	w := c.first
	in := w.start // where what is out of the buffer ends, and the byte under way with it
	if w.state == passing {
		if in = c.reader.out.end + c.reader.shift; in == w.end {
			return
		}
	}
	f.counts.Expired++
	reset := f.constants.Limit.Reset
	for v := w.next; reset && v != nil; v = v.next {
		v.ghost = true
	}
	p := c.port
	if p == nil {
		if w.state == waiting {
			f.withdraw(c, w)
		} else {
			c.split(w, in)
		}
		return
	}
	if w.state == waiting {
		p.arrival.verdict = Truncated
		p.arrival.length = 0
		w.ghost = true
		c.absorb(w)
		p.arrival.nic.Tail(&p.arrival)
		if reset {
			p.arrival.nic.Reset(p)
		}
		return
	}
	p.resetting = reset
	c.sink.held = false
	c.split(w, in)
}

// withdraw takes a packet out of the queue of its output, and has it absorbed.
func (f *Fabric) withdraw(c *channel, w *worm) {
	if out := c.output(w); out != nil {
		out.queue &^= 1 << c.input
		out.stats.wait(f.loop.Now() - c.since)
	}
	c.timeout.Stop()
	w.ghost = true
	c.absorb(w)
}
