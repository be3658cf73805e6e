package grim

import (
	"encoding/binary"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// duty is what a task is for.
type duty uint8

const (
	writes    duty = iota // RM-V or RM-P has come
	reads                 // RM-RV has come
	fills                 // its reply has come
	completes             // the initiator's end of another operation
)

// task is what an NI does with registered memory of its host for a message.
type task struct {
	duty   duty
	local  int           // the channel here
	answer control       // of writes and reads: the ACK
	flow   *inflow       // likewise: what the message belongs to
	header Header        // of reads
	bytes  []byte        // of reads: the reply
	packet fabric.Packet // of writes and fills: what has come
	length int           // and its bytes of payload
	asked  *message      // of fills and completes: the operation
	failed bool          // of completes: the memory was not registered

	spans   []span
	blocks  []lanai.Block // for the spans that have been translated
	regions []*Region     // that they are of
	taken   bool          // the message counts as accepted
	again   bool          // of reads: it had been accepted before, and its answer has been lost
	waits   bool          // for the host
	next    *task         // of those that are given back

	store struct {
		spans   [2]span
		blocks  [4]lanai.Block
		regions [4]*Region
	}
}

// span is bytes that a task moves between the SRAM and the host's memory.
type span struct {
	at       Remote
	physical bool
	sram     []byte
}

// store is work of the DMA engine between SRAM and host: it is done when so many blocks have been carried out.
type store struct {
	end  uint64
	task *task  // nil: a message for a program
	then func() // there is neither
}

// bytes returns the notification's value as the host has it.
func (n *Notification) bytes() []byte { return binary.LittleEndian.AppendUint32(nil, n.Value) }

// deposit has the DMA engine carry out blocks, and then ends a store.
func (p *Program) deposit(blocks []lanai.Block, s store) {
	for i, b := range blocks {
		b.Terminal = i == len(blocks)-1
		b.Signal = b.Terminal
		if err := p.store.Append(b); err != nil {
			panic(err) // the chain has room for what there can be: see storeBlocks
		}
	}
	p.deposited += uint64(len(blocks))
	if len(blocks) == 0 {
		p.nic.CPU.Raise(evStored)
	} else if err := p.store.Start(); err != nil {
		panic(err)
	}
	s.end = p.deposited
	p.stores.Push(s)
}

// storeBlocks returns how many control blocks there can be: for each receive buffer those of a message's pages and a notification, and a completion;
// for each message under way those of a completion and a notification; and a request to the host.
func (p *Profile) storeBlocks() int {
	pages := MaxPayload/int(p.GRIM.Page) + 2
	return p.GRIM.Buffers*(pages+2) + 2*tokens + 1
}

// acceptRM takes in a message of remote memory that is the next one of its flow.
func (p *Program) acceptRM(in *inflow, local int) {
	h, o := &p.header, &p.operation
	t := p.slab.task()
	t.local, t.flow, t.answer, t.header, t.again = local, in, p.answer, *h, h.Sequence != in.expected
	if o.Type == RMRV {
		if p.profile.GRIM.Buffers == 1 { // there is no buffer for what is fetched
			p.deny(t)
			return
		}
		if p.held >= p.profile.GRIM.Buffers-1 {
			if t.again {
				p.release() // it will come again
				p.slab.give(t)
			} else {
				p.refuseRM(t)
			}
			return
		}
		p.held++
		t.duty, t.length, t.bytes = reads, o.Length, p.slab.make(HeaderSize+Padded(o.Length))
		t.spans = append(t.spans, span{at: o.At, sram: t.bytes[HeaderSize : HeaderSize+o.Length]})
	} else {
		t.packet = p.done.Packet
		payload := t.packet.Bytes()[HeaderSize:]
		t.spans = append(t.spans, span{at: o.At, physical: o.Type == RMP, sram: payload[o.extension():h.Length]})
	}
	if o.Notify.Where == AtTarget {
		t.spans = append(t.spans, span{at: o.Notify.At, sram: o.Notify.bytes()})
	}
	p.begin(t, 0)
}

// refuseRM answers a message by a NACK.
func (p *Program) refuseRM(t *task) {
	p.answer = t.answer
	p.refuseNow(t.flow)
	p.slab.give(t)
}

// begin translates the addresses of a task, and then carries it out.
func (p *Program) begin(t *task, steps int) {
	p.task = t
	if t.virtual() {
		steps += p.profile.Steps.Translate
	}
	p.spend(steps, p.step.translate)
}

// virtual tells whether the next bytes of a task are at a virtual address.
func (t *task) virtual() bool {
	for _, s := range t.spans {
		if len(s.sram) > 0 {
			return !s.physical
		}
	}
	return false
}

// translate looks up where the next bytes of a task are. Bytes that are adjacent in physical memory are a control block.
func (p *Program) translate() {
	t := p.task
	for len(t.spans) > 0 {
		s := &t.spans[0]
		if len(s.sram) == 0 {
			t.spans = t.spans[1:]
			continue
		}
		block := lanai.Block{Direction: lanai.ToHost}
		if t.duty == reads {
			block.Direction = lanai.FromHost
		}
		if s.physical {
			var to taken
			if block.Host, to = p.host.memory.at(s.at.Offset, len(s.sram)); block.Host == nil {
				p.deny(t)
				return
			}
			if to.region != nil {
				t.regions = append(t.regions, to.region)
			} else if to.window.written != nil {
				block.Written = &deposited{to.window, int(s.at.Offset - to.at), len(block.Host)}
			}
		} else {
			r, offset := p.host.memory.locate(s.at)
			if r != nil {
				block.Host = p.cache.lookup(r, offset, len(s.sram))
			}
			if block.Host == nil {
				p.missed(t)
				return
			}
			t.regions = append(t.regions, r)
		}
		n := len(block.Host)
		block.SRAM = s.sram[:n:n]
		t.blocks = append(t.blocks, block)
		s.at, s.sram = s.at.plus(n), s.sram[n:]
		if t.virtual() {
			p.spend(p.profile.Steps.Translate, p.step.translate)
			return
		}
	}
	p.commit(t)
}

// deposited tells a device of bytes that have been written.
type deposited struct {
	window    *window
	offset, n int
}

// Fire implements vtime.Target.
func (d *deposited) Fire(_, _ uint64) { d.window.written(d.offset, d.n) }

// admit counts the message of a task as accepted.
func (p *Program) admit(t *task) {
	if t.flow == nil || t.taken {
		return
	}
	t.taken = true
	t.flow.pending++
	p.owed++
	if t.again {
		return
	}
	p.admitted(t.flow)
	p.counts.Received++
	p.note(Accepts, t.header.Sequence, t.header.Token)
}

// commit has the DMA engine move the bytes of a task whose addresses are all known.
func (p *Program) commit(t *task) {
	if slices.ContainsFunc(t.regions, func(r *Region) bool { return r.gone }) {
		p.deny(t)
		return
	}
	p.admit(t)
	if t.asked != nil && t.asked.operation != nil {
		outcome := opDone
		if t.failed {
			outcome = opDenied
		}
		w := p.signal[:]
		t.blocks = append(t.blocks, lanai.Block{Direction: lanai.ToHost, Host: w, SRAM: w, Written: t.asked.operation, Word: outcome})
	}
	p.deposit(t.blocks, store{task: t})
	p.spend(p.profile.Steps.Store, p.step.committed)
}

// deny gives a task up: the memory is not registered. Nothing has been written.
func (p *Program) deny(t *task) {
	p.task = t
	p.counts.Unregistered++
	t.spans, t.blocks, t.regions = nil, nil, nil
	if t.flow == nil {
		t.failed = true
		p.commit(t)
		return
	}
	p.admit(t)
	if p.timeOuts != nil {
		p.timeOuts.denied[denial{t.flow, t.header.Sequence}] = true
	}
	if t.duty == reads {
		p.held--
	}
	t.answer.message.Type = DENY
	p.answer = t.answer
	p.spend(p.profile.Steps.Control, p.step.denied)
}

// denied tells the initiator so.
func (p *Program) denied() {
	t := p.task
	p.owed--
	t.flow.pending--
	p.respond()
	p.release()
	p.resume(t)
	p.slab.give(t)
}

// committed goes on with another task, if one has waited for the host too.
func (p *Program) committed() { p.resume(p.task) }

// missed has a task wait until the host has said where memory is. Messages that follow it in its flow are refused meanwhile. It is refused itself if
// it would keep the last receive buffer, so that others go on.
func (p *Program) missed(t *task) {
	if !t.waits {
		if t.duty == writes && p.held >= max(1, p.profile.GRIM.Buffers-1) {
			p.refuseRM(t)
			return
		}
		p.admit(t)
		t.waits = true
		if t.flow != nil {
			t.flow.held = true
		}
		if t.keeps() {
			p.held++
		}
		p.misses.Push(t)
		if p.misses.Len() > 1 {
			return // others have asked before
		}
	}
	p.ask()
}

// keeps tells whether a task that waits keeps a receive buffer for that reason alone.
func (t *task) keeps() bool { return t.duty == writes || t.duty == fills }

// resume goes on with the task that waits for the host behind one that does not wait any more.
func (p *Program) resume(t *task) {
	if !t.waits {
		return
	}
	t.waits = false
	if t.flow != nil {
		t.flow.held = false
	}
	if t.keeps() {
		p.held--
	}
	p.misses.Drop()
	if p.misses.Len() > 0 {
		p.begin(*p.misses.At(0), 0)
	}
}

// endStore frees the buffers of messages that are in the host's memory, and ends tasks.
func (p *Program) endStore() {
	for p.stores.Len() > 0 && p.stores.At(0).end <= p.store.Finished() {
		s, _ := p.stores.Pop()
		t := s.task
		switch {
		case s.then != nil:
			s.then()
		case t == nil:
			p.release()
		case t.duty == writes:
			p.answer = t.answer
			t.flow.pending--
			p.port.Free(t.packet)
			p.slab.give(t)
			p.spend(p.profile.Steps.Control, p.step.written)
			return
		case t.duty == reads:
			p.owed--
			p.replies.Push(t)
			p.nic.CPU.Raise(evScan)
		default:
			m := t.asked
			p.note(Acknowledged, m.bytes[sequenceByte], m.bytes[tokenByte])
			p.owner(m).acknowledge(m)
			if t.duty == fills {
				p.port.Free(t.packet)
				p.release()
			}
			p.slab.give(t)
			p.nic.CPU.Raise(evScan)
		}
	}
}

// written acknowledges a write.
func (p *Program) written() {
	p.owed--
	p.respond()
	p.release()
	p.endStore()
}

// reply sends what has been fetched for RM-RV. The reply has the arguments of the request, its token and its sequence number, and stands for the ACK.
func (p *Program) reply() {
	t, _ := p.replies.Pop()
	t.flow.pending--
	p.replying = true
	route, _ := p.route(t.answer.node)
	if route == nil { // it has been taken away
		p.counts.NoRoute++
		p.free()
		return
	}
	h := &t.header
	h.Type, h.Source, h.Destination, h.Channel, h.Tree = RMReply, h.Destination, h.Source, uint16(t.local), 0
	h.Length = t.length
	h.Append(t.bytes[:0])
	p.starts()
	p.borrowed = t.bytes
	p.port.Inject(fabric.Packet{Head: route, Body: t.bytes})
	p.slab.give(t)
}

// replied frees the receive buffer that has left as a reply.
func (p *Program) replied() {
	if p.replying {
		p.replying = false
		p.held--
		p.release()
	}
}

// classifyReply goes on with the reply to an RM-RV that there is.
func (p *Program) classifyReply() bool {
	h := &p.header
	m := p.inFlight(h.Token, h.Sequence, h.Source)
	if m == nil || typeIn(m.bytes) != RMRV {
		return false
	}
	asked, err := DecodeHeader(m.bytes, len(m.bytes))
	if err != nil {
		panic(err) // the library has made it
	}
	o, err := DecodeOperation(&asked, m.bytes[HeaderSize:])
	if err != nil {
		panic(err)
	}
	if asked.Args != h.Args || asked.Handler != h.Handler || o.Length != h.Length || h.Destination != asked.Source {
		return false
	}
	m.answered = true
	p.settle(m)
	t := p.slab.task()
	t.duty, t.local, t.asked = fills, int(asked.Channel), m
	t.packet = p.done.Packet
	t.spans = append(t.spans, span{at: o.Local, sram: t.packet.Bytes()[HeaderSize : HeaderSize+o.Length]})
	if o.Notify.Where == AtInitiator {
		t.spans = append(t.spans, span{at: o.Notify.At, sram: o.Notify.bytes()})
	}
	p.begin(t, p.profile.Steps.Answered)
	return true
}

// complete ends an operation that has been acknowledged, or that the target has refused.
func (p *Program) complete(m *message, refused bool) {
	t := p.slab.task()
	t.duty, t.asked, t.failed = completes, m, refused
	h, err := DecodeHeader(m.bytes, len(m.bytes))
	if err != nil {
		panic(err) // the library has made it
	}
	t.local = int(h.Channel)
	if !refused && h.Handler&flagInitiator != 0 {
		o, err := DecodeOperation(&h, m.bytes[HeaderSize:])
		if err != nil {
			panic(err)
		}
		t.spans = append(t.spans, span{at: o.Notify.At, sram: o.Notify.bytes()})
	}
	m.answered = true
	p.settle(m)
	p.begin(t, 0)
}

// forget removes memory from the translation cache, and calls f when the tasks that have been committed are done.
func (p *Program) forget(r *Region, f func()) {
	p.cache.forget(r)
	if f != nil {
		p.deposit(nil, store{then: f})
	}
}

// owner returns the channel of a message that has a token.
func (p *Program) owner(m *message) *channel {
	return &p.channels[int(m.bytes[tokenByte])/(tokens/len(p.channels))]
}

// inFlight returns the message that has been sent to an endpoint with a token and a sequence number, and has not been answered; nil if there is none.
func (p *Program) inFlight(token, sequence uint8, to EndpointID) *message {
	if int(token) >= len(p.scoreboard) {
		return nil
	}
	m := p.scoreboard[token]
	if m == nil || m.state != sent && (p.timeOuts == nil || m.state != notSent) || m.answered || m.to != to || m.bytes[sequenceByte] != sequence {
		return nil
	}
	return m
}

// typeIn returns the type of a message of this NI's.
func typeIn(header []byte) Type { return Type(header[typeByte] >> 2) }
