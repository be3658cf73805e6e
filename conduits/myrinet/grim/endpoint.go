package grim

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Errors of Send.
var (
	// ErrFull says that the channel's queue has no room for the message, and that the endpoint has no overflow queue.
	ErrFull = errors.New("grim: the channel's queue is full: wait for OnRoom, or have an overflow queue")
	// ErrTooLarge says that a payload is larger than any message can have here.
	ErrTooLarge = errors.New("grim: the payload is too large")
)

// EndpointOptions are what an endpoint may have besides, or lack.
type EndpointOptions struct {
	// NoOverflow leaves out the overflow queue in the host's memory: Send fails with ErrFull when the channel's queue is full.
	NoOverflow bool
	// Thread has a thread of its own poll, so that messages are handled while the program computes, whatever Attend says. Each is
	// handed over to it, which takes host.thread besides.
	Thread bool
	// Limit, if not 0, is how many messages the endpoint may have under way that have not been answered by a message to it. What
	// is more finds the queue full. No application needs it: it is for comparison with credits.
	Limit int
	// Deliver, if not nil, is called for messages to handlers that have been announced: see Announce. It is a handler as others are.
	Deliver Handler
	// Proc, if not nil, is the coroutine of a program that takes its messages itself: see Take. The time of its calls is charged to it, and whatever it may
	// wait for calls its Arrive.
	Proc *vtime.Proc
}

// Endpoint is a program's access to GRIM: a channel of the NIC, and a queue for messages that have come, in the host's memory.
// Its methods are called by events of the loop, never block, and charge the time of calls to the endpoint's processor: each
// endpoint has its own. Handlers may call all of them. The methods of an endpoint with a coroutine are called on that.
type Endpoint struct {
	host    *Host
	id      EndpointID
	channel *channel
	options EndpointOptions
	cpu     vtime.Resource
	names   registry
	counts  EndpointCounts

	// Sending.
	sizes      fifo.Queue[int] // payloads of the messages in the channel's queue, with padding
	seen       uint64          // the channel's front register, as the library knows it
	appended   uint64          // messages so far
	writing    fifo.Queue[*message]
	overflow   fifo.Queue[outgoing]
	looking    bool // at the front register, now and then
	unanswered int  // of Limit
	onRoom     func()
	extension  [maxExtension]byte // of the message that is being placed
	refused    bool               // Send has returned ErrFull, and OnRoom's function has not been called since

	// Receiving.
	queue    ring               // the NIC's
	arrived  fifo.Queue[[]byte] // messages, not changed any more
	written  fifo.Queue[[]byte] // the NIC moves them, or is about to
	heedless bool               // messages wait for Poll
	polls    int                // messages that Poll has asked for
	pumping  bool               // one is on its way to its handler
	got      Message
	device   func(*Endpoint, *Message) vtime.Time // nil: a program
	program  polling                              // of an endpoint with a coroutine
}

// EndpointCounts is what an endpoint's library has done so far.
type EndpointCounts struct {
	Sent         uint64 // messages that Send has taken
	Received     uint64 // that have been handed to handlers
	Overflowed   uint64 // messages sent that had to wait in the overflow queue
	MostOverflow int    // of them at once
	Operations   uint64 // on remote memory that have been taken
	NoHandler    uint64 // messages dropped, as their handler is not known here
	BadRequest   uint64 // messages to the handler server, or from it, that no library sends
}

// outgoing is a message in the overflow queue.
type outgoing struct {
	header    Header
	extension []byte // the first bytes of the payload
	source    source // the others
	length    int    // and how many these are
	operation *operation
}

// Message is what has come. It is valid until the handler returns.
type Message struct {
	Source  EndpointID
	Handler HandlerID
	Args    [4]uint32
	Payload []byte
}

// Open makes an endpoint of a channel, which has none yet.
func (h *Host) Open(channel int, o EndpointOptions) (*Endpoint, error) {
	if o.Limit < 0 {
		return nil, fmt.Errorf("grim: a limit of %d messages", o.Limit)
	}
	e := &Endpoint{host: h, options: o, queue: ring{size: int(h.profile.GRIM.Receive)}}
	c, err := h.program.openChannel(channel, e)
	if err != nil {
		return nil, err
	}
	e.channel, e.id = c, h.program.endpoint(h.program.id, channel)
	e.names.start(e)
	return e, nil
}

// ID returns the endpoint's name in the cluster.
func (e *Endpoint) ID() EndpointID { return e.id }

// Counts returns what the endpoint's library has done so far.
func (e *Endpoint) Counts() EndpointCounts { return e.counts }

// Compute has the endpoint's processor work for a time. What the library does afterwards waits for it.
func (e *Endpoint) Compute(d vtime.Time) { e.cpu.Use(e.host.loop.Now(), d) }

