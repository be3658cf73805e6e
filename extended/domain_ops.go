package extended

import (
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/extended/element"
)

// Do does op, one of the domain's, on the element at offset off of the segment of team rank
// rank, and returns when it is done: what was there before if op is fetching, else 0.
// Operands that op has not are ignored. It may poll. rank may be the caller. What else is
// ordered is said by orders; none stands for Acquire and Release. Not allowed in a handler.
func (d *Domain) Do(c *Context, rank int, off uint64, op Op, a, b uint64, orders ...Order) (uint64, error) {
	order := orderOf(orders)
	p := d.element(rank, off, op, d.shift)
	if p == nil || d.ep != c.ep || c.Check("atomic") != nil || !order.valid() || !op.single() {
		owner, err := d.check(c, rank, off, op, order)
		switch {
		case err != nil:
			return 0, err
		case d.windows == nil:
			return d.fetch(c, owner, off, op, a, b)
		}
		p = d.windows[rank].at(off)
		d.ep.core.NoteInPlace(record.AtomicInPlace, owner, d.typ.Size())
	}
	old := element.UpdateBits(core.ElementType(d.typ), p, core.AtomicOp(op), order&Acquire != 0, a, b)
	if !op.Fetching() {
		old = 0
	}
	return old, nil
}

// fetch is Do by the network or the owner.
func (d *Domain) fetch(c *Context, owner core.Rank, off uint64, op Op, a, b uint64) (uint64, error) {
	dst := c.fetched[:d.typ.Size()]
	clear(dst)
	if _, err := d.remote(c, blocking, dst, owner, off, op, a, b); err != nil {
		return 0, err
	}
	return element.Get(dst), nil
}

// DoNB initiates Do and returns its event. The result of a fetching op goes to dst, which
// has the size of an element and is undefined until the event is synchronised; it must not
// be a target of atomics. Otherwise dst is ignored. Release is as of this call, Acquire as of
// the synchronisation. Not allowed in a handler.
func (d *Domain) DoNB(c *Context, dst []byte, rank int, off uint64, op Op, a, b uint64, orders ...Order) (Event, error) {
	return d.nonblocking(c, explicit, dst, rank, off, op, a, b, orderOf(orders))
}

// DoNBI initiates Do as an implicit operation (see PutNBI): Set counts among the Puts, Get
// among the Gets, all others among the RMWs. dst is as for DoNB. Not allowed in a handler.
func (d *Domain) DoNBI(c *Context, dst []byte, rank int, off uint64, op Op, a, b uint64, orders ...Order) error {
	_, err := d.nonblocking(c, implicit, dst, rank, off, op, a, b, orderOf(orders))
	return err
}

// nonblocking is DoNB and DoNBI.
func (d *Domain) nonblocking(c *Context, f form, dst []byte, rank int, off uint64, op Op, a, b uint64, order Order) (Event, error) {
	owner, err := d.check(c, rank, off, op, order)
	if err == nil {
		err = d.checkResult(op, dst)
	}
	switch {
	case err != nil:
		return 0, err
	case d.windows != nil:
		d.ep.core.NoteInPlace(record.AtomicInPlace, owner, d.typ.Size())
		d.inPlace(dst, rank, off, op, order, a, b)
		return 0, nil
	}
	return d.remote(c, f, dst, owner, off, op, a, b)
}

// remote has the network or the owner do the operation.
func (d *Domain) remote(c *Context, f form, dst []byte, owner core.Rank, off uint64, op Op, a, b uint64) (Event, error) {
	if !op.Fetching() {
		dst = nil
	}
	o, err := c.start("atomic", f, categoryOf(op), owner, dst)
	if err != nil {
		return 0, err
	}
	return c.end(o, f, d.request(c, o, owner, off, op, a, b))
}

// categoryOf returns the category of an implicit operation.
func categoryOf(op Op) category {
	switch op {
	case Set:
		return putCategory
	case Get:
		return getCategory
	}
	return rmwCategory
}

// inPlace does an operation in place.
func (d *Domain) inPlace(dst []byte, rank int, off uint64, op Op, order Order, a, b uint64) {
	old := element.UpdateBits(core.ElementType(d.typ), d.windows[rank].at(off), core.AtomicOp(op), order&Acquire != 0, a, b)
	if op.Fetching() {
		element.Put(dst, old)
	}
}

// request asks the network or the owner for an operation; o counts it, or its answer.
func (d *Domain) request(c *Context, o *operation, owner core.Rank, off uint64, op Op, a, b uint64) error {
	if d.native {
		return d.offload(c, o, owner, off, op, a, b)
	}
	o.pending.Add(1)
	return c.RequestShort(owner, handlerAtomic, o.number, packAtomic(d.typ, op),
		uint32(off), uint32(off>>32), uint32(a), uint32(a>>32), uint32(b), uint32(b>>32))
}

// offload has the network do an operation.
func (d *Domain) offload(c *Context, o *operation, owner core.Rank, off uint64, op Op, a, b uint64) error {
	r, err := c.AtomicNative(owner, off, core.ElementType(d.typ), core.AtomicOp(op), a, b, o.dst, o.counter())
	if r == core.Declined && err == nil {
		err = fmt.Errorf("extended: rank %d: the conduit declines atomic %v on %v, which it has named as its own", d.ep.Rank(), op, d.typ)
	}
	return err
}

// packAtomic packs a type and an operation, by the numbers of their bits.
func packAtomic(t Type, op Op) uint32 {
	return uint32(bits.TrailingZeros32(uint32(t))<<8 | bits.TrailingZeros32(uint32(op)))
}

// unpackAtomic is the inverse. Not ok: no such type, or no such operation on it.
func unpackAtomic(what uint32) (t Type, op Op, ok bool) {
	t, op = 1<<(what>>8), 1<<(what&0xff)
	return t, op, t.Ops()&op != 0
}

// onAtomic handles [number, what, off, off, a, a, b, b]: an operation on an element of this
// rank's segment.
func (ep *Endpoint) onAtomic(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 8 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	typ, op, ok := unpackAtomic(args[1])
	if !ok {
		ep.malformed(t, "no atomic operation %#x", args[1])
		return
	}
	off, size := join(args[2], args[3]), typ.Size()
	if off%uint64(size) != 0 {
		ep.malformed(t, "offset %d is not a multiple of %d, the size of %v", off, size, typ)
		return
	}
	mem, ok := ep.own(t, args[2], args[3], size)
	if !ok {
		return
	}
	w := windowOf(mem, size)
	old := element.UpdateBits(core.ElementType(typ), w.at(0), core.AtomicOp(op), false, join(args[4], args[5]), join(args[6], args[7]))
	if op.Fetching() {
		ep.reply(t, handlerFetched, args[0], uint32(old), uint32(old>>32))
	} else {
		ep.reply(t, handlerDone, args[0])
	}
}

// onFetched handles [number, value, value]: the result of a fetching operation.
func (ep *Endpoint) onFetched(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 3 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	o := ep.answered(t, args[0])
	if o == nil {
		return
	}
	if len(o.dst) != 4 && len(o.dst) != 8 {
		ep.malformed(t, "operation %d fetches no element", args[0])
		return
	}
	element.Put(o.dst, join(args[1], args[2]))
	ep.finish(o, 1)
}
