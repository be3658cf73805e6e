package coll

// broadcastFlat has the root send to everybody.
func broadcastFlat(c *Call, _ int, b *Builder) { broadcastTree(c, c.N, b) }

// broadcastTree sends down a k-nomial tree.
func broadcastTree(c *Call, k int, b *Builder) {
	broadcastDown(c, k, c.Root, b, c.all(Src))
	if c.isRoot() {
		c.keep(b, c.all(Dst), c.all(Src))
	}
}

// broadcastDown sends what lies at from at member top down a k-nomial tree to everybody
// else's Dst, to the largest subtree first.
func broadcastDown(c *Call, k, top int, b *Builder, from Span) {
	parent, _, children := knomial(c.mod(c.Self-top), c.N, k)
	if parent >= 0 {
		from = c.all(Dst)
		b.Take(c.mod(parent+top), from)
	}
	for i := len(children) - 1; i >= 0; i-- {
		b.Send(c.mod(children[i].rank+top), from)
	}
}

// broadcastChain passes segments of k bytes from rank to rank.
func broadcastChain(c *Call, k int, b *Builder) {
	seg := c.segment(k)
	from := Src
	if !c.isRoot() {
		from = Dst
	}
	next := c.mod(c.Self + 1)
	for off := 0; off < c.Bytes; off += seg {
		s := Span{Buf: from, Off: off, Len: min(seg, c.Bytes-off)}
		if !c.isRoot() {
			b.Take(c.mod(c.Self-1), s)
		}
		if next != c.Root {
			b.Send(next, s)
		}
	}
	if c.isRoot() {
		c.keep(b, c.all(Dst), c.all(Src))
	}
}

// broadcastScatter scatters the vector's parts down a binomial tree, then passes them
// around the ring (van de Geijn). Who has a part from the tree does not get it again.
func broadcastScatter(c *Call, _ int, b *Builder) {
	self := c.mod(c.Self - c.Root)
	abs := func(v int) int { return c.mod(v + c.Root) }
	parent, size, children := knomial(self, c.N, 2)
	buf := Dst
	if parent < 0 {
		buf = Src
	}
	parts := func(first, n int) Span {
		off, _ := share(c.Bytes, 1, c.N, first)
		last, length := share(c.Bytes, 1, c.N, first+n-1)
		return Span{Buf: buf, Off: off, Len: last + length - off}
	}
	if parent >= 0 {
		b.Take(abs(parent), parts(self, size))
	}
	for i := len(children) - 1; i >= 0; i-- {
		b.Send(abs(children[i].rank), parts(children[i].rank, children[i].size))
	}
	right := c.mod(self + 1)
	_, rightSize, _ := knomial(right, c.N, 2)
	for s := range c.N - 1 {
		if p := c.mod(self - s); p < right || p >= right+rightSize {
			b.Send(abs(right), parts(p, 1))
		}
		if p := c.mod(self - s - 1); p < self || p >= self+size {
			b.Take(abs(c.mod(self-1)), parts(p, 1))
		}
	}
	if parent < 0 {
		c.keep(b, c.all(Dst), c.all(Src))
	}
}
