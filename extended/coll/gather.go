package coll

// scatterFlat has the root send to everybody.
func scatterFlat(c *Call, _ int, b *Builder) {
	if !c.isRoot() {
		b.Take(c.Root, c.all(Dst))
		return
	}
	for i := 1; i < c.N; i++ {
		to := c.mod(c.Self + i)
		b.Send(to, c.block(Src, to))
	}
	c.keep(b, c.all(Dst), c.block(Src, c.Self))
}

// gatherFlat has everybody send to the root.
func gatherFlat(c *Call, _ int, b *Builder) {
	if !c.isRoot() {
		b.Send(c.Root, c.all(Src))
		return
	}
	c.keep(b, c.block(Dst, c.Self), c.all(Src))
	for i := 1; i < c.N; i++ {
		from := c.mod(c.Self + i)
		b.Take(from, c.block(Dst, from))
	}
}

// blocks returns where the blocks of n members lie, v being the first one's distance from
// the root: in base, which begins with the block of the member at distance first, or, if
// it is the buffer of the root, in order of rank. The root's order has them in two pieces
// if they go beyond the last rank, so that everybody has them in two.
func (c *Call) blocks(v, n int, base Span, first int) []Span {
	var spans []Span
	for n > 0 {
		m := n
		if wrap := c.N - c.Root; v < wrap {
			m = min(n, wrap-v)
		}
		s := base.Part((v-first)*c.Bytes, m*c.Bytes)
		if base.Buf != Tmp {
			s.Off = c.mod(v+c.Root) * c.Bytes
		}
		spans = append(spans, s)
		v, n = v+m, n-m
	}
	return spans
}

// scatterTree sends the blocks of whole subtrees down a k-nomial tree.
func scatterTree(c *Call, k int, b *Builder) {
	self := c.mod(c.Self - c.Root)
	parent, size, children := knomial(self, c.N, k)
	base := Span{Buf: Src, Len: c.N * c.Bytes}
	if parent >= 0 {
		if size == 1 {
			b.Take(c.mod(parent+c.Root), c.all(Dst))
			return
		}
		base = b.Temp(size * c.Bytes)
		var msgs []int
		for _, s := range c.blocks(self, size, base, self) {
			msgs = append(msgs, b.Recv(c.mod(parent+c.Root), s))
		}
		for _, m := range msgs {
			b.Await(m)
		}
	}
	for i := len(children) - 1; i >= 0; i-- {
		for _, s := range c.blocks(children[i].rank, children[i].size, base, self) {
			b.Send(c.mod(children[i].rank+c.Root), s)
		}
	}
	if mine := c.blocks(self, 1, base, self)[0]; parent >= 0 {
		b.Copy(c.all(Dst), mine)
	} else {
		c.keep(b, c.all(Dst), mine)
	}
}

// gatherTree sends the blocks of whole subtrees up a k-nomial tree.
func gatherTree(c *Call, k int, b *Builder) {
	self := c.mod(c.Self - c.Root)
	parent, size, children := knomial(self, c.N, k)
	if parent >= 0 && size == 1 {
		b.Send(c.mod(parent+c.Root), c.all(Src))
		return
	}
	base := Span{Buf: Dst, Len: c.N * c.Bytes}
	if parent >= 0 {
		base = b.Temp(size * c.Bytes)
	}
	if mine := c.blocks(self, 1, base, self)[0]; parent >= 0 {
		b.Copy(mine, c.all(Src))
	} else {
		c.keep(b, mine, c.all(Src))
	}
	for _, child := range children {
		for _, s := range c.blocks(child.rank, child.size, base, self) {
			b.Take(c.mod(child.rank+c.Root), s)
		}
	}
	if parent >= 0 {
		for _, s := range c.blocks(self, size, base, self) {
			b.Send(c.mod(parent+c.Root), s)
		}
	}
}