// Free returns when the endpoint's processor has done what it has been given so far; calls take effect then.
func (e *Endpoint) Free() vtime.Time { return e.cpu.Use(e.host.loop.Now(), 0) }

// MostPayload returns the size of the largest payload that the channel's queue has room for, at most MaxPayload.
func (e *Endpoint) MostPayload() int { return e.channel.queue.most() }

// Send sends an active message to an endpoint. The payload is copied. Messages between two endpoints arrive in the order of
// the calls, each once; the network must be reliable, or the image have time-outs. A message that finds the channel's queue full waits in the overflow queue in the
// host's memory. Send fails, and sends nothing: with ErrFull if there is no such queue, with ErrTooLarge for more than MostPayload,
// with ErrUnreachable for hosts that are given up, and for endpoints of hosts that there are not, or that there is no route to.
func (e *Endpoint) Send(to EndpointID, handler HandlerID, args [4]uint32, payload []byte) error {
	if err := e.reachable(to); err != nil {
		return err
	}
	return e.send(Header{Type: AM, Destination: to, Handler: handler, Args: args}, payload)
}

// send is Send of a message whose header has no more than the caller wants of it.
func (e *Endpoint) send(h Header, payload []byte) error {
	switch {
	case len(payload) > e.MostPayload():
		return fmt.Errorf("%w: %d B; here there can be %d, of grim.queue, and nowhere more than %d", ErrTooLarge, len(payload), e.MostPayload(), MaxPayload)
	case int(e.host.profile.GRIM.Receive) < HeaderSize+Padded(len(payload)):
		return fmt.Errorf("%w: %d B are more than an endpoint can receive (grim.receive)", ErrTooLarge, len(payload))
	}
	h.Source, h.Channel, h.Length = e.id, uint16(e.channel.number), len(payload)
	m := outgoing{header: h, source: source{bytes: payload}, length: len(payload)}
	if e.overflow.Len() == 0 && e.place(&m) {
		e.counts.Sent++
		return nil
	}
	e.lookLater()
	if e.options.NoOverflow {
		e.refused = true
		return ErrFull
	}
	e.counts.Sent++
	m.source.bytes = append([]byte(nil), payload...)
	e.queueUp(m)
	return nil
}

// reachable fails for endpoints that messages cannot be sent to.
func (e *Endpoint) reachable(to EndpointID) error {
	p := e.host.program
	node, _ := p.place(to)
	switch {
	case node >= p.nodes:
		return fmt.Errorf("grim: endpoint %d would be at host %d; there are %d hosts of %d channels", to, node, p.nodes, len(p.channels))
	case p.timeOuts.gone(node):
		return fmt.Errorf("%w: host %d, after %d time-outs (grim.tries)", ErrUnreachable, node, p.profile.GRIM.Tries)
	}
	_, err := p.route(node)
	return err
}

// queueUp appends a message to the overflow queue.
func (e *Endpoint) queueUp(m outgoing) {
	e.counts.Overflowed++
	e.overflow.Push(m)
	e.counts.MostOverflow = max(e.counts.MostOverflow, e.overflow.Len())
}

// OnRoom has f called whenever there may be room in the channel's queue again after Send has failed with ErrFull.
func (e *Endpoint) OnRoom(f func()) { e.onRoom = f }

// place puts a message into the channel's queue, and reports false if there is no room. The library looks at the front register
// only if it knows of none.
func (e *Endpoint) place(m *outgoing) bool {
	limited := e.options.Limit > 0 && m.header.Type == AM
	if limited && e.unanswered >= e.options.Limit {
		return false
	}
	h, size := e.host, Padded(m.header.Length)
	fetch := e.parts(m)
	blocks := len(fetch)
	if fetch != nil && m.source.region != nil {
		blocks++ // that of the word which tells that the NIC has the bytes
	}
	if blocks > 0 && !h.program.loads(blocks) || !e.room(size) {
		return false
	}
	e.channel.queue.add(size)
	e.sizes.Push(size)
	if limited {
		e.unanswered++
	}
	q := h.program.slab.message()
	*q = message{bytes: h.program.slab.make(HeaderSize + size), to: m.header.Destination, state: notSent, index: e.appended, fetch: fetch}
	e.appended++
	q.from = HeaderSize + copy(q.bytes[HeaderSize:], m.extension)
	m.header.Append(q.bytes[:0])
	e.channel.messages.Push(q)
	take, write := h.profile.Host.Send, h.profile.Bus.WriteTime(len(q.bytes))
	if blocks > 0 {
		h.program.promised += blocks
		write = h.profile.Bus.WriteTime(q.from + blocks*lanai.BlockSize)
	}
	switch r := m.source.region; {
	case r == nil:
		copy(q.bytes[q.from:], m.source.bytes)
		if fetch != nil { // from a copy
			take += h.profile.Host.Copy.Time(size)
			q.fetch = append(fetch[:0], q.bytes[q.from:]) // nobody changes it, so that it stands for itself
		}
	case fetch == nil:
		copy(q.bytes[q.from:], r.bytes[m.source.offset:][:m.length])
	}
	if m.operation != nil {
		m.operation.placed(q, m)
	}
	e.writing.Push(q)
	h.loop.At(e.work(take+write)-write, e, 0, eventWritten)
	return true
}

