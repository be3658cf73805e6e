package coll

// The direct algorithms go through Shm, which the others read: each byte is copied once to
// shared memory and once from it, and messages are signals only. What does not fit is done
// in rounds of segments.

// slot returns the bytes of each of n pieces of Shm for a segment of about k bytes; 0 if
// not even an element fits.
func (c *Call) slot(k, n int) int {
	elem := max(1, c.Elem)
	room := c.ShmLimit/n - align
	if room < elem {
		return 0
	}
	return min(c.segment(k), room-room%elem)
}

// direct returns the condition of an algorithm that needs n pieces of Shm.
func direct(n func(*Call) int) func(*Call) bool {
	return func(c *Call) bool { return c.Reach && c.slot(1, n(c)) > 0 }
}

func slots(n int) func(*Call) int { return func(*Call) int { return n } }

// of returns the same piece of another member's Shm.
func (s Span) of(member int) Span {
	s.Rank = member
	return s
}

// broadcastDirect has the root fill two pieces in turn, and everybody else read them.
func broadcastDirect(c *Call, k int, b *Builder) {
	seg := c.slot(k, 2)
	pieces := [2]Span{{Buf: Shm, Rank: c.Root, Len: seg}, {Buf: Shm, Rank: c.Root, Off: aligned(seg), Len: seg}}
	hear := func() {
		for i := range c.N {
			if i != c.Root {
				b.Await(b.RecvSignal(i))
			}
		}
	}
	if c.isRoot() {
		for i := range min(2, (c.Bytes+seg-1)/seg) {
			pieces[i] = b.Shared(c.Root, seg) // where the others look for it
		}
	}
	round := 0
	for off := 0; off < c.Bytes; off += seg {
		n := min(seg, c.Bytes-off)
		piece := pieces[round%2].Part(0, n)
		if c.isRoot() {
			if round >= 2 {
				hear()
			}
			b.Copy(piece, Span{Buf: Src, Off: off, Len: n})
			for i := 1; i < c.N; i++ {
				b.Signal(c.mod(c.Self + i))
			}
		} else {
			b.Await(b.RecvSignal(c.Root))
			b.Copy(Span{Buf: Dst, Off: off, Len: n}, piece)
			b.Signal(c.Root)
		}
		round++
	}
	if c.isRoot() {
		c.keep(b, c.all(Dst), c.all(Src))
		for range min(2, round) {
			hear()
		}
	}
}

// reduceDirect has everybody put its vector into Shm and combine a part of all; who wants
// the result reads the parts. A piece is written anew when all have told that they are
// past reading it: the vector's when they have combined, the part's when they bring the
// next segment.
func reduceDirect(c *Call, k int, b *Builder) {
	seg := c.slot(k, 2)
	in := b.Shared(c.Self, seg)
	_, most := share(seg, c.Elem, c.N, 0)
	out := b.Shared(c.Self, most)
	for off := 0; off < c.Bytes; off += seg {
		n := min(seg, c.Bytes-off)
		b.Copy(in.Part(0, n), Span{Buf: Src, Off: off, Len: n})
		signalAll(c, b)
		at, mine := share(n, c.Elem, c.N, c.Self)
		result := out.Part(0, mine)
		b.Copy(result, in.of(0).Part(at, mine))
		for i := 1; i < c.N; i++ {
			b.Combine(result, in.of(i).Part(at, mine))
		}
		signalAll(c, b)
		if c.Op == Reduce && !c.isRoot() {
			continue
		}
		for i := range c.N {
			from := c.mod(c.Self + i)
			at, n := share(n, c.Elem, c.N, from)
			b.Copy(Span{Buf: Dst, Off: off + at, Len: n}, out.of(from).Part(0, n))
		}
	}
	meet(c, b)
}

// allReduceDirectAll has everybody put its vector into Shm and combine all of all.
func allReduceDirectAll(c *Call, k int, b *Builder) {
	inTurns(c, k, 1, b, func(piece Span, off, n int) {
		b.Copy(piece.Part(0, n), Span{Buf: Src, Off: off, Len: n})
	}, func(piece Span, off, n int) {
		to := Span{Buf: Dst, Off: off, Len: n}
		b.Copy(to, piece.of(0).Part(0, n))
		for i := 1; i < c.N; i++ {
			b.Combine(to, piece.of(i).Part(0, n))
		}
	})
}

// allGatherDirect has everybody put its block into Shm and read those of all.
func allGatherDirect(c *Call, k int, b *Builder) {
	c.keep(b, c.block(Dst, c.Self), c.all(Src))
	inTurns(c, k, 1, b, func(piece Span, off, n int) {
		b.Copy(piece.Part(0, n), Span{Buf: Src, Off: off, Len: n})
	}, func(piece Span, off, n int) {
		for i := 1; i < c.N; i++ {
			from := c.mod(c.Self + i)
			b.Copy(c.block(Dst, from).Part(off, n), piece.of(from).Part(0, n))
		}
	})
}

// allToAllDirect has everybody put its blocks for the others into Shm and read its own of
// all.
func allToAllDirect(c *Call, k int, b *Builder) {
	b.Copy(c.block(Dst, c.Self), c.block(Src, c.Self))
	seg := c.slot(k, 2*c.N)
	inTurns(c, k, c.N, b, func(piece Span, off, n int) {
		for i := 1; i < c.N; i++ {
			to := c.mod(c.Self + i)
			b.Copy(piece.Part(to*seg, n), c.block(Src, to).Part(off, n))
		}
	}, func(piece Span, off, n int) {
		for i := 1; i < c.N; i++ {
			from := c.mod(c.Self - i)
			b.Copy(c.block(Dst, from).Part(off, n), piece.of(from).Part(c.Self*seg, n))
		}
	})
}

// inTurns does the rounds of algorithms in which everybody fills a piece of Shm, of each
// segments, and then reads those of all. Two pieces take turns: when all have filled the
// second, they are past reading the first.
func inTurns(c *Call, k, each int, b *Builder, fill, read func(piece Span, off, n int)) {
	seg := c.slot(k, 2*each)
	var pieces [2]Span
	for i := range min(2, (c.Bytes+seg-1)/seg) {
		pieces[i] = b.Shared(c.Self, each*seg)
	}
	round := 0
	for off := 0; off < c.Bytes; off += seg {
		n := min(seg, c.Bytes-off)
		fill(pieces[round%2], off, n)
		signalAll(c, b)
		read(pieces[round%2], off, n)
		round++
	}
	meet(c, b)
}
