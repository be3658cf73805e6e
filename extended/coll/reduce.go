package coll

// reduceFlat has everybody send to the root.
func reduceFlat(c *Call, _ int, b *Builder) {
	if !c.isRoot() {
		b.Send(c.Root, c.all(Src))
		return
	}
	foldAll(c, b, c.all(Dst), c.own(0, c.Bytes))
}

// reduceTree combines up a k-nomial tree of the ranks from the root on or, for the order of
// ranks, from member 0 on, which sends the result to the root.
func reduceTree(c *Call, k int, b *Builder) {
	top := c.Root
	if !c.Commutes {
		top = 0
	}
	result := reduceTo(c, k, top, b)
	switch {
	case c.isRoot() && top == c.Root:
		b.Copy(c.all(Dst), result)
	case c.isRoot():
		b.Take(top, c.all(Dst))
	case c.Self == top:
		b.Send(c.Root, result)
	}
}

// reduceTo combines up a k-nomial tree to member top and returns where the result lies
// there. Only the root and members of reductions to all have a Dst.
func reduceTo(c *Call, k, top int, b *Builder) Span {
	parent, _, children := knomial(c.mod(c.Self-top), c.N, k)
	if len(children) == 0 {
		b.Send(c.mod(parent+top), c.all(Src))
		return c.all(Src)
	}
	room := c.all(Dst)
	if c.Op == Reduce && (!c.isRoot() || top != c.Root) {
		room = b.Temp(c.Bytes)
	}
	p := c.partial(room)
	for _, child := range children {
		p.right(b, b.TakeTemp(c.mod(child.rank+top), c.Bytes))
	}
	if parent >= 0 {
		b.Send(c.mod(parent+top), p.at)
	}
	return p.at
}

// reduceScatter has every member combine its part of all vectors and send it to the root.
func reduceScatter(c *Call, _ int, b *Builder) {
	for i := 1; i < c.N; i++ {
		to := c.mod(c.Self + i)
		off, n := share(c.Bytes, c.Elem, c.N, to)
		b.Send(to, Span{Buf: Src, Off: off, Len: n})
	}
	off, n := share(c.Bytes, c.Elem, c.N, c.Self)
	if !c.isRoot() {
		part := b.Temp(n)
		foldAll(c, b, part, Span{Buf: Src, Off: off, Len: n})
		b.Send(c.Root, part)
		return
	}
	foldAll(c, b, Span{Buf: Dst, Off: off, Len: n}, c.own(off, n))
	for i := range c.N {
		if i != c.Self {
			off, n := share(c.Bytes, c.Elem, c.N, i)
			b.Take(i, Span{Buf: Dst, Off: off, Len: n})
		}
	}
}
