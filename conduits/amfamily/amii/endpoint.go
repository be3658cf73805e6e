package amii

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// Options are what an endpoint is opened with.
type Options struct {
	Tag     am2.Tag          // that messages to it must match
	Weight  int              // packets in its turn; 0: am2.weight
	Index   int              // of itself in its translation table, as its node number
	Table   int              // entries of the translation table, as the number of nodes
	Image   amfamily.Image   // handlers
	Segment []byte           // the memory that bulk goes to; the endpoint's while it is open
	Long    amfamily.Handler // if not nil, of all bulk: its header and arguments are the program's own, see amfamily.Long

	// Returned, if not nil, is called by Poll for each message that comes back, and may do what the handler of a reply may.
	Returned func(*Returned)
	// Lost, if not nil, is called by Poll when requests that the endpoint at an index has taken will not be replied to.
	Lost func(index int, why am2.Reason)
}

// Returned is a message that could not be delivered.
type Returned struct {
	amfamily.Message // From is the index that it was sent to, or -1 for an endpoint that is not in the table
	To               am2.Name
	Reply            bool
	Why              am2.Reason
}

// Endpoint is a process with an endpoint: its node in a virtual network.
type Endpoint struct {
	amfamily.End

	host    *Host
	profile *Profile
	number  uint16
	queues  *queues
	end     *am2.Endpoint
	options Options

	busy   bool             // a call uses the queues
	posted bool             // what the processor has written is in the SRAM
	sleeps bool             // what it does while it waits
	asleep bool             // what it has done last is to look in vain: if it is parked, it sleeps
	waking bool             // an interrupt wakes it, and it does not run yet
	holds  bool             // Hold has been called
	claims []claim          // of Claim, for Send
	long   int              // the place of Options.Long among the handlers
	called amfamily.Message // what the handler that runs was called with
	placed amfamily.Long    // and what it has besides
	failed error            // why messages are not delivered; Poll returns it
}

// Open makes an endpoint on a host. It is resident if a frame is free.
func (h *Host) Open(o Options) (*Endpoint, error) {
	p := h.program
	if o.Weight == 0 {
		o.Weight = p.profile.AM2.Weight
	}
	if o.Index < 0 || o.Index >= o.Table {
		return nil, fmt.Errorf("amii: an endpoint of index %d in a table of %d entries", o.Index, o.Table)
	}
	if len(p.numbered) == 1<<16 {
		return nil, fmt.Errorf("amii: node %d has %d endpoints, and numbers for no more", p.id, 1<<16)
	}
	image := o.Image
	if o.Long != nil {
		image = append(slices.Clip(image), o.Long)
	}
	e := &Endpoint{host: h, profile: p.profile, number: uint16(len(p.numbered)), options: o, long: len(o.Image)}
	e.End = amfamily.NewEnd(o.Index, o.Table, int(p.profile.AM2.Fragment), image)
	var err error
	if e.queues, err = newQueues(p, e, o.Weight); err != nil {
		return nil, err
	}
	if e.end, err = e.queues.bundle.NewEndpoint(e.number, incarnation, o.Tag, o.Weight, (*receiver)(e)); err != nil {
		return nil, err
	}
	if p.driver.free > 0 {
		p.driver.free--
		e.queues.place = resident
	}
	p.queues = append(p.queues, e.queues)
	p.numbered[e.number] = e.queues
	return e, nil
}

// incarnation is that of all endpoints: a host does not use a number twice.
const incarnation = 1

// Name returns the endpoint's name.
func (e *Endpoint) Name() am2.Name {
	return am2.Name{Addr: addressOf(e.host.program.id), Number: e.number, Incarnation: incarnation}
}

// Host returns the host that the endpoint is on.
func (e *Endpoint) Host() *Host { return e.host }

// Tag returns the tag that messages to the endpoint must match.
func (e *Endpoint) Tag() am2.Tag { return e.end.Tag() }

// SetTag changes the tag. It decides about packets that arrive from now on.
func (e *Endpoint) SetTag(t am2.Tag) { e.end.SetTag(t) }

