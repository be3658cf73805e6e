package core

// Native is what the conduit's network carries out by itself, without messages: puts, gets, atomic operations,
// and collective operations. What this rank's processor does in a segment that it reaches is in place, not native.

// nativeSizes are the bytes of the largest native operations; 0 without the power.
type nativeSizes struct{ put, get, collective int }

func nativeSizesOf(p *Powers) (n nativeSizes) {
	if p.Putter != nil {
		n.put = p.Putter.MaxPut()
	}
	if p.Getter != nil {
		n.get = p.Getter.MaxGet()
	}
	if p.Collectives != nil {
		n.collective = p.Collectives.MaxCollective()
	}
	return n
}

// MaxNativePut returns the bytes of the largest put that the conduit's network carries out
// itself, 0 if it does not (or Config.NoNative). A handler may call it.
func (ep *Endpoint) MaxNativePut() int { return ep.most.put }

// MaxNativeGet is MaxNativePut for gets.
func (ep *Endpoint) MaxNativeGet() int { return ep.most.get }

// NativeOps returns the atomic operations on elements of type t in any rank's segment that
// the conduit's network carries out itself; see Atomics. A handler may call it.
func (ep *Endpoint) NativeOps(t ElementType) AtomicOp {
	if ep.powers.Atomics == nil || t.Size() == 0 {
		return 0
	}
	return ep.powers.Atomics.AtomicOps(t)
}

// The methods below are for layers above, which do by messages what is declined. Each waits
// for room, polling meanwhile, and returns
//
//   - Initiated: one pending has been added to done, and will be taken off, in a poll, when
//     the operation is complete. Waits for that need not be silent.
//   - Completed: it is complete. Nothing was added.
//   - Declined: nothing has happened. That is always so without the power, and for what is
//     larger than MaxNativePut or MaxNativeGet.
//
// What completion means is said with Putter. Not allowed in a handler.

// PutNative has the network put src to off of dst's segment. lc may be nil: src must then stay
// as it is until completion. Otherwise, if the put is initiated, one pending is added to lc,
// and taken off when src may be reused. A src of MaxInline bytes at most may be reused on
// return in any case.
func (c *Context) PutNative(dst Rank, off uint64, src []byte, lc, done *Completion) (Result, error) {
	if r, err := c.native("PutNative", dst, off, len(src), c.ep.most.put); r != Initiated {
		return r, err
	}
	if len(src) <= MaxInline {
		lc = nil
	}
	c.transfer = Transfer{Rank: dst, Off: off, Mem: src, LC: lc, Done: done}
	if lc != nil {
		lc.n.Add(1)
	}
	r, err := c.initiate(nativePut, done)
	if lc != nil && r != Initiated {
		lc.n.Add(-1)
	}
	return c.initiated(r, err)
}

// GetNative has the network get dst from off of src's segment. dst is undefined until
// completion.
func (c *Context) GetNative(dst []byte, src Rank, off uint64, done *Completion) (Result, error) {
	if r, err := c.native("GetNative", src, off, len(dst), c.ep.most.get); r != Initiated {
		return r, err
	}
	c.transfer = Transfer{Rank: src, Off: off, Mem: dst, Done: done}
	return c.initiated(c.initiate(nativeGet, done))
}

// AtomicNative has the network do op, one of NativeOps, on the element of type t at off, a
// multiple of its size, of rank's segment. For a fetching op, fetched is as long as the
// element, takes what was there before, and is undefined until completion; else it is
// ignored.
func (c *Context) AtomicNative(rank Rank, off uint64, t ElementType, op AtomicOp, a, b uint64, fetched []byte, done *Completion) (Result, error) {
	const call = "AtomicNative"
	size, most := t.Size(), 0
	if c.ep.powers.Atomics != nil {
		most = size
	}
	if r, err := c.native(call, rank, off, size, most); r != Initiated {
		return r, err
	}
	switch {
	case off%uint64(size) != 0:
		return Declined, c.ep.Misuse(call, "offset %d of rank %d is not a multiple of %d, the size of an element", off, rank, size)
	case !op.Fetching():
		fetched = nil
	case len(fetched) != size:
		return Declined, c.ep.Misuse(call, "the place for the result has %d bytes, an element %d", len(fetched), size)
	}
	c.atomic = Atomic{Rank: rank, Off: off, Type: t, Op: op, A: a, B: b, Fetched: fetched, Done: done}
	return c.initiated(c.initiate(nativeAtomic, done))
}

// native checks an operation on n bytes at off of rank's segment. It returns Initiated if the
// conduit is to be asked.
func (c *Context) native(call string, rank Rank, off uint64, n, most int) (Result, error) {
	ep := c.ep
	if c.restricted != 0 {
		return Declined, c.misplaced(call)
	}
	if size := uint64(ep.SegmentSize(rank)); off > size || uint64(n) > size-off {
		return Declined, ep.outside(call, rank, off, n)
	}
	switch {
	case n > most || most == 0:
		return Declined, nil
	case n == 0:
		return Completed, nil
	}
	return Initiated, nil
}

// operation is a kind of operation that the network carries out.
type operation uint8

const (
	nativePut operation = iota
	nativeGet
	nativeAtomic
	nativeCollective
)

// roomFor is what waits for room are called in reports.
var roomFor = [...]string{"room for a put", "room for a get", "room for an atomic operation", "room for a collective operation"}

// initiate has the conduit begin the operation that the context holds, and waits for room if
// need be. Unless it is Initiated, done is as before.
func (c *Context) initiate(what operation, done *Completion) (Result, error) {
	done.n.Add(1) // before, since another context may poll and complete it at once
	r, err := c.begin(what), error(nil)
	if r == NoRoom {
		err = c.waitSilent(roomFor[what], func() bool {
			r = c.begin(what)
			return r != NoRoom
		})
	}
	if r != Initiated {
		done.n.Add(-1)
	}
	return r, err
}

// initiated ends an initiation. The context lets go of the caller's memory.
func (c *Context) initiated(r Result, err error) (Result, error) {
	c.transfer.Mem, c.atomic.Fetched = nil, nil
	if err != nil {
		return Declined, err
	}
	if r == Declined {
		return r, nil
	}
	return r, c.sent()
}

// begin asks the conduit once, serialised with what the other contexts send.
func (c *Context) begin(what operation) Result {
	ep := c.ep
	if ep.single {
		return c.ask(what)
	}
	if alone, entered := c.enterAlone(); alone {
		r := c.ask(what)
		if entered {
			c.leaveAlone()
		}
		return r
	}
	ep.sending.Lock()
	r := c.ask(what)
	ep.sending.Unlock()
	return r
}

// ask calls the conduit.
func (c *Context) ask(what operation) Result {
	switch p := &c.ep.powers; what {
	case nativePut:
		return p.Putter.Put(&c.transfer)
	case nativeGet:
		return p.Getter.Get(&c.transfer)
	case nativeAtomic:
		return p.Atomics.Atomic(&c.atomic)
	}
	return c.ep.powers.Collectives.Collective(&c.collective)
}
