package sisci

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// DMAAlignment is what DMA requires live of offsets and sizes, in bytes. A modelled machine
// may have another requirement: see QueryDMASizeAlignment.
const DMAAlignment = 8

// dmaAlignment returns what DMA requires of offsets and sizes.
func (d *Device) dmaAlignment() int {
	if d.host != nil {
		return int(d.host.profile().DMA.Align)
	}
	return DMAAlignment
}

// dmaMost returns the bytes of the largest transfer.
func (d *Device) dmaMost() int {
	if d.host != nil {
		return int(d.host.profile().DMA.Most)
	}
	return math.MaxInt &^ (DMAAlignment - 1) // live there is no engine to limit it
}

// DMAState is the state of a DMA queue; the numbers are the published ones.
type DMAState uint8

// The states.
const (
	DMAIdle    DMAState = iota // nothing is in it
	DMAGather                  // transfers are in it
	DMAPosted                  // the engine works on them
	DMADone                    // it has finished
	DMAAborted                 // it was stopped
	DMAError                   // a transfer failed
)

// String returns the state's published name in lower case.
func (s DMAState) String() string {
	names := [...]string{"idle", "gather", "posted", "done", "aborted", "error"}
	if int(s) >= len(names) {
		return fmt.Sprintf("DMAState(%d)", uint8(s))
	}
	return names[s]
}

// DMAQueue is a list of transfers for the DMA engine. Live there is no engine: the
// processor that calls Post does the copying before Post returns, and only others can see
// the queue in DMAPosted. Under a model the engine works beside the processor.
type DMAQueue struct {
	dev     *Device
	max     int
	state   DMAState // guarded by dev.mu, like what follows
	entries []transfer
	abort   bool    // the posted queue shall stop
	engine  *engine // nil live
	closed  bool
}

// transfer is an entry of a queue. Its segments cannot go away while it is queued.
type transfer struct {
	local    *LocalSegment
	remote   *RemoteSegment
	dst, src []byte
	to       int // offset in the remote segment
	read     bool
}

// CreateDMAQueue makes a queue for up to max transfers.
//
// Errors: ErrIllegalParameter for a max that is not positive, or that the modelled machine
// does not have; ErrNotInitialized.
func (d *Device) CreateDMAQueue(max int) (*DMAQueue, error) {
	d.step(callCreate)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errClosed("create a DMA queue")
	case max <= 0 || d.host != nil && max > d.host.profile().Limit.DMAQueue:
		return nil, ErrIllegalParameter.at("create a DMA queue of %d entries", max)
	}
	d.queues++
	q := &DMAQueue{dev: d, max: max}
	if d.host != nil {
		q.engine = newEngine(q)
	}
	return q, nil
}

// enter locks the device for a call on the queue, which must be in one of the states.
func (q *DMAQueue) enter(op string, states ...DMAState) error {
	q.dev.mu.Lock()
	state, gone := q.state, q.closed || q.dev.closed
	if !gone && slices.Contains(states, state) {
		return nil
	}
	q.dev.mu.Unlock()
	if gone {
		return ErrNotInitialized.at("%s a DMA queue: it has been removed", op)
	}
	return ErrIllegalOperation.at("%s a DMA queue that is %v", op, state)
}

// State returns the queue's state.
func (q *DMAQueue) State() DMAState {
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	return q.state
}

// Enqueue adds the transfer of size bytes from offset from of the local segment to offset
// to of the remote one, or with DMARead the other way. Both segments are in use until the
// queue is reset. Flags: DMARead.
//
// Errors: ErrMaxEntries; ErrIllegalOperation unless the queue is idle or gathers, for DMARead to
// a DMASourceOnly segment, and for a Sparse one; ErrSizeAlignment and ErrOffsetAlignment by
// QueryDMASizeAlignment and QueryDMAOffsetAlignment, ErrSizeAlignment also beyond
// QueryDMAMTU; ErrOutOfRange; ErrSegmentNotPrepared; ErrSegmentNotConnected;
// ErrIllegalParameter for segments of another device; ErrIllegalFlag.
func (q *DMAQueue) Enqueue(local *LocalSegment, from int, remote *RemoteSegment, to, size int, flags Flags) error {
	if err := q.enter("enqueue in", DMAIdle, DMAGather); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	if e := q.refuse(local, from, remote, to, size, flags); e != 0 {
		return e.at("enqueue DMA of %d bytes between %d of segment %#x and %d of segment %#x of node %d",
			size, from, local.id, to, remote.id, remote.peer.Node)
	}
	mem, err := remote.whole()
	if err != nil {
		return err
	}
	t := transfer{local, remote, mem[to : to+size], local.part(from, size), to, flags&DMARead != 0}
	if flags&DMARead != 0 {
		t.dst, t.src = t.src, t.dst
	}
	local.queued++
	remote.queued++
	q.entries = append(q.entries, t)
	q.state = DMAGather
	return nil
}