// now returns when a call takes effect.
func (e *Endpoint) now() vtime.Time {
	if p := e.options.Proc; p != nil && !e.program.helped {
		return p.Now()
	}
	return max(e.Free(), e.host.loop.Now())
}

// work has the endpoint's processor work for a time, and returns when that is over.
func (e *Endpoint) work(d vtime.Time) vtime.Time {
	if p := e.options.Proc; p != nil && !e.program.helped {
		p.Charge(d)
		return p.Now()
	}
	return e.cpu.Use(e.host.loop.Now(), d)
}

// room reports whether the channel's queue has room for a message with so many bytes of payload, padding included.
func (e *Endpoint) room(size int) bool {
	return e.channel.queue.fits(size) || e.look() && e.channel.queue.fits(size)
}

// fetched tells whether the NIC fetches a payload by DMA.
func (e *Endpoint) fetched(size int) bool { return size > int(e.host.profile.GRIM.PIO) }

// look reads the channel's front register, and reports whether messages have left the queue.
func (e *Endpoint) look() bool {
	h := e.host
	e.work(h.profile.Host.Read)
	news := e.seen < e.channel.front
	for ; e.seen < e.channel.front; e.seen++ {
		size, _ := e.sizes.Pop()
		e.channel.queue.drop(size)
	}
	return news
}

// lookLater has the library look at the front register after a while, as a program that polls does.
func (e *Endpoint) lookLater() {
	if !e.looking {
		e.looking = true
		e.host.loop.At(max(e.now(), e.host.loop.Now()+e.host.profile.Host.Look), e, 0, eventLook)
	}
}

// lookAgain moves messages from the overflow queue to the channel's while there is room.
func (e *Endpoint) lookAgain() {
	e.looking, e.program.helped = false, true
	for e.overflow.Len() > 0 && e.place(e.overflow.At(0)) {
		e.overflow.Drop()
	}
	e.program.helped = false
	if e.overflow.Len() > 0 {
		e.lookLater()
	}
	if e.options.Proc != nil {
		e.returned()
	} else if e.refused {
		e.refused = false
		if e.onRoom != nil {
			e.onRoom()
		}
	}
}

// The events of an endpoint, by their second word.
const (
	eventWritten  uint64 = iota // the library has a message ready
	eventTold                   // the back register has been written
	eventLook                   // the library looks at the front register
	eventSeen                   // a program that polls has it
	eventHandled                // the library has decoded it
	eventFreed                  // the NIC has been told of the room
	eventReleased               // the program gives room back
	eventServed                 // a device is through with a message
)

var endpointEvents = [...]string{"message ready", "back register", "look", "message seen", "message handled", "room", "room given back", "message served"}

// Label implements vtime.Labelled.
func (e *Endpoint) Label(_, what uint64) string {
	return fmt.Sprintf("GRIM endpoint %d: %s", e.id, endpointEvents[what])
}

// Fire implements vtime.Target.
func (e *Endpoint) Fire(n, what uint64) {
	h := e.host
	switch what {
	case eventWritten:
		e.write()
	case eventTold:
		h.program.told(e.channel)
	case eventLook:
		e.lookAgain()
	case eventSeen:
		if e.options.Proc != nil {
			e.program.visible++
			e.options.Proc.Arrive()
		} else {
			e.pump()
		}
	case eventHandled:
		e.handle()
	case eventFreed:
		for range n {
			e.queue.give()
		}
		h.program.hasRoom(e.channel)
	case eventServed:
		e.served()
	case eventReleased:
		h.nic.HostWrite(word, e, n, eventFreed)
	}
}

