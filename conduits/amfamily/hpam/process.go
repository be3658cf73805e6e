package hpam

import (
	"fmt"
	"math"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Process is a process of a program on a workstation: a node of HPAM.
type Process struct {
	amfamily.End

	w        *Workstation
	key      uint32
	partners []partner // by node; the state that is swapped with the process
	calling  bool      // in a call, in which the daemon does not stop it
	timer    *vtime.Timer

	answering header           // the request whose handler runs
	message   amfamily.Message // whose handler runs
	holds     bool             // see Hold

	input  fifo.Queue[frame] // messages that came while another process was active
	output fifo.Queue[frame] // messages for other processes
}

// A partner is the buffers for another node of the program.
type partner struct {
	requests []request
	replies  []reply
	claimed  int // request buffers, see Claim
}

// A request is the descriptor of a request buffer.
type request struct {
	sendBuffer
	seq      uint32 // of the last request
	taken    bool   // until the handler of the reply has returned
	deadline vtime.Time
	tries    int
}

// A reply is the descriptor of a reply buffer.
type reply struct {
	sendBuffer
	seq uint32 // of the request that it replies to; 0: none yet
}

func newProcess(w *Workstation, key uint32, nodes int, image amfamily.Image) *Process {
	p := &Process{End: amfamily.NewEnd(w.card.id, nodes, w.p.Most(), image), w: w, key: key, partners: make([]partner, nodes)}
	for i := range p.partners {
		if i == w.card.id {
			continue
		}
		p.partners[i] = partner{requests: make([]request, w.p.HPAM.Buffers), replies: make([]reply, w.p.HPAM.Buffers)}
		for j := range w.p.HPAM.Buffers {
			p.partners[i].requests[j].to, p.partners[i].replies[j].to = i, i
		}
	}
	p.timer = w.loop.NewTimer(p, 0, 0)
	return p
}

// Fire implements vtime.Target: a request's timer expires, for a process that sleeps.
func (p *Process) Fire(_, _ uint64) { p.Proc().Arrive() }

// Label implements vtime.Labelled.
func (p *Process) Label(_, _ uint64) string { return "hpam timer" }

// Key returns the key of the process's program.
func (p *Process) Key() uint32 { return p.key }

// Active tells whether the process may use the card.
func (p *Process) Active() bool { return p.w.active == p && p.w.next == nil }

// enter begins a call, in which the daemon does not stop the process. It reports false if the process is stopped.
func (p *Process) enter() bool {
	p.Proc().Sync()
	p.calling = p.Active()
	return p.calling
}

// leave ends a call: if the daemon wants to stop the process, it does now.
func (p *Process) leave() {
	p.Proc().Sync()
	p.calling = false
	p.w.tryStop()
}

// Request implements amfamily.Node. While all request buffers for the partner are taken it polls.
func (p *Process) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := p.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("hpam: %w", err)
	}
	for !p.enter() || p.free(to) < 0 {
		if p.calling {
			p.leave()
		}
		if err := amfamily.Wait(p, "a request buffer", func() bool { return p.Active() && p.free(to) >= 0 }); err != nil {
			return err
		}
	}
	p.request(to, p.free(to), &header{handler: uint16(handler), args: args}, data)
	p.leave()
	return nil
}

// Room tells whether a request to a node would find a buffer now.
func (p *Process) Room(to int) bool { return p.free(to) >= 0 }

// free returns a request buffer that may be written to, or -1.
func (p *Process) free(to int) int {
	for i := range p.partners[to].requests {
		if r := &p.partners[to].requests[i]; !r.taken && !r.queued {
			return i
		}
	}
	return -1
}

func (p *Process) request(to, buffer int, h *header, data []byte) {
	r := &p.partners[to].requests[buffer]
	r.seq++
	r.taken, r.tries = true, 0
	h.key, h.seq, h.kind, h.buffer = p.key, r.seq, aRequest, uint8(buffer)
	p.write(&r.sendBuffer, h, data)
	p.send(r)
}

// write formats a message in a buffer of the card.
func (p *Process) write(b *sendBuffer, h *header, data []byte) {
	p.touch(b)
	b.data = encode(b.data, h, data)
	p.Proc().Charge(p.w.p.HPAM.Send + p.w.p.store(len(b.data)))
	p.Count.Copied += uint64(len(data))
	p.Proc().Sync()
}

// post puts a buffer's pointer into the TX_READY_FIFO.
func (p *Process) post(b *sendBuffer) {
	p.Proc().Charge(p.w.p.store(wordBytes))
	p.Proc().Sync()
	p.touch(b)
	p.w.card.post(b)
}

// touch counts a use of a buffer that is a hazard.
func (p *Process) touch(b *sendBuffer) {
	if p.Proc().Sync(); b.queued || p.w.active != p {
		p.w.card.Hazards++
	}
}

// wordBytes is how long pointers in the card's queues are.
const wordBytes = 4

// send sends a request, and starts its timer.
func (p *Process) send(r *request) {
	p.post(&r.sendBuffer)
	r.tries++
	r.deadline = p.Proc().Now() + p.w.p.HPAM.Timeout
	p.arm()
}

// arm sets the timer for the first deadline.
func (p *Process) arm() {
	p.Proc().Sync()
	p.timer.Stop()
	p.each(func(r *request) {
		if at, set := p.timer.Set(); r.taken && (!set || r.deadline < at) {
			p.timer.Reset(max(r.deadline, p.w.loop.Now()))
		}
	})
}

