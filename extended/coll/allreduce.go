package coll

// allReduceFlat has everybody send to everybody, and everybody combine all.
func allReduceFlat(c *Call, _ int, b *Builder) {
	for i := 1; i < c.N; i++ {
		b.Send(c.mod(c.Self+i), c.all(Src))
	}
	foldAll(c, b, c.all(Dst), c.own(0, c.Bytes))
}

// allReduceTree reduces up a k-nomial tree to member 0 and broadcasts the result down it.
func allReduceTree(c *Call, k int, b *Builder) {
	result := reduceTo(c, k, 0, b)
	if c.Self == 0 {
		b.Copy(c.all(Dst), result)
		result = c.all(Dst)
	}
	broadcastDown(c, k, 0, b, result)
}

// allReduceDoubling has partners, twice as far apart in every round, exchange what they
// have: recursive doubling.
func allReduceDoubling(c *Call, _ int, b *Builder) {
	folded(c, b, func(v, p int, real func(int) int, mine *partial) {
		for m := 1; m < p; m *= 2 {
			peer := real(v ^ m)
			b.Send(peer, mine.at)
			t := b.TakeTemp(peer, c.Bytes)
			if v&m != 0 {
				mine.left(b, t)
			} else {
				mine.right(b, t)
			}
		}
		b.Copy(c.all(Dst), mine.at)
	})
}

// allReduceHalving has partners, twice as far apart in every round, give each other half of
// what they work on, then goes the same way back with the results (Rabenseifner). Near
// partners come first, so that the order of ranks is kept.
func allReduceHalving(c *Call, _ int, b *Builder) {
	folded(c, b, func(v, p int, real func(int) int, mine *partial) {
		type half struct{ off, n int }
		var given []half // by round, within Dst
		off, n := 0, c.Bytes
		for m := 1; m < p; m *= 2 {
			peer := real(v ^ m)
			cut, _ := share(n, c.Elem, 2, 1)
			keep, give := half{0, cut}, half{cut, n - cut}
			if v&m != 0 {
				keep, give = give, keep
			}
			b.Send(peer, mine.at.Part(give.off, give.n))
			mine.narrow(keep.off, keep.n)
			if t := b.TakeTemp(peer, keep.n); v&m != 0 {
				mine.left(b, t)
			} else {
				mine.right(b, t)
			}
			give.off += off
			given = append(given, give)
			off, n = off+keep.off, keep.n
		}
		b.Copy(Span{Buf: Dst, Off: off, Len: n}, mine.at)
		for i := len(given) - 1; i >= 0; i-- {
			g := given[i]
			peer := real(v ^ 1<<i)
			b.Send(peer, Span{Buf: Dst, Off: off, Len: n})
			b.Take(peer, Span{Buf: Dst, Off: g.off, Len: g.n})
			off, n = min(off, g.off), n+g.n
		}
	})
}

// folded runs a reduction to all for a power of two of members: of the others, each leaves
// its elements to the next rank, and gets the result from it. body does it for number v of
// p, real tells ranks, and leaves the result in Dst.
func folded(c *Call, b *Builder, body func(v, p int, real func(int) int, mine *partial)) {
	p := powerBelow(c.N)
	rest := c.N - p
	mine := c.partial(c.all(Dst))
	v := c.Self - rest
	if c.Self < 2*rest {
		if v = c.Self / 2; c.Self%2 == 0 {
			b.Send(c.Self+1, c.all(Src))
			b.Take(c.Self+1, c.all(Dst))
			return
		}
		mine.left(b, b.TakeTemp(c.Self-1, c.Bytes))
	}
	body(v, p, func(v int) int {
		if v < rest {
			return 2*v + 1
		}
		return v + rest
	}, mine)
	if c.Self < 2*rest {
		b.Send(c.Self-1, c.all(Dst))
	}
}

// allReduceRing passes the parts of the vector around the ring, every member adding its
// own, then passes the results around.
func allReduceRing(c *Call, _ int, b *Builder) {
	part := func(buf Buf, i int) Span {
		off, n := share(c.Bytes, c.Elem, c.N, c.mod(i))
		return Span{Buf: buf, Off: off, Len: n}
	}
	left, right := c.mod(c.Self-1), c.mod(c.Self+1)
	send := part(Src, c.Self)
	for s := 1; s < c.N; s++ {
		b.Send(right, send)
		mine := part(Src, c.Self-s)
		send = b.TakeTemp(left, mine.Len)
		b.Combine(send, mine)
	}
	b.Copy(part(Dst, c.Self+1), send)
	for s := 1; s < c.N; s++ {
		b.Send(right, part(Dst, c.Self+2-s))
		b.Take(left, part(Dst, c.Self+1-s))
	}
}

// allReducePairwise has every member combine its part of all vectors and send it to all.
func allReducePairwise(c *Call, _ int, b *Builder) {
	part := func(buf Buf, i int) Span {
		off, n := share(c.Bytes, c.Elem, c.N, i)
		return Span{Buf: buf, Off: off, Len: n}
	}
	for i := 1; i < c.N; i++ {
		to := c.mod(c.Self + i)
		b.Send(to, part(Src, to))
	}
	mine := part(Dst, c.Self)
	foldAll(c, b, mine, c.own(mine.Off, mine.Len))
	for i := 1; i < c.N; i++ {
		b.Send(c.mod(c.Self+i), mine)
	}
	for i := 1; i < c.N; i++ {
		from := c.mod(c.Self - i)
		b.Take(from, part(Dst, from))
	}
}
