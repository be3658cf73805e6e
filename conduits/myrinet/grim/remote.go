package grim

import "fmt"

// RMOptions are what an operation on remote memory may do besides.
type RMOptions struct {
	// Notify has a word written when all bytes have been. With Read it is written here, and is 0.
	Notify Notification
	// Fetched, if not nil, is called by an event when the source of a write may be changed: the NIC has the bytes.
	Fetched func()
	// Done, if not nil, is called by an event when the bytes of a write are in the memory of the target, and the NIC here knows that; or when those of a read are here.
	// The error is ErrUnregistered if a host has not registered the memory; then the message that named it has written nothing.
	Done func(error)
}

// operation is what the library knows of an operation under way.
type operation struct {
	endpoint *Endpoint
	options  RMOptions
	region   *Region // here, which is used until the operation needs it no more; nil: none
	fetching int     // messages whose bytes the NIC does not have yet
	left     int     // messages that are not done
	err      error
}

// What an operation is told, by the first word of its event.
const (
	opFetched uint64 = iota // the NIC has the bytes of a message
	opDone                  // a message is done
	opDenied                // or has been refused
	opLost                  // or given up, as the host does not answer
	opSeen                  // and on: the program has seen the above
)

// Label implements vtime.Labelled.
func (o *operation) Label(what, _ uint64) string {
	return fmt.Sprintf("GRIM endpoint %d: remote memory, %s", o.endpoint.id, [...]string{"fetched", "done", "refused", "lost"}[what%opSeen])
}

// Fire implements vtime.Target. The NIC writes a word, and a program that polls sees it a little later.
func (o *operation) Fire(what, _ uint64) {
	h := o.endpoint.host
	if what < opSeen {
		h.loop.At(h.loop.Now()+h.profile.Host.Visible, o, what+opSeen, 0)
		return
	}
	switch what - opSeen {
	case opFetched:
		o.fetched()
		return
	case opDenied:
		o.err = ErrUnregistered
	case opLost:
		o.err = ErrUnreachable
	}
	if o.left--; o.left > 0 {
		return
	}
	if o.reads() {
		o.region.busy--
	}
	if o.options.Done != nil {
		o.options.Done(o.err)
	}
}

// reads tells whether the operation is a read, whose memory here is in use to its end.
func (o *operation) reads() bool { return o.fetching < 0 }

// fetched notes that the NIC has the bytes of a message.
func (o *operation) fetched() {
	if o.fetching--; o.fetching > 0 {
		return
	}
	if o.region != nil {
		o.region.busy--
	}
	if o.options.Fetched != nil {
		o.options.Fetched()
	}
}

// placed has the operation told of what becomes of one of its messages, which is in the channel's queue.
func (o *operation) placed(q *message, m *outgoing) {
	if o.options.Done != nil || o.reads() {
		q.operation = o
	}
	switch {
	case o.region == nil || o.reads():
	case q.fetch != nil:
		q.fetched = o
	default:
		h := o.endpoint.host
		h.loop.At(o.endpoint.now(), o, opFetched+opSeen, 0)
	}
}

// Write writes bytes into registered memory of the host of an endpoint: RM-V. The bytes are copied before Write returns. What it writes is there before messages that
// are sent to the endpoint afterwards are handled, and before what is written afterwards; but it may be there before the messages that were sent to the endpoint earlier
// are handled. The NI of the target executes it: no endpoint there has to poll, or to be open.
//
// More than a message can have is cut where the place is a multiple of grim.page. What finds no room in the channel's queue waits in the overflow queue. Write fails, and
// writes nothing: with ErrFull if there is no such queue, in which case messages behind the first wait in the host all the same; and for endpoints of hosts that there are not, or that there is no route
// to. That memory is not registered is told by Done.
func (e *Endpoint) Write(to EndpointID, at Remote, data []byte, o RMOptions) error {
	return e.operate(to, Operation{Type: RMV, At: at, Length: len(data), Notify: o.Notify}, source{bytes: data}, o)
}

// WriteFrom is Write of n bytes of registered memory of this host, which the NIC fetches from there: they are not changed before Fetched. Up to grim.pio bytes are written by the processor when there is
// room for them. It fails for bytes that the memory has not.
func (e *Endpoint) WriteFrom(to EndpointID, at Remote, from *Region, offset uint64, n int, o RMOptions) error {
	if err := e.own(from, offset, n); err != nil {
		return err
	}
	return e.operate(to, Operation{Type: RMV, At: at, Length: n, Notify: o.Notify}, source{region: from, offset: offset}, o)
}

// WritePhysical is Write to a physical address of the host of an endpoint: RM-P. No translation is needed there: see [Region.Physical] and [Host.Map].
func (e *Endpoint) WritePhysical(to EndpointID, at uint64, data []byte, o RMOptions) error {
	return e.operate(to, Operation{Type: RMP, At: Remote{Offset: at}, Length: len(data), Notify: o.Notify}, source{bytes: data}, o)
}