// write has the first message that is ready cross the bus, or its header and the order to fetch its payload. The write to the
// back register follows it.
func (e *Endpoint) write() {
	h := e.host
	m, _ := e.writing.Pop()
	if m.fetch == nil {
		m.loaded = true
		h.nic.HostWrite(len(m.bytes), nil, 0, 0)
		h.nic.HostWrite(word, e, 0, eventTold)
		return
	}
	p := h.program
	blocks := p.blocks[:0]
	at := m.from
	for _, b := range m.fetch {
		blocks = append(blocks, lanai.Block{Direction: lanai.FromHost, Host: b, SRAM: m.bytes[at : at+len(b)]})
		at += len(b)
	}
	blocks[len(blocks)-1].Signal = true
	p.ordered += uint64(len(blocks))
	p.loading.Push(loading{m, p.ordered})
	if m.fetched != nil {
		w := p.signal[:]
		blocks = append(blocks, lanai.Block{Direction: lanai.ToHost, Host: w, SRAM: w, Written: m.fetched, Word: opFetched})
		p.ordered++
	}
	blocks[len(blocks)-1].Terminal = true
	p.blocks = blocks
	p.promised -= len(blocks)
	h.nic.HostWrite(m.from+len(blocks)*lanai.BlockSize, nil, 0, 0)
	for _, b := range blocks {
		if err := p.load.Append(b); err != nil {
			panic(err) // there was room when the message was placed
		}
	}
	if err := p.load.HostStart(); err != nil {
		panic(err)
	}
	h.nic.HostWrite(word, e, 0, eventTold)
}

// reserve takes room for a message of a size in the endpoint's queue, and reports false if there is none. The NI does it.
func (e *Endpoint) reserve(size int) bool {
	_, ok := e.queue.take(size)
	return ok
}

// reserved returns the memory that was reserved last, for a message. Nobody writes to a message that is on its way, or changes it when it has come: so its bytes
// stand for themselves in the host's memory too.
func (e *Endpoint) reserved(message []byte) []byte {
	e.written.Push(message)
	return message
}

// arrival is the endpoint as the NI's DMA tells it that a message is there.
type arrival Endpoint

// Fire implements vtime.Target.
func (a *arrival) Fire(_, _ uint64) {
	e := (*Endpoint)(a)
	b, _ := e.written.Pop()
	e.arrived.Push(b)
	if e.device != nil {
		e.serveDevice()
		return
	}
	e.host.loop.At(e.host.loop.Now()+e.host.profile.Host.Visible, e, 0, eventSeen)
}

// Attend says whether the program polls all the time, as it does at first, or computes: then messages wait for Poll.
func (e *Endpoint) Attend(polls bool) {
	e.heedless = !polls
	e.pump()
}

// Poll has up to n of the messages that have arrived handled.
func (e *Endpoint) Poll(n int) {
	e.polls = max(e.polls, min(n, e.arrived.Len()))
	e.pump()
}

// Waiting returns how many messages have arrived and have not been handled.
func (e *Endpoint) Waiting() int { return e.arrived.Len() }

// pump takes the next message, if the program polls.
func (e *Endpoint) pump() {
	if e.pumping || e.arrived.Len() == 0 || e.heedless && e.polls == 0 && !e.options.Thread {
		return
	}
	e.polls = max(0, e.polls-1)
	e.pumping = true
	take := e.host.profile.Host.Receive
	if e.options.Thread {
		take += e.host.profile.Host.Thread
	}
	e.host.loop.At(e.cpu.Use(e.host.loop.Now(), take), e, 0, eventHandled)
}

// handle calls the handler of the first message, and gives its room back. The program takes the next message when its processor
// has done what the handler has given it to do.
func (e *Endpoint) handle() {
	h := e.host
	first := *e.arrived.At(0)
	e.call(e.next())
	if typeIn(first) == AM && !h.program.image.Incoming { // others may have more than one owner
		h.program.port.Free(fabric.Packet{Head: first})
	}
	h.nic.HostWrite(word, e, 1, eventFreed)
	e.pumping = false
	if e.arrived.Len() > 0 {
		h.loop.At(e.Free(), e, 0, eventSeen)
	}
}

// next takes the first message out of the queue, and decodes it.
func (e *Endpoint) next() *Message {
	b, _ := e.arrived.Pop()
	header, err := DecodeHeader(b, len(b))
	if err != nil {
		panic(err) // the NI has read it
	}
	e.unanswered = max(0, e.unanswered-1)
	e.got = Message{Source: header.Source, Handler: header.Handler, Args: header.Args, Payload: b[HeaderSize : HeaderSize+header.Length : HeaderSize+header.Length]}
	if header.Type == Multicast { // the source is the forwarder that it has come from last
		e.got.Source = e.host.program.trees[header.Tree].root
	}
	return &e.got
}

// call calls the handler of a message.
func (e *Endpoint) call(m *Message) {
	f := e.names.handler(m.Handler)
	if f == nil && m.Handler >= firstHandler {
		f = e.options.Deliver
	}
	if f != nil {
		e.counts.Received++
		f(e, m)
	} else {
		e.counts.NoHandler++
	}
}
