package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/hw"
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
	chain   hw.Chain

	transfers []Transfer
	done      func(Outcome)
	outcome   Outcome
}

// NewQueue makes a queue.
func (n *Node) NewQueue() *Queue {
	channels := n.m.profile.DMA.Channels
	if n.channels == nil {
		n.channels = make([]hw.Channel, channels)
	}
	q := &Queue{n: n, channel: n.queues % channels}
	q.chain = hw.NewChain(&n.m.kernel.Loop, &n.m.profile.Engine, &n.channels[q.channel], q)
	n.queues++
	return q
}

// Post starts the engine on a list of transfers, which it keeps until done has been called, by
// an event and with the worst outcome. It charges the CPU for the descriptors and the call.
// After the first failure the rest is not begun. It returns an error, and does nothing, if the
// queue is at work already or a transfer is not fit for the engine. Only the node's own proc
// may call it.
func (q *Queue) Post(transfers []Transfer, done func(Outcome)) error {
	if q.chain.Posted() {
		return fmt.Errorf("hardware: node %d: a DMA queue was posted that is at work; wait until it is done", q.n.id)
	}
	d := &q.n.m.profile.DMA
	for i := range transfers {
		if err := q.n.m.fit(&transfers[i]); err != nil {
			return fmt.Errorf("hardware: node %d: DMA transfer %d: %w", q.n.id, i, err)
		}
	}
	q.transfers, q.done, q.outcome = transfers, done, Delivered
	q.n.Expect()
	q.n.proc.Charge(d.Post + vtime.Time(len(transfers))*d.Entry)
	q.chain.Post(q.n.proc.Now())
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
	q.chain.Abort()
}

// Label implements vtime.Labelled.
func (q *Queue) Label(event, _ uint64) string {
	return fmt.Sprintf("DMA %s of node %d, channel %d", hw.ChainEvents[event], q.n.id, q.channel)
}

// Fire implements vtime.Target: an event of its chain.
func (q *Queue) Fire(event, b uint64) { q.chain.Fire(event, b) }

// Block implements hw.Work. Bursts are aligned as in the peer's segment.
func (q *Queue) Block(i int) (off, size int, ok bool) {
	if i == len(q.transfers) {
		return 0, 0, false
	}
	return q.transfers[i].Off, len(q.transfers[i].Src), true
}

// Halted implements hw.Work: after a failure, and when the host is lost.
func (q *Queue) Halted() bool { return q.outcome != Delivered || q.n.lost }

// Send implements hw.Work.
func (q *Queue) Send(i, pos, n int) {
	t := &q.transfers[i]
	k := dmaWrite
	if t.Read {
		k = dmaRead
	}
	p := q.n.m.packet(k, q.n, t.Peer)
	p.queue, p.dst, p.src = q, t.Dst[pos:pos+n], t.Src[pos:pos+n]
	if k == dmaWrite {
		q.n.Look()
		p.carry(p.src)
	}
	p.injectNow()
}

// answered takes the outcome of one burst.
func (q *Queue) answered(o Outcome) {
	q.outcome = max(q.outcome, o)
	q.chain.Answered()
}

// Done implements hw.Work.
func (q *Queue) Done(aborted bool) {
	q.n.Came()
	if aborted {
		q.outcome = Aborted
	}
	if !q.n.lost {
		q.done(q.outcome)
	}
}
