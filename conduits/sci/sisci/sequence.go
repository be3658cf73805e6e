package sisci

import (
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Status is the answer of a Sequence; the numbers are the published ones.
type Status uint8

// The answers.
const (
	OK           Status = iota // the stores have arrived
	Retriable                  // a passing fault: store again at once
	NotRetriable               // a lasting fault: store again after Start has said OK
	Pending                    // not known yet: call Start until it says OK, then store again
)

// String returns the status's published name in lower case.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Retriable:
		return "retriable"
	case NotRetriable:
		return "not retriable"
	case Pending:
		return "pending"
	}
	return "unknown status"
}

// FaultOp is an operation that Config.Fault is asked about.
type FaultOp uint8

// The operations.
const (
	FaultStart  FaultOp = iota // Sequence.Start
	FaultPacket                // each packet of Sequence.Push; not OK: it is lost, as Check will tell
	FaultCheck                 // Sequence.Check, if no packet was lost
	FaultDMA                   // each transfer of a DMA queue; not OK: nothing of it arrives
)

// packetSize is how much of a transfer is lost at a time: the data of an SCI packet (16, 64
// or 256 bytes, IEEE 1596).
const packetSize = 64

// Fault describes the point at which Config.Fault decides. It may be called by several
// goroutines and may call the device.
type Fault struct {
	Op      FaultOp
	Node    NodeID // whose segment is concerned
	Segment SegmentID
}

// Sequence watches the stores of one goroutine through a map. The protocol of a transfer
// that is certain: Start until OK; store; Push; Check; unless that says OK, again from Push
// on, after another Start unless it said Retriable. Data may so be stored twice, and
// receivers have to bear it. Live, a sequence fails only when the link is reported down,
// the node lost, or the connection broken by its owner.
type Sequence struct {
	m       *RemoteMap
	status  Status
	begun   bool             // Start has said OK
	lost    Status           // what Check has to say of packets since Start or Check
	removed bool             // guarded by dev.mu
	acct    hardware.Account // under a model
}

// CreateSequence makes a sequence for the map.
//
// Errors: ErrIllegalOperation if the map is unmapped; ErrNotConnected if the segment is
// disconnected.
func (m *RemoteMap) CreateSequence() (*Sequence, error) {
	if err := m.enter("create a sequence for"); err != nil {
		return nil, err
	}
	defer m.seg.dev.mu.Unlock()
	m.sequences++
	return &Sequence{m: m}, nil
}

// Remove ends the sequence.
//
// Errors: ErrIllegalOperation if that was done.
func (q *Sequence) Remove() error {
	if err := q.m.enter("remove a sequence of"); err != nil {
		return err
	}
	defer q.m.seg.dev.mu.Unlock()
	if q.removed {
		return ErrIllegalOperation.at("remove a sequence of segment %#x of node %d: it has been removed", q.m.seg.id, q.m.seg.peer.Node)
	}
	q.removed = true
	q.m.sequences--
	return nil
}

// Start begins a transfer. Under a model it takes a reading of the adapter's status register.
func (q *Sequence) Start() Status {
	q.lost = OK
	if q.m.host != nil {
		q.start()
	} else {
		q.ask(FaultStart)
	}
	q.begun = q.begun || q.status == OK
	return q.status
}

// Attempts is how often in a row a transfer that fails is worth trying: passing faults need a few, and
// after so many the peer or the link to it is to be taken for lost.
const Attempts = 1000

// patience is how often Insist asks: on the machine of Su for some 30 ms.
const patience = 100_000

// Insist is Start, again while that refuses. It reports whether Start has said OK before the peer or
// the link to it was to be taken for lost.
func (q *Sequence) Insist() bool {
	for range patience {
		if q.Start() == OK {
			return true
		}
	}
	return false
}

// Begin makes the sequence ready for a transfer. A Check that says OK has begun the next transfer,
// so Begin is Insist only before the first transfer and after a failure. (A transfer that a Start
// of its own precedes, as in the published conduit, takes Insist.)
func (q *Sequence) Begin() bool {
	return q.begun && q.status == OK || q.Insist()
}

// Push is RemoteMap.Push, watched: a packet that does not arrive makes Check fail. None
// arrives while the sequence waits for a Start.
func (q *Sequence) Push(off, n int) {
	switch {
	case !q.m.staged():
		return
	case q.status == NotRetriable, q.status == Pending:
		q.lost = q.status
		return
	case q.m.host != nil:
		q.m.store(off, q.m.host.staged(q.m, off, n), q)
		return
	}
	for n > 0 {
		k := min(n, packetSize-off%packetSize)
		if st := q.m.seg.fare(FaultPacket); st == OK {
			q.m.Push(off, k)
		} else {
			q.lost = st
		}
		off, n = off+k, n-k
	}
}

// Store stores b at off, watched, as filling a window with it and Push would do. b is free when
// it returns.
func (q *Sequence) Store(off int, b []byte) {
	switch {
	case q.m.host == nil:
		copy(q.m.Window(off, len(b)), b)
		q.Push(off, len(b))
	case q.status == NotRetriable, q.status == Pending:
		q.lost = q.status
	default:
		q.m.store(off, b, q)
	}
}

// Check orders the stores since Start before all later accesses and tells how they fared.
func (q *Sequence) Check() Status {
	if q.m.host != nil {
		return q.check()
	}
	shm.Fence()
	if q.lost != OK {
		q.status, q.lost = q.lost, OK
		return q.status
	}
	return q.ask(FaultCheck)
}

// TryCheck is Check that does not wait for answers (SCICheckSequence without the store
// barrier): it returns false, and nothing is known, while some are missing. Under a model the
// device's proc then gets an Arrive when the last of them is there. Live none is ever missing.
func (q *Sequence) TryCheck() (Status, bool) {
	if q.m.host == nil {
		return q.Check(), true
	}
	return q.tryCheck()
}

// Status returns the last answer of Start or Check.
func (q *Sequence) Status() Status { return q.status }

func (q *Sequence) ask(op FaultOp) Status {
	q.status = q.m.seg.fare(op)
	return q.status
}

// fare tells how transfers to the segment fare.
func (s *RemoteSegment) fare(op FaultOp) Status {
	st := s.status()
	if f := s.dev.fault; f != nil && st == OK {
		st = f(Fault{op, s.peer.Node, s.id})
	}
	return st
}