// Map enters a remote endpoint, and the tag of messages to it, at an index of the translation table.
func (e *Endpoint) Map(index int, name am2.Name, tag am2.Tag) error {
	switch {
	case index < 0 || index >= e.options.Table:
		return fmt.Errorf("amii: index %d of a table of %d entries", index, e.options.Table)
	case !name.Addr.Addr().Is4() || nodeOf(name.Addr) >= len(e.host.program.routes):
		return fmt.Errorf("amii: %v is on no node; there are %d", name, len(e.host.program.routes))
	}
	return e.end.Map(uint32(index), name, tag)
}

// Unmap removes an entry of the translation table.
func (e *Endpoint) Unmap(index int) { e.end.Unmap(uint32(index)) }

// Segment returns the memory that bulk goes to.
func (e *Endpoint) Segment() []byte { return e.options.Segment }

// Resident reports whether the endpoint is in a frame of the NIC.
func (e *Endpoint) Resident() bool { return e.queues.place == resident }

// Stats returns what the protocol has done for the endpoint.
func (e *Endpoint) Stats() am2.Stats { return e.queues.bundle.Stats() }

// Unacknowledged returns how many packets of the endpoint wait to be sent, or for an acknowledgement.
func (e *Endpoint) Unacknowledged() int { return e.queues.bundle.Unacknowledged() }

// Waiting returns how many packets and returned messages Poll would take now: in an endpoint's queues they are delivered, as
// AM-II has it, and their handlers have not run.
func (e *Endpoint) Waiting() int { return e.queues.bundle.Backlog() }

// Close closes the endpoint: messages for it return to their senders from now on. Its process makes no further calls but Poll.
func (e *Endpoint) Close() {
	e.end.Close()
	e.queues.attend()
}

// Sleep says how the process waits: if sleeps, the NIC interrupts the host when something comes, and the process wakes up;
// otherwise it polls all the time.
func (e *Endpoint) Sleep(sleeps bool) { e.sleeps = sleeps }

// enter begins a use of the queues. If they are not resident, or are to leave, it lets the driver page them in.
func (e *Endpoint) enter() {
	p, q := e.Proc(), e.queues
	e.runs()
	if p.Sync(); q.place != resident || q.leaving {
		e.fault()
	}
	e.busy, q.usedAt = true, p.Now()
}

// fault waits until the queues are resident. They stay so for long enough: see driver.settling.
func (e *Endpoint) fault() {
	p, q := e.Proc(), e.queues
	e.Count.Traps++
	e.host.program.counts.Faults++
	p.Charge(e.profile.Driver.Fault)
	p.Sync()
	p.SetWaiting("the endpoint to be paged in")
	for q.leaving {
		p.Park(0)
	}
	for q.place != resident {
		e.host.program.driver.want(q)
		p.Park(0)
	}
}

// leave ends the use.
func (e *Endpoint) leave() {
	e.busy = false
	e.queues.attend()
}

// runs notes that the process calls, and so does not sleep.
func (e *Endpoint) runs() { e.asleep, e.waking = false, false }

// arrive has the process look again at what it waits for, unless it is being woken up.
func (e *Endpoint) arrive() {
	if p := e.Proc(); p != nil && !e.waking {
		p.Arrive()
	}
}

// come tells the process of what has come: by an interrupt if it sleeps.
func (e *Endpoint) come() {
	if !e.asleep || !e.Proc().Parked() {
		e.arrive()
		return
	}
	e.asleep, e.waking = false, true
	h := e.host
	h.program.counts.Interrupts++
	e.Count.Interrupts++
	h.loop.At(h.loop.Now()+e.profile.Driver.Interrupt+e.profile.Driver.Wakeup, e, 0, awake)
}

// The events of an endpoint.
const (
	awake   uint64 = iota // the process runs on
	written               // what the processor has written is in the SRAM
)

var endpointEvents = [...]string{"awake", "written"}

// Label implements vtime.Labelled.
func (e *Endpoint) Label(_, what uint64) string { return "AM-II endpoint: " + endpointEvents[what] }

// Fire implements vtime.Target.
func (e *Endpoint) Fire(_, what uint64) {
	if what == written {
		e.posted = true
	} else {
		e.waking = false
	}
	e.arrive()
}

// Request implements amfamily.Node. Data of up to am2.medium bytes travels as a medium, more as bulk, up to am2.fragment bytes; the
// handler is given it in the staging area. While there is no credit, or no room, it polls.
func (e *Endpoint) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := e.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	return e.request(to, opOf(kindOfLength(len(data)), handler, data), args[:], data)
}

