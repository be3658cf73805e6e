package coll

// partial is the combination of the elements of some consecutive ranks, on its way to
// become more. It starts as the caller's source, which must not be written, and moves to
// where it can be with the fewest copies.
type partial struct {
	at   Span
	room Span // where it goes if it must move
}

// partial returns this member's elements, with room to combine more.
func (c *Call) partial(room Span) *partial {
	if c.InPlace && room.Buf == Dst {
		return &partial{room, room}
	}
	return &partial{c.all(Src), room}
}

// right combines with the elements at t, of the ranks that follow.
func (p *partial) right(b *Builder, t Span) {
	if p.at.Buf == Src {
		b.Copy(p.room, p.at)
		p.at = p.room
	}
	b.Combine(p.at, t)
}

// left combines with the elements at t, of the ranks before; t is private scratch that is
// used up.
func (p *partial) left(b *Builder, t Span) {
	b.Combine(t, p.at)
	p.at = t
}

// narrow makes it the partial of n bytes at off.
func (p *partial) narrow(off, n int) {
	p.at, p.room = p.at.Part(off, n), p.room.Part(off, n)
}

// own is n bytes at off of this member's elements, in Dst if it is in place: there they can
// be written, too.
func (c *Call) own(off, n int) Span {
	if c.InPlace {
		return Span{Buf: Dst, Off: off, Len: n}
	}
	return Span{Buf: Src, Off: off, Len: n}
}

// foldAll combines the elements own with those that all other members send, in order of
// rank, to room, which own may be. It declares the messages, and awaits them.
func foldAll(c *Call, b *Builder, room, own Span) {
	foldSome(c, b, room, own, 0, c.N)
}

// foldSome is foldAll of the members from first to last-1 alone; own is nothing if this
// member is not among them.
func foldSome(c *Call, b *Builder, room, own Span, first, last int) {
	type source struct {
		at  Span
		msg int
	}
	var sources []source
	for i := first; i < last; i++ {
		s := source{own, nothing}
		if i != c.Self {
			s.at = b.Temp(room.Len)
			s.msg = b.Recv(i, s.at)
		}
		sources = append(sources, s)
	}
	p := partial{room: room}
	for i, s := range sources {
		b.Await(s.msg)
		if i == 0 {
			p.at = s.at
		} else {
			p.right(b, s.at)
		}
	}
	b.Copy(room, p.at)
}