// refuse says what is wrong with a transfer. Preconditions: dev.mu is held.
func (q *DMAQueue) refuse(local *LocalSegment, from int, remote *RemoteSegment, to, size int, flags Flags) Errno {
	bytes := local.size
	if local.flags&Empty != 0 {
		bytes = 0
	}
	switch {
	case flags&^DMARead != 0:
		return ErrIllegalFlag
	case local.dev != q.dev || remote.dev != q.dev:
		return ErrIllegalParameter
	case len(q.entries) == q.max:
		return ErrMaxEntries
	case local.closed || !local.prepared:
		return ErrSegmentNotPrepared
	case remote.closed:
		return ErrSegmentNotConnected
	case flags&DMARead != 0 && local.flags&DMASourceOnly != 0, local.blocks != nil, remote.local != nil && remote.local.blocks != nil:
		return ErrIllegalOperation
	case size <= 0 || size%q.dev.dmaAlignment() != 0:
		return ErrSizeAlignment
	case from%q.dev.dmaAlignment() != 0 || to%q.dev.dmaAlignment() != 0:
		return ErrOffsetAlignment
	case from < 0 || from > bytes || size > bytes-from || to < 0 || to > remote.size || size > remote.size-to:
		return ErrOutOfRange
	case size > q.dev.dmaMost():
		return ErrSizeAlignment
	}
	return 0
}

// Post carries the transfers out, in order, up to the first that fails. callback, if not
// nil, is called with the state that the queue comes to; live that is before Post returns,
// under a model it is in an event of the kernel, where nothing can wait.
//
// Errors: ErrIllegalOperation unless the queue gathers.
func (q *DMAQueue) Post(callback func(DMAState)) error {
	if err := q.enter("post", DMAGather); err != nil {
		return err
	}
	q.state = DMAPosted
	q.dev.mu.Unlock()
	if q.engine != nil {
		q.engine.post(callback)
	} else {
		q.end(q.run(), callback)
	}
	return nil
}

// end notes that the engine has stopped.
func (q *DMAQueue) end(state DMAState, callback func(DMAState)) {
	q.dev.mu.Lock()
	q.state = state
	q.dev.mu.Unlock()
	q.dev.self.dir.notify(&q.dev.self.dir.alarms) // Wait
	if callback != nil {
		callback(state)
	}
}

// run is the engine. Nobody else touches the entries of a posted queue.
func (q *DMAQueue) run() DMAState {
	for i := range q.entries {
		t := &q.entries[i]
		if t.remote.fare(FaultDMA) != OK {
			return DMAError
		}
		if q.aborted() {
			return DMAAborted
		}
		copy(t.dst, t.src)
	}
	return DMADone
}

func (q *DMAQueue) aborted() bool {
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	return q.abort
}

// Wait returns the state after the engine has finished.
//
// Errors: ErrIllegalOperation if nothing was posted; ErrTimeout.
func (q *DMAQueue) Wait(timeout time.Duration) (DMAState, error) {
	if err := q.enter("wait for", DMAPosted, DMADone, DMAAborted, DMAError); err != nil {
		return q.State(), err
	}
	q.dev.mu.Unlock()
	if q.engine != nil && timeout < 0 {
		return q.engine.wait(), nil
	}
	var state DMAState
	if !q.dev.waitOwn(&q.dev.self.dir.alarms, timeout, func() bool { state = q.State(); return state != DMAPosted }) {
		return state, ErrTimeout.at("wait for a DMA queue")
	}
	return state, nil
}

// Abort stops the engine before its next transfer, if there is one; the queue is aborted
// when it has stopped. A queue that only gathers is aborted at once.
//
// Errors: ErrIllegalOperation unless the queue gathers or is posted.
func (q *DMAQueue) Abort() error {
	if err := q.enter("abort", DMAGather, DMAPosted); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	if q.abort = q.state == DMAPosted; !q.abort {
		q.state = DMAAborted
	} else if q.engine != nil {
		q.engine.queue.Abort()
	}
	return nil
}

// Reset empties the queue for new transfers.
//
// Errors: ErrIllegalOperation while it is posted.
func (q *DMAQueue) Reset() error {
	if err := q.enter("reset", DMAIdle, DMAGather, DMADone, DMAAborted, DMAError); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	q.clear()
	return nil
}

// clear forgets the transfers. Preconditions: dev.mu is held.
func (q *DMAQueue) clear() {
	for i := range q.entries {
		q.entries[i].local.queued--
		q.entries[i].remote.queued--
	}
	clear(q.entries)
	q.entries, q.state, q.abort = q.entries[:0], DMAIdle, false
}

// Remove gives the queue back.
//
// Errors: ErrIllegalOperation while it is posted.
func (q *DMAQueue) Remove() error {
	if err := q.enter("remove", DMAIdle, DMAGather, DMADone, DMAAborted, DMAError); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	q.clear()
	q.closed = true
	q.dev.queues--
	return nil
}