// Bulk sends a request whose data, up to am2.bulk bytes, goes to an offset of the receiver's segment. The handler is given it there. If it
// does not fit, nothing is written, and the request is dropped and counted as malformed.
func (e *Endpoint) Bulk(to, handler int, args [amfamily.Args]uint32, data []byte, offset uint64) error {
	if err := e.CheckRequest(to, handler, 0); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	op := opOf(am2.Long, handler, data)
	op.Offset = offset
	return e.request(to, op, args[:], data)
}

// kindOfLength returns the kind of a message with so many bytes of data that are for no segment.
func kindOfLength(n int) am2.Kind {
	if n == 0 {
		return am2.Short
	}
	return am2.Medium
}

// opOf returns a message with the arguments that all have but a Long of amfamily.
func opOf(kind am2.Kind, handler int, data []byte) am2.Op {
	return am2.Op{Header: uint32(handler), Kind: kind, NArgs: amfamily.Args, Len: len(data)}
}

// unfit returns what is wrong with a message for which there is no place.
func (e *Endpoint) unfit(r am2.Result, to, size int) error {
	if r == am2.Unmapped {
		return fmt.Errorf("amii: node %d: nothing is at index %d of the translation table: call Map", e.ID(), to)
	}
	return fmt.Errorf("amii: node %d: %d bytes of data; a message has %d at most (am2.bulk)", e.ID(), size, e.profile.AM2.Bulk)
}

func (e *Endpoint) request(to int, op am2.Op, args []uint32, data []byte) error {
	op.Index = uint32(to)
	r := am2.NoRoom
	err := amfamily.Wait(e, "room for a request", func() bool {
		e.enter()
		if r = e.end.Reserve(&op); r != am2.Reserved {
			e.leave()
		}
		return r != am2.NoRoom
	})
	if err != nil {
		return err
	}
	if r != am2.Reserved {
		return e.unfit(r, to, len(data))
	}
	e.write(&op, args, data)
	e.end.Commit(&op)
	e.leave()
	return nil
}

// Reply implements amfamily.Node, with data as Request has it.
func (e *Endpoint) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := e.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	op := opOf(kindOfLength(len(data)), handler, data)
	return e.reply(m, &op, args[:], data)
}

// BulkReply is Bulk for the one reply to the request m.
func (e *Endpoint) BulkReply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte, offset uint64) error {
	if len(data) > int(e.profile.AM2.Bulk) {
		return e.unfit(am2.TooLong, 0, len(data))
	}
	if err := e.CheckReply(m, handler, 0); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	op := opOf(am2.Long, handler, data)
	op.Offset = offset
	return e.reply(m, &op, args[:], data)
}

func (e *Endpoint) reply(m *amfamily.Message, op *am2.Op, args []uint32, data []byte) error {
	if r := e.end.ReserveReply(op); r != am2.Reserved {
		return e.unfit(r, m.From, len(data))
	}
	e.write(op, args, data)
	e.end.CommitReply(op)
	e.queues.attend()
	return nil
}

// write writes a message that has its place: the descriptor into the frame, by the processor, and what of its words and data does not fit that
// into the staging area. Data is in either as a whole.
func (e *Endpoint) write(op *am2.Op, args []uint32, data []byte) {
	p := e.Proc()
	copy(op.Args[:], args)
	copy(op.Data, data)
	p.Charge(e.profile.Host.Send)
	whole := descriptorHeader + 4*len(args) + len(data)
	inline := whole
	if inline > int(e.profile.AM2.Descriptor) {
		inline = e.inDescriptor(len(args))
		p.Charge(e.profile.Host.Copy.Time(whole - inline))
		e.Count.Copied += uint64(whole - inline)
	}
	p.Sync()
	e.posted = false
	e.host.nic.HostWrite(inline, e, 0, written)
	for !e.posted {
		p.SetWaiting("the bus")
		p.Park(0)
	}
}

// inDescriptor returns how many bytes of a descriptor a message takes with its arguments, as many of them as there is room for.
func (e *Endpoint) inDescriptor(args int) int {
	return min(descriptorHeader+4*args, int(e.profile.AM2.Descriptor))
}

