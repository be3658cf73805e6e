package coll

// scanFlat has everybody send to all of higher rank.
func scanFlat(c *Call, _ int, b *Builder) {
	for i := c.Self + 1; i < c.N; i++ {
		b.Send(i, c.all(Src))
	}
	if c.Op == Scan {
		foldSome(c, b, c.all(Dst), c.own(0, c.Bytes), 0, c.Self+1)
	} else if c.Self > 0 {
		foldSome(c, b, c.all(Dst), Span{}, 0, c.Self)
	}
}

// scanChain passes the combination of all before from rank to rank.
func scanChain(c *Call, _ int, b *Builder) {
	mine := &partial{at: c.all(Src)}
	last := c.Self+1 == c.N
	var before Span
	if c.Self > 0 {
		before = b.TakeTemp(c.Self-1, c.Bytes)
		switch {
		case c.Op == Scan:
			mine.left(b, before)
		case !last:
			mine.left(b, b.copyOf(before))
		}
	}
	if !last {
		b.Send(c.Self+1, mine.at)
	}
	if c.Op == Scan {
		b.Copy(c.all(Dst), mine.at)
	} else if c.Self > 0 {
		b.Copy(c.all(Dst), before)
	}
}

// copyOf copies a span to private scratch.
func (b *Builder) copyOf(s Span) Span {
	t := b.Temp(s.Len)
	b.Copy(t, s)
	return t
}

// scanDoubling has every member pass on what it has combined to the one as far up as that
// has ranks (Hillis and Steele).
func scanDoubling(c *Call, _ int, b *Builder) {
	mine := &partial{at: c.all(Src)}
	var before *partial // ExScan: the same without this member's
	for d := 1; d < c.N; d *= 2 {
		if c.Self+d < c.N {
			b.Send(c.Self+d, mine.at)
		}
		if c.Self < d {
			continue
		}
		t := b.TakeTemp(c.Self-d, c.Bytes)
		if c.Op == Scan {
			mine.left(b, t)
			continue
		}
		if c.Self+2*d < c.N { // it will be sent on
			mine.left(b, b.copyOf(t))
		}
		if before == nil {
			before = &partial{at: t}
		} else {
			before.left(b, t)
		}
	}
	if c.Op == Scan {
		b.Copy(c.all(Dst), mine.at)
	} else if before != nil {
		b.Copy(c.all(Dst), before.at)
	}
}