// Read fetches n bytes of registered memory of the host of an endpoint into registered memory of this one: RM-RV. It is ordered as Write is, and fails as WriteFrom does. The notification, if any, is at the
// initiator. Fetched is not called. It needs two receive buffers in the NIC of the target (grim.buffers).
func (e *Endpoint) Read(to EndpointID, at Remote, into *Region, offset uint64, n int, o RMOptions) error {
	if e.host.profile.GRIM.Buffers < 2 {
		return fmt.Errorf("grim: reads of remote memory need a receive buffer besides the one that takes in what comes; there is %d (grim.buffers)", e.host.profile.GRIM.Buffers)
	}
	if err := e.own(into, offset, n); err != nil {
		return err
	}
	if o.Notify.Where == AtTarget || o.Notify.Value != 0 {
		return fmt.Errorf("grim: the notification of a read is at the initiator, and 0")
	}
	local := Remote{into.key, offset}
	if at.short() && at.plus(n).short() && o.Notify.At.short() { // all in the short form
		address, err := into.Address(offset)
		if err != nil {
			return err
		}
		local = Remote{Offset: uint64(address)}
	}
	return e.operate(to, Operation{Type: RMRV, At: at, Local: local, Length: n, Notify: o.Notify}, source{region: into, offset: offset}, o)
}

// ReadTo is Read into memory that is named as in messages: by its key.
func (e *Endpoint) ReadTo(to EndpointID, at, into Remote, n int, o RMOptions) error {
	r, offset := e.host.memory.locate(into)
	return e.Read(to, at, r, offset, n, o)
}

// own fails unless bytes are in registered memory of this host.
func (e *Endpoint) own(r *Region, offset uint64, n int) error {
	switch {
	case r == nil || r.host != e.host || r.gone:
		return fmt.Errorf("grim: host %d has not registered the memory", e.host.program.id)
	case !r.holds(offset, n):
		return fmt.Errorf("grim: %d B at %d of %d B of registered memory", n, offset, r.Size())
	}
	return nil
}

// source is where the bytes of a write are: in memory of the caller, or in registered memory.
type source struct {
	bytes  []byte
	region *Region
	offset uint64
}

// part returns n bytes of the source, from i on.
func (s source) part(i, n int) source {
	if s.region != nil {
		return source{region: s.region, offset: s.offset + uint64(i)}
	}
	return source{bytes: s.bytes[i : i+n]}
}

// operate has the messages of an operation sent.
func (e *Endpoint) operate(to EndpointID, all Operation, from source, options RMOptions) error {
	if err := e.reachable(to); err != nil {
		return err
	}
	n := options.Notify
	switch {
	case n.Where > AtInitiator || n.Where == Nowhere && n != Notification{}:
		return fmt.Errorf("grim: a notification at no host")
	case n.At.Offset%word != 0:
		return fmt.Errorf("grim: a notification at offset %d, which is no multiple of %d", n.At.Offset, word)
	}
	all.Wide = !all.At.plus(all.Length).short() || !all.At.short() || !all.Local.short() || !n.At.short()
	reads := all.Type == RMRV
	most := MaxPayload // of a reply
	if !reads {
		most = e.MostPayload() - all.extension()
	}
	if most < 1 || e.MostPayload() < all.extension() {
		return fmt.Errorf("%w: a channel's queue has room for %d B (grim.queue)", ErrTooLarge, e.MostPayload())
	}
	op := e.host.program.slab.operation()
	*op = operation{endpoint: e, options: options, region: from.region}
	page := int(e.host.profile.GRIM.Page)
	for at := 0; ; op.left++ {
		if at += fragment(all.At.plus(at).Offset, all.Length-at, most, page); at == all.Length {
			break
		}
	}
	op.left++
	op.fetching = op.left
	if reads {
		op.fetching = -1
	}
	if from.region != nil {
		from.region.busy++
	}
	for at := 0; ; {
		o := all
		o.At = all.At.plus(at)
		o.Length = fragment(o.At.Offset, all.Length-at, most, page)
		last := at+o.Length == all.Length
		if !last {
			o.Notify = Notification{}
		}
		m := outgoing{header: Header{Source: e.id, Destination: to, Channel: uint16(e.channel.number)}, operation: op, length: o.Length}
		if reads {
			o.Local = all.Local.plus(at)
			m.length = 0
		} else {
			m.source = from.part(at, o.Length)
		}
		m.extension = o.Encode(&m.header, e.extension[:0])
		if e.overflow.Len() > 0 || !e.place(&m) {
			e.lookLater()
			if at == 0 && e.options.NoOverflow {
				if from.region != nil {
					from.region.busy--
				}
				e.refused = true
				return ErrFull
			}
			m.source.bytes, m.extension = append([]byte(nil), m.source.bytes...), append([]byte(nil), m.extension...)
			e.queueUp(m)
		}
		if at += o.Length; last {
			break
		}
	}
	e.counts.Operations++
	if from.region == nil && options.Fetched != nil {
		e.host.loop.At(e.now(), (*copied)(op), 0, 0)
	}
	return nil
}

// copied is an operation whose bytes the library has copied.
type copied operation

// Fire implements vtime.Target.
func (c *copied) Fire(_, _ uint64) { c.options.Fetched() }

// fragment returns how many of n bytes for an offset are in a message that can have so many at most: all, or as many as end at the last multiple of a page.
func fragment(offset uint64, n, most, page int) int {
	if n <= most {
		return n
	}
	if rest := int((offset + uint64(most)) % uint64(page)); rest < most {
		return most - rest
	}
	return most
}

// parts returns the memory that the NIC fetches the bytes of a message from; nil if the processor writes them. Bytes that are not in registered memory have been copied to such.
func (e *Endpoint) parts(m *outgoing) [][]byte {
	switch {
	case !e.fetched(m.length):
		return nil
	case m.source.region != nil:
		return m.source.region.runs(m.source.offset, m.length)
	}
	return [][]byte{m.source.bytes}
}
