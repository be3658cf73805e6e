package am2

// assembly is a message that arrives in fragments. They are stored when they come: a Long's in
// the segment, a Medium's in a buffer.
type assembly struct {
	next   *assembly // of the same lane
	first  uint32    // sequence number of the first fragment
	count  uint32    // fragments
	left   uint32    // to come
	data   []byte    // the payload's place; nil if it has none
	block  *Block    // of a Medium
	total  int
	header uint32
	kind   Kind
	nargs  int
	offset uint64
	args   [MaxArgs]uint32
}

// assembly returns the message of which first is the first fragment, or nil.
func (in *inLane) assembly(first uint32) *assembly {
	for a := in.asms; a != nil; a = a.next {
		if a.first == first {
			return a
		}
	}
	return nil
}

// assemble stores a fragment and reports false if there is no room for its message.
func (ch *channel) assemble(in *inLane, l lane, first, seq uint32, f *fragment, body []byte) bool {
	b := ch.peer.b
	a := in.assembly(first)
	if a == nil {
		if !b.admits(l, f.kind, seq == in.next) {
			return false
		}
		ch.abandon(in)
		ch.begun(in, first)
		if in.overlaps(first, f.count) {
			b.stats.Malformed++
			return true
		}
		if a = ch.begin(l, first, f); a == nil {
			b.stats.Malformed++
			return true
		}
		a.next, in.asms = in.asms, a
	}
	if a.total != f.total || a.count != f.count {
		b.stats.Malformed++
		return true
	}
	if a.data != nil {
		copy(a.data[f.at:], body)
	}
	if a.left--; a.left == 0 {
		in.unlink(a)
		b.arriving[a.kind]--
		if w := ch.enqueue(l); w != nil {
			b.bytes[l] += a.memory()
			w.seq, w.asm = seq, a
		} else {
			b.drop(a)
		}
	}
	return true
}

// admits reports whether one more message may begin to arrive in a lane. What waits for its
// delivery bounds that, which the program's polls make less; and so does what is arriving, but
// not for the next packet of a lane: else lanes could wait for each other. Longs have their place
// already, so of them as many may arrive as of packets.
func (b *Bundle) admits(l lane, k Kind, isNext bool) bool {
	most := b.cfg.Assemblies
	if k == Long {
		most = max(most, b.cfg.Receive)
	}
	return b.waiting[l] < b.cfg.Receive && b.bytes[l] < b.cfg.ReceiveBytes && (b.arriving[k] < most || isNext)
}

// overlaps reports whether an assembly has some of the sequence numbers of a message. Senders
// finish or give up one before they begin the next, so that it is late, or nothing that an honest
// sender sends. For that reason a lane has at most one assembly that admits has let in as next.
func (in *inLane) overlaps(first, count uint32) bool {
	for a := in.asms; a != nil; a = a.next {
		if before(a.first, first+count) && before(first, a.first+a.count) {
			return true
		}
	}
	return false
}

// memory returns the bytes that the payload takes outside the segment.
func (a *assembly) memory() int {
	if a.block == nil {
		return 0
	}
	return len(a.block.Bytes())
}

// begin makes the assembly of a message from one of its fragments, or returns nil if its
// payload is too long.
func (ch *channel) begin(l lane, first uint32, f *fragment) *assembly {
	b := ch.peer.b
	if f.total > b.most(f.kind) {
		return nil
	}
	var a *assembly
	if n := len(b.spare); n > 0 {
		a, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		a = new(assembly)
	}
	b.arriving[f.kind]++
	*a = assembly{
		first: first, count: f.count, left: f.count, total: f.total,
		header: f.header, kind: f.kind, nargs: f.nargs, offset: f.offset,
	}
	copy(words(&a.args), f.args)
	if f.kind == Medium {
		a.block = b.mediums.get()
		a.data = a.block.Bytes()[:f.total:f.total]
		return a
	}
	m := &b.placing
	a.describe(m, ch, l)
	if w := ch.ep.handler.Place(m); len(w) >= f.total {
		a.data = w[:f.total:f.total]
	}
	return a
}

// describe fills m from the assembly.
func (a *assembly) describe(m *Message, ch *channel, l lane) {
	*m = Message{
		Endpoint: ch.ep, Index: ch.index, Reply: l == replies,
		Header: a.header, Kind: a.kind, NArgs: a.nargs, Args: &a.args,
		Len: a.total, Offset: a.offset, Data: a.data, ch: ch,
	}
}

// unlink takes an assembly out of its lane.
func (in *inLane) unlink(a *assembly) {
	for p := &in.asms; *p != nil; p = &(*p).next {
		if *p == a {
			*p = a.next
			return
		}
	}
}

// abandon drops the assemblies that cannot be completed: the sender has given up fragments.
func (ch *channel) abandon(in *inLane) {
	ch.dropIf(in, func(a *assembly) bool { return !before(in.next, a.first+a.count) })
}

// begun drops the assembly that the sender has given up, since its next message begins at a
// sequence number among those of that one.
func (ch *channel) begun(in *inLane, first uint32) {
	ch.dropIf(in, func(a *assembly) bool { return before(a.first, first) && before(first, a.first+a.count) })
}

// dropIf drops the assemblies of which it is said that they are given up.
func (ch *channel) dropIf(in *inLane, givenUp func(*assembly) bool) {
	b := ch.peer.b
	for p := &in.asms; *p != nil; {
		a := *p
		if !givenUp(a) {
			p = &a.next
			continue
		}
		*p = a.next
		b.arriving[a.kind]--
		b.drop(a)
	}
}

// drop gives an assembly's memory back.
func (b *Bundle) drop(a *assembly) {
	if a.block != nil {
		a.block.Release()
	}
	*a = assembly{}
	b.spare = append(b.spare, a)
}