// each calls f for all request buffers whose requests have timers.
func (p *Process) each(f func(*request)) {
	if p.holds {
		return
	}
	for i := range p.partners {
		for j := range p.partners[i].requests {
			f(&p.partners[i].requests[j])
		}
	}
}

// Reply implements amfamily.Node: it writes into the reply buffer that belongs to the request's.
func (p *Process) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := p.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("hpam: %w", err)
	}
	p.reply(m.From, p.answering, &header{handler: uint16(handler), args: args}, data)
	return nil
}

func (p *Process) reply(to int, asked header, h *header, data []byte) {
	r := &p.partners[to].replies[asked.buffer]
	h.key, h.seq, h.kind, h.buffer = p.key, asked.seq, aReply, asked.buffer
	p.write(&r.sendBuffer, h, data)
	p.post(&r.sendBuffer)
}

// Poll implements amfamily.Node: the input queue, then the network, then the timers.
func (p *Process) Poll() (n int, err error) {
	if err := p.CheckPoll(); err != nil {
		return 0, fmt.Errorf("hpam: %w", err)
	}
	if !p.enter() {
		return 0, nil // a process that is stopped runs on when the daemon has started it
	}
	defer p.leave()
	for {
		f, ok := p.input.Pop()
		if !ok {
			break
		}
		p.Proc().Charge(p.w.p.Memory.Copy.Time(len(f.data)))
		p.Proc().Sync()
		n += p.take(f)
	}
	card, most := p.w.card, math.MaxInt
	if p.holds {
		most = max(1, card.rx.Len()) // what comes while handlers run is for the next poll
	}
	for range most {
		p.Proc().Charge(p.w.p.load(wordBytes))
		p.Proc().Sync()
		f, ok := card.rx.Pop()
		if !ok {
			break
		}
		n += p.network(f)
	}
	return n, p.expired()
}

// network takes a frame from a receive buffer, which is free when the processor has read it.
func (p *Process) network(f frame) (n int) {
	p.Proc().Charge(p.w.p.load(len(f.data)))
	p.Proc().Sync()
	p.w.card.release()
	p.Count.Copied += uint64(max(0, len(f.data)-headerBytes))
	key, ok := keyOf(f.data)
	switch {
	case !ok:
		p.Count.Malformed++
	case key != p.key:
		p.Count.Foreign++
		p.Count.Copied += uint64(len(f.data) - headerBytes)
		p.Proc().Charge(p.w.p.HPAM.Queue + p.w.p.Memory.Copy.Time(len(f.data)))
		p.output.Push(f)
		return 0
	default:
		n = p.take(f)
	}
	p.w.card.ring.recycle(f)
	return n
}

// take handles a message of the program, and returns whether a handler has run, as 0 or 1.
func (p *Process) take(f frame) int {
	h, data, ok := decode(f.data)
	if !ok || int(h.buffer) >= p.w.p.HPAM.Buffers || h.seq == 0 || f.from == p.ID() || h.handler != noHandler && !p.Known(int(h.handler)) {
		p.Count.Malformed++
		return 0
	}
	p.Proc().Charge(p.w.p.HPAM.Receive)
	p.Proc().Sync()
	p.message = amfamily.Message{From: f.from, Handler: int(h.handler), Args: h.args, Data: data}
	if h.kind == aRequest {
		return p.requested(h, &p.message)
	}
	return p.replied(h, &p.message)
}

// requested runs the handler of a request that is new, and replies again to one that has come before.
func (p *Process) requested(h header, m *amfamily.Message) int {
	r := &p.partners[m.From].replies[h.buffer]
	switch {
	case int32(h.seq-r.seq) < 0:
		p.Count.Duplicates++
		return 0
	case h.seq == r.seq:
		p.Count.Duplicates++
		if !r.queued {
			p.Count.Resent++
			p.post(&r.sendBuffer)
		}
		return 0
	}
	p.untilSent(&r.sendBuffer)
	r.seq = h.seq
	p.answering = h
	if !p.Serve(p, m) {
		p.reply(m.From, h, &header{handler: noHandler}, nil)
	}
	return 1
}

// untilSent waits for the card to send a buffer that is to be written to. That depends on no other node's program.
func (p *Process) untilSent(b *sendBuffer) {
	for b.queued {
		p.Proc().SetWaiting("a reply buffer to leave the card")
		p.Proc().Park(p.w.p.load(wordBytes))
	}
}

// replied runs the handler of a reply, which frees the request's buffer.
func (p *Process) replied(h header, m *amfamily.Message) int {
	r := &p.partners[m.From].requests[h.buffer]
	if !r.taken || r.seq != h.seq {
		p.Count.Duplicates++
		return 0
	}
	if h.handler != noHandler {
		p.Settle(p, m)
	}
	r.taken = false
	p.arm()
	return 1
}

// expired sends requests again whose replies are late.
func (p *Process) expired() (err error) {
	now := p.Proc().Now()
	p.each(func(r *request) {
		switch {
		case err != nil || !r.taken || r.deadline > now:
		case r.tries >= p.w.p.HPAM.Tries:
			err = fmt.Errorf("hpam: node %d: no reply from node %d to a request that was sent %d times, %v apart", p.ID(), r.to, r.tries, p.w.p.HPAM.Timeout)
		case r.queued: // the ring was late, not the partner
			r.deadline = now + p.w.p.HPAM.Timeout
			p.arm()
		default:
			p.Count.Resent++
			p.send(r)
		}
	})
	return err
}
