package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Transfer is a piece of work for the DMA engine. Offset, size and lengths must be multiples of
// dma.align, and the size at most dma.most. The engine reads Src as it goes along, so it must
// not be changed until the queue is done; Dst changes burst by burst as the bytes arrive.
type Transfer struct {
	Peer     *Node  // the other node
	Dst, Src []byte // of one length; Src is local memory and Dst the peer's, or with Read the other way round
	Off      int    // of the peer's memory in its segment
	Read     bool   // from the peer to here
}

// Queue is a list of transfers for the DMA engine of a node, which carries them out in order.
// Queues are dealt out to the engine's channels in turn; a channel works on one queue at a
// time, first come, first served. What one channel sends to one node arrives in order, but is
// not ordered with stores of the CPU.
type Queue struct {
	n       *Node
	channel int

	transfers []Transfer
	done      func(Outcome)
	current   int // transfer that is next to be read
	pos       int // and how far it has been
	flying    int // bursts without an answer
	outcome   Outcome

	posted   bool // until done is called
	stepping bool // an event will go on
	held     bool // an answer must come before it goes on
	abort    bool
}

// channel is a channel of the DMA engine.
type channel struct {
	active  *Queue
	waiting []*Queue
}

// NewQueue makes a queue.
func (n *Node) NewQueue() *Queue {
	channels := n.m.profile.DMA.Channels
	if n.channels == nil {
		n.channels = make([]channel, channels)
	}
	q := &Queue{n: n, channel: n.queues % channels}
	n.queues++
	return q
}

// Post starts the engine on a list of transfers, which it keeps until done has been called, by
// an event and with the worst outcome. It charges the CPU for the descriptors and the call.
// After the first failure the rest is not begun. It returns an error, and does nothing, if the
// queue is at work already or a transfer is not fit for the engine. Only the node's own proc
// may call it.
func (q *Queue) Post(transfers []Transfer, done func(Outcome)) error {
	if q.posted {
		return fmt.Errorf("hardware: node %d: a DMA queue was posted that is at work; wait until it is done", q.n.id)
	}
	d := &q.n.m.profile.DMA
	for i := range transfers {
		if err := q.n.m.fit(&transfers[i]); err != nil {
			return fmt.Errorf("hardware: node %d: DMA transfer %d: %w", q.n.id, i, err)
		}
	}
	q.transfers, q.done = transfers, done
	q.current, q.pos, q.outcome = 0, 0, Delivered
	q.posted, q.abort = true, false
	q.n.proc.Charge(d.Post + vtime.Time(len(transfers))*d.Entry)
	q.at(q.n.proc.Now()+d.Start, begin)
	return nil
}

// fit tells why the engine cannot carry a transfer out.
func (m *Machine) fit(t *Transfer) error {
	d := &m.profile.DMA
	align := int(d.Align) - 1
	switch {
	case len(t.Dst) != len(t.Src):
		return fmt.Errorf("%d bytes into %d", len(t.Src), len(t.Dst))
	case t.Off&align != 0 || len(t.Src)&align != 0:
		return fmt.Errorf("%d bytes at offset %d: both must be multiples of %d", len(t.Src), t.Off, d.Align)
	case len(t.Src) > int(d.Most):
		return fmt.Errorf("%d bytes; the engine moves at most %d", len(t.Src), d.Most)
	}
	return nil
}

// Abort stops the queue before its next burst: done will be called with Aborted unless all was
// sent already. Only the node's own proc may call it.
func (q *Queue) Abort() {
	q.n.proc.Sync()
	q.abort = q.posted
}

// The queue's events.
const (
	begin  uint64 = iota // the doorbell has reached the engine
	step                 // the bus is free for the next burst
	finish               // the engine has written the state
)

var queueEvents = [...]string{"begin", "step", "finish"}

// Label implements vtime.Labelled.
func (q *Queue) Label(event, _ uint64) string {
	return fmt.Sprintf("DMA %s of node %d, channel %d", queueEvents[event], q.n.id, q.channel)
}

// Fire implements vtime.Target.
func (q *Queue) Fire(event, _ uint64) {
	switch event {
	case begin:
		q.begin()
	case step:
		q.step()
	case finish:
		q.finish()
	}
}

func (q *Queue) at(t vtime.Time, event uint64) { q.n.m.kernel.At(t, q, event, 0) }

// begin starts the queue if its channel is idle.
func (q *Queue) begin() {
	ch := &q.n.channels[q.channel]
	if ch.active != nil {
		ch.waiting = append(ch.waiting, q)
		return
	}
	ch.active = q
	q.goOn(q.n.m.kernel.Now())
}

// goOn has the engine take up the current transfer at a time, or ends the queue.
func (q *Queue) goOn(at vtime.Time) {
	for q.current < len(q.transfers) && len(q.transfers[q.current].Src) == 0 {
		q.current++
	}
	if q.current == len(q.transfers) {
		q.end()
		return
	}
	if q.pos == 0 {
		at += q.n.m.profile.DMA.Fetch
	}
	q.stepping = true
	q.at(at, step)
}

// step sends the next burst, or waits for answers if too many are missing.
func (q *Queue) step() {
	q.stepping = false
	d := &q.n.m.profile.DMA
	switch {
	case q.stopped():
		q.end()
	case q.flying == d.Outstanding:
		q.held = true
	default:
		q.burst()
	}
}

// stopped tells whether nothing more is to be sent.
func (q *Queue) stopped() bool { return q.abort || q.outcome != Delivered || q.n.lost }

// burst sends the next burst of the current transfer. It goes up to a multiple of dma.burst.
func (q *Queue) burst() {
	t := &q.transfers[q.current]
	size := int(q.n.m.profile.DMA.Burst)
	size = min(len(t.Src)-q.pos, size-(t.Off+q.pos)&(size-1))
	k := dmaWrite
	if t.Read {
		k = dmaRead
	}
	p := q.n.m.packet(k, q.n, t.Peer)
	p.queue, p.dst, p.src = q, t.Dst[q.pos:q.pos+size], t.Src[q.pos:q.pos+size]
	if k == dmaWrite {
		p.data = append(p.data, p.src...)
	}
	q.flying++
	if q.pos += size; q.pos == len(t.Src) {
		q.current++
		q.pos = 0
	}
	p.inject()
}

// ready says when the burst that was sent last has crossed the bus.
func (q *Queue) ready(at vtime.Time) { q.goOn(at) }

// answered takes the outcome of one burst.
func (q *Queue) answered(o Outcome) {
	q.flying--
	q.outcome = max(q.outcome, o)
	switch {
	case q.held:
		q.held = false
		q.step()
	case !q.stepping:
		q.end()
	}
}

// end ends the queue's work when no answer is missing any more.
func (q *Queue) end() {
	if q.flying > 0 || q.stepping || q.held {
		return
	}
	if q.abort && q.current < len(q.transfers) {
		q.outcome = Aborted
	}
	m := q.n.m
	q.at(m.kernel.Now()+m.profile.DMA.Complete, finish)
}

// finish hands the channel to the next queue and reports.
func (q *Queue) finish() {
	ch := &q.n.channels[q.channel]
	ch.active = nil
	q.posted = false
	if len(ch.waiting) > 0 {
		first := ch.waiting[0]
		ch.waiting = ch.waiting[:copy(ch.waiting, ch.waiting[1:])]
		first.begin()
	}
	if !q.n.lost {
		q.done(q.outcome)
	}
}
