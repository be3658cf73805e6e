package am2

// bulk is a message on its way out whose payload does not fit a packet. Its fragments are
// packets of the lane, made when they are sent; their bodies lie in the payload itself.
type bulk struct {
	id      uint32
	ch      *channel
	lane    lane
	tag     Tag
	header  uint32
	kind    Kind
	nargs   int
	offset  uint64
	args    [MaxArgs]uint32
	payload []byte
	stage   []byte    // where it lies; nil if it is lent
	sent    Completer // if it is lent

	turn  packet // stands for what is still to be sent, in the queue of the lane
	size  int    // payload bytes of a fragment
	count int    // fragments
	next  int    // the next to be made
	left  int    // not settled
}

// reserveBulk finds a stage for a payload, unless it is lent.
func (ch *channel) reserveBulk(l lane, tag Tag, op *Op) Result {
	b := ch.peer.b
	if b.cfg.ReplyAcks {
		return TooLong
	}
	var stage []byte
	if op.Src == nil {
		if l == requests && b.staged[l] >= b.cfg.Stages {
			return NoRoom
		}
		stage = b.stage(l, op.Len)
	}
	n := len(b.idle)
	if n == 0 {
		k := &bulk{id: uint32(len(b.bulks))}
		b.bulks = append(b.bulks, k)
		b.idle = append(b.idle, k)
		n++
	}
	k := b.idle[n-1]
	b.idle = b.idle[:n-1]
	k.ch, k.lane, k.tag, k.stage = ch, l, tag, stage
	b.inUse++
	op.Args, op.Slot = &k.args, bulkSlot|uint64(k.id)
	op.Data = nil
	if stage != nil {
		op.Data = stage[:op.Len:op.Len]
	}
	return Reserved
}

// stage returns memory for n payload bytes: of those that are free the one used last that is
// large enough.
func (b *Bundle) stage(l lane, n int) []byte {
	b.staged[l]++
	free := b.stages[l]
	for i := len(free) - 1; i >= 0; i-- {
		if s := free[i]; len(s) >= n {
			free[i] = free[len(free)-1]
			b.stages[l] = free[:len(free)-1]
			return s
		}
	}
	if len(free) > 0 { // a larger one takes its place, so that there are no more than Stages
		b.stages[l] = free[:len(free)-1]
	}
	return make([]byte, padded(n))
}

// commitBulk queues a bulk message. One that has become short enough goes in a packet.
func (b *Bundle) commitBulk(op *Op) *channel {
	k := b.bulks[uint32(op.Slot)]
	k.header, k.kind, k.nargs, k.offset = op.Header, op.Kind, op.NArgs, op.Offset
	if k.stage != nil {
		k.payload = k.stage[:op.Len]
	} else {
		k.payload, k.sent = op.Src[:op.Len], op.Sent
	}
	ch := k.ch
	now := b.clock()
	if ol := &ch.out[k.lane]; ol.open != nil { // no message is overtaken for nothing
		if p := ch.release(k.lane); p != nil {
			ch.queue(now, p)
		}
	}
	head := fragmentHead + fragmentHeader + padded(4*k.nargs)
	k.size = (min(b.cfg.Datagram, b.wire.MTU(ch.peer.addr)) - head) &^ (unit - 1)
	if most := b.cfg.Fragment; most > 0 {
		k.size = min(k.size, most)
	}
	k.count = (op.Len + k.size - 1) / k.size
	k.left, k.next = k.count, 0
	k.turn = packet{ch: ch, lane: k.lane, bulk: k, count: 1}
	if FixedHead+recordSize(op.Kind, op.NArgs, op.Len) <= ch.packLimit() && b.inlined(op) {
		ch.queue(now, b.pack(k, op))
	} else {
		ch.queue(now, &k.turn)
	}
	if b.dirty {
		b.flush()
	}
	return ch
}

// pack returns a packet with a message that was reserved as bulk and is no more.
func (b *Bundle) pack(k *bulk, op *Op) *packet {
	p := b.newLarge(k.ch, k.lane)
	p.tag, p.count = k.tag, 1
	putRecord(p.buf[p.n:], op)
	p.n += headerSize(op.Kind)
	p.n += copy(p.buf[p.n:], words(&k.args)[:padded(4*k.nargs)])
	copy(p.buf[p.n:], k.payload)
	p.n += padded(len(k.payload))
	b.endBulk(k)
	return p
}

// nextFragment makes the next fragment of the bulk whose turn it is.
func (ch *channel) nextFragment(ol *outLane, k *bulk) *packet {
	b := ch.peer.b
	p := b.newSmall(ch, k.lane)
	b.inUse++
	at := k.next * k.size
	p.bulk, p.tag = k, k.tag
	p.n = fragmentHead + fragmentHeader + padded(4*k.nargs)
	putFragment(p.buf[fragmentHead:p.n], k, k.next, at)
	p.body = k.payload[at:min(at+k.size, len(k.payload))]
	if k.next++; k.next == k.count {
		ol.pending.remove(&k.turn)
	}
	return p
}

// endBulk gives a bulk's memory back: its payload is no longer needed.
func (b *Bundle) endBulk(k *bulk) {
	if k.stage != nil {
		b.staged[k.lane]--
		b.stages[k.lane] = append(b.stages[k.lane], k.stage)
	} else if k.sent != nil {
		k.sent.Complete()
	}
	b.events++
	b.inUse--
	*k = bulk{id: k.id}
	b.idle = append(b.idle, k)
}
