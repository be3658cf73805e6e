package sisci

import "time"

// DMAAlignment is what DMA requires of offsets and sizes, in bytes.
const DMAAlignment = 8

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

// DMAQueue is a list of transfers for the DMA engine. Live there is no engine: Post copies
// on the calling processor, so a queue is never seen in DMAPosted.
type DMAQueue struct {
	dev     *Device
	max     int
	state   DMAState // guarded by dev.mu, like what follows
	entries []transfer
	closed  bool
}

type transfer struct {
	local     *LocalSegment
	remote    *RemoteSegment
	from, to  int // local and remote offset
	size      int
	backwards bool
}

// CreateDMAQueue makes a queue for up to max transfers.
//
// Errors: ErrIllegalParameter for a max that is not positive.
func (d *Device) CreateDMAQueue(max int) (*DMAQueue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errClosed("create a DMA queue")
	case max <= 0:
		return nil, ErrIllegalParameter.at("create a DMA queue of %d entries", max)
	}
	d.queues++
	return &DMAQueue{dev: d, max: max}, nil
}

// enter locks the device for a call on the queue, which must be in one of the states.
func (q *DMAQueue) enter(op string, states ...DMAState) error {
	q.dev.mu.Lock()
	if q.closed || q.dev.closed {
		q.dev.mu.Unlock()
		return ErrNotInitialized.at("%s a DMA queue: it has been removed", op)
	}
	for _, s := range states {
		if s == q.state {
			return nil
		}
	}
	state := q.state
	q.dev.mu.Unlock()
	return ErrIllegalOperation.at("%s a DMA queue in state %d", op, state)
}

// State returns the queue's state.
func (q *DMAQueue) State() DMAState {
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	return q.state
}

// Enqueue adds the transfer of size bytes from offset from of the local segment to offset
// to of the remote one, or with DMARead the other way. Flags: DMARead.
//
// Errors: ErrMaxEntries; ErrIllegalOperation unless the queue is idle or gathers;
// ErrSizeAlignment and ErrOffsetAlignment by DMAAlignment; ErrOutOfRange;
// ErrSegmentNotPrepared; ErrSegmentNotConnected.
func (q *DMAQueue) Enqueue(local *LocalSegment, from int, remote *RemoteSegment, to, size int, flags Flags) error {
	if err := q.enter("enqueue in", DMAIdle, DMAGather); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	fail := func(e Errno) error {
		return e.at("enqueue DMA of %d bytes between %d of segment %#x and %d of segment %#x of node %d", size, from, local.id, to, remote.id, remote.peer.Node)
	}
	switch {
	case flags&^DMARead != 0:
		return fail(ErrIllegalFlag)
	case len(q.entries) == q.max:
		return fail(ErrMaxEntries)
	case !local.prepared || local.closed || local.flags&Empty != 0:
		return fail(ErrSegmentNotPrepared)
	case remote.closed:
		return fail(ErrSegmentNotConnected)
	case size <= 0 || size%DMAAlignment != 0:
		return fail(ErrSizeAlignment)
	case from%DMAAlignment != 0 || to%DMAAlignment != 0:
		return fail(ErrOffsetAlignment)
	case from < 0 || to < 0 || from > local.size || size > local.size-from || to > remote.size || size > remote.size-to:
		return fail(ErrOutOfRange)
	}
	local.queued++
	remote.queued++
	q.entries = append(q.entries, transfer{local, remote, from, to, size, flags&DMARead != 0})
	q.state = DMAGather
	return nil
}

// Post starts the transfers. callback, if not nil, is called with the state that the queue
// comes to, live before Post returns.
//
// Errors: ErrIllegalOperation unless the queue gathers.
func (q *DMAQueue) Post(callback func(DMAState)) error {
	if err := q.enter("post", DMAGather); err != nil {
		return err
	}
	q.state = DMADone
	for i := range q.entries {
		if q.entries[i].run() != nil {
			q.state = DMAError
			break
		}
	}
	state := q.state
	q.dev.mu.Unlock()
	if callback != nil {
		callback(state)
	}
	return nil
}

// run carries a transfer out. Preconditions: dev.mu is held.
func (t *transfer) run() error {
	if f := t.remote.dev.fault; f != nil && f(Fault{"dma", t.remote.peer.Node}) != OK || t.remote.status() != OK {
		return ErrTransferFailed
	}
	mem, region, err := t.mapped()
	if err != nil {
		return err
	}
	mine := t.local.dev.self.Arena.Bytes()[t.local.off+t.from:][:t.size]
	if t.backwards {
		copy(mine, mem)
	} else {
		copy(mem, mine)
	}
	if region != nil {
		return region()
	}
	return nil
}

// mapped returns the remote memory of the transfer, of a map that exists or else of one
// made for it, which the returned function takes away.
func (t *transfer) mapped() (mem []byte, unmap func() error, err error) {
	for m := range t.remote.maps {
		if m.size == t.remote.size {
			return m.Window(t.to, t.size), nil, nil
		}
	}
	whole, region, err := t.remote.peer.view(t.remote.off, t.remote.size, false)
	if err != nil || region == nil {
		return whole[t.to : t.to+t.size], nil, err
	}
	return whole[t.to : t.to+t.size], region.Close, nil
}

// Wait returns the state after the engine has finished.
//
// Errors: ErrIllegalOperation if nothing was posted; ErrTimeout, which live cannot be.
func (q *DMAQueue) Wait(timeout time.Duration) (DMAState, error) {
	if err := q.enter("wait for", DMADone, DMAAborted, DMAError); err != nil {
		return q.State(), err
	}
	defer q.dev.mu.Unlock()
	return q.state, nil
}

// Abort stops the engine.
//
// Errors: ErrIllegalOperation if the queue is idle.
func (q *DMAQueue) Abort() error {
	if err := q.enter("abort", DMAGather, DMAPosted, DMADone, DMAError, DMAAborted); err != nil {
		return err
	}
	defer q.dev.mu.Unlock()
	if q.state == DMAGather || q.state == DMAPosted {
		q.state = DMAAborted
	}
	return nil
}

// Reset empties the queue for new transfers.
//
// Errors: ErrIllegalOperation while the engine works on it.
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
	q.entries, q.state = q.entries[:0], DMAIdle
}

// Remove gives the queue back.
//
// Errors: ErrIllegalOperation while the engine works on it.
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
