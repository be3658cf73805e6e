package coll

// allGatherFlat has everybody send to everybody.
func allGatherFlat(c *Call, _ int, b *Builder) {
	c.keep(b, c.block(Dst, c.Self), c.all(Src))
	for i := 1; i < c.N; i++ {
		b.Send(c.mod(c.Self+i), c.all(Src))
	}
	for i := 1; i < c.N; i++ {
		from := c.mod(c.Self - i)
		b.Take(from, c.block(Dst, from))
	}
}

// allGatherRing passes the blocks around the ring.
func allGatherRing(c *Call, _ int, b *Builder) {
	c.keep(b, c.block(Dst, c.Self), c.all(Src))
	send := c.all(Src)
	for s := 1; s < c.N; s++ {
		b.Send(c.mod(c.Self+1), send)
		send = c.block(Dst, c.mod(c.Self-s))
		b.Take(c.mod(c.Self-1), send)
	}
}

// allGatherDoubling has partners, twice as far apart in every round, exchange what they
// have. It is for powers of two.
func allGatherDoubling(c *Call, _ int, b *Builder) {
	c.keep(b, c.block(Dst, c.Self), c.all(Src))
	have := func(of, m int) Span {
		s := c.block(Dst, of&^(m-1))
		s.Len *= m
		return s
	}
	for m := 1; m < c.N; m *= 2 {
		peer := c.Self ^ m
		b.Send(peer, have(c.Self, m))
		b.Take(peer, have(peer, m))
	}
}

// allGatherBruck has every member pass on what it has to the one half as far down as it has
// blocks, and puts the blocks in order at the end (Bruck et al.).
func allGatherBruck(c *Call, _ int, b *Builder) {
	t := b.Temp(c.N * c.Bytes) // begins with this member's block
	b.Copy(t.Part(0, c.Bytes), c.all(Src))
	for d := 1; d < c.N; d *= 2 {
		n := min(d, c.N-d) * c.Bytes
		b.Send(c.mod(c.Self-d), t.Part(0, n))
		b.Take(c.mod(c.Self+d), t.Part(d*c.Bytes, n))
	}
	cut := (c.N - c.Self) * c.Bytes
	b.Copy(Span{Buf: Dst, Off: c.Self * c.Bytes, Len: cut}, t.Part(0, cut))
	b.Copy(Span{Buf: Dst, Len: c.Self * c.Bytes}, t.Part(cut, c.Self*c.Bytes))
}