// Poll implements amfamily.Node: it takes fragments out of the staging area, and calls handlers. A poll of an endpoint that is not resident
// takes no fault if nothing has come.
func (e *Endpoint) Poll() (n int, err error) {
	if err := e.CheckPoll(); err != nil {
		return 0, fmt.Errorf("amii: %w", err)
	}
	p, q := e.Proc(), e.queues
	p.Sync()
	e.runs()
	p.Charge(e.profile.Host.Poll)
	if q.place == resident && !q.leaving || q.bundle.Backlog()+q.copies.Len() > 0 {
		e.enter()
		e.read(word)
		n = e.take()
		e.leave()
	}
	p.Sync()
	e.asleep = n == 0 && e.sleeps && q.bundle.Backlog()+q.copies.Len() == 0
	return n, e.failed
}

// read has the processor read from the frame.
func (e *Endpoint) read(bytes int) {
	p := e.Proc()
	p.Sync()
	p.Charge(e.host.nic.HostRead(bytes) - p.Now())
	p.Sync()
}

// word is what a processor reads at once.
const word = 4

// take takes what has come, and returns how much.
func (e *Endpoint) take() (n int) {
	p, q := e.Proc(), e.queues
	staged := 0
	for ; ; staged++ {
		f, ok := q.copies.Pop()
		if !ok {
			break
		}
		if f.kind == am2.Long {
			e.copyOut(f.size)
		}
	}
	p.Sync()
	for left := q.bundle.Backlog(); n < left && q.bundle.Deliver(q.Now(), 1) > 0; n++ { // what comes meanwhile is for the next poll
		p.Sync()
	}
	q.staged -= staged
	q.waiting = q.bundle.Backlog()
	return n + staged
}

// copyOut has the processor copy from the staging area to the segment.
func (e *Endpoint) copyOut(size int) {
	e.Proc().Charge(e.profile.Host.Copy.Time(size))
	e.Count.Copied += uint64(size)
}

// receiver is an endpoint as the protocol calls it: in Poll, but for Place.
type receiver Endpoint

// Place implements am2.Handler.
func (r *receiver) Place(m *am2.Message) []byte {
	s := r.options.Segment
	if m.Offset > uint64(len(s)) || uint64(m.Len) > uint64(len(s))-m.Offset {
		return nil
	}
	return s[m.Offset:][:m.Len]
}

// message returns a message as handlers know it.
func message(m *am2.Message) amfamily.Message {
	h := amfamily.Message{From: fromOf(m), Handler: int(m.Header), Data: m.Data}
	copy(h.Args[:], m.Args[:])
	return h
}

// fromOf returns the index of the other end of a message, or -1 if it has none.
func fromOf(m *am2.Message) int {
	if m.Index == am2.NoIndex {
		return -1
	}
	return int(m.Index)
}

// Arrived implements am2.Handler: the library reads the descriptor, and calls the handler.
func (r *receiver) Arrived(m *am2.Message) (replied bool) {
	e := (*Endpoint)(r)
	e.read(e.inDescriptor(m.NArgs))
	e.Proc().Charge(e.profile.Host.Receive)
	if m.Kind == am2.Long && m.Len <= int(e.profile.AM2.Medium) {
		e.copyOut(m.Len)
	}
	e.Proc().Sync()
	if m.Kind == am2.Long && e.options.Long != nil {
		e.placed = amfamily.Long{Header: m.Header, Args: m.Args[:m.NArgs], Offset: m.Offset, Len: m.Len}
		e.called = amfamily.Message{From: fromOf(m), Handler: e.long, Data: m.Data, Long: &e.placed}
	} else if m.NArgs == amfamily.Args && e.Known(int(m.Header)) && int(m.Header) != e.long && m.Len == len(m.Data) {
		e.called = message(m)
	} else {
		e.Count.Malformed++
		return false
	}
	if m.Reply {
		e.Settle(e, &e.called)
		return false
	}
	return e.Serve(e, &e.called)
}

// Returned implements am2.Handler.
func (r *receiver) Returned(m *am2.Message, why am2.Reason) {
	if r.holds && r.failed == nil {
		r.failed = fmt.Errorf("amii: node %d: a message to index %d came back: %v", r.ID(), int32(m.Index), why)
	}
	if f := r.options.Returned; f != nil {
		f(&Returned{Message: message(m), To: m.Remote(), Reply: m.Reply, Why: why})
	}
}

// Lost implements am2.Handler.
func (r *receiver) Lost(m *am2.Message, why am2.Reason) {
	if f := r.options.Lost; f != nil {
		f(fromOf(m), why)
	}
}
