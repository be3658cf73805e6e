package fabric

// limit starts the time that the first packet may wait.
func (c *channel) limit() {
	if t := c.f.constants.Limit.Time; t > 0 {
		c.head.Reset(c.f.loop.Now().Plus(t))
	}
}

// expire ends a packet that has waited too long with its head, for an output or for a host.
func (f *Fabric) expire(c *channel, w *worm) {
	in := w.start // where what is in ends, and the byte under way with it
	if w.state == passing {
		if in = c.sink.out.end + c.sink.shift; in == w.end {
			return
		}
	}
	f.counts.Expired++
	reset := f.constants.Limit.Reset
	for v := w.next; reset && v != nil; v = v.next {
		v.ghost = true
	}
	if c.port == nil {
		f.withdraw(c, w)
		return
	}
	p := c.port
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
	c.head.Stop()
	w.ghost = true
	c.absorb(w)
}
