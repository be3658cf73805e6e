package sisci

import "github.com/aqueduct-go/aqueduct/internal/shm"

// Status is the answer of a Sequence; the numbers are the published ones.
type Status uint8

// The answers.
const (
	OK           Status = iota // the stores have arrived
	Retriable                  // a passing fault: store again at once
	NotRetriable               // a lasting fault: store again after Start has said OK
	Pending                    // not known yet: call Start until it says OK, then store again
)

// Fault describes the point at which Config.Fault decides.
type Fault struct {
	Op   string // "start" or "check" of a sequence, or "dma"
	Node NodeID // whose segment is concerned
}

// Sequence watches the stores of one goroutine through a map. The protocol of a transfer
// that is certain: Start until OK, store, Check; unless that says OK, again. Data may so
// be stored twice, and receivers have to bear it.
type Sequence struct{ m *RemoteMap }

// CreateSequence makes a sequence for the map.
func (m *RemoteMap) CreateSequence() *Sequence { return &Sequence{m} }

// Start begins a transfer.
func (q *Sequence) Start() Status { return q.ask("start") }

// Check orders the stores since Start before all later ones and tells how they fared.
func (q *Sequence) Check() Status {
	shm.Fence()
	return q.ask("check")
}

func (q *Sequence) ask(op string) Status {
	s := q.m.seg
	if f := s.dev.fault; f != nil {
		if st := f(Fault{op, s.peer.Node}); st != OK {
			return st
		}
	}
	return s.status()
}

// MemCpy copies b to off of the map and checks the transfer, or with BlockRead from there
// into b, which stalls for every load. Flags: BlockRead.
//
// Errors: ErrOutOfRange; ErrTransferFailed if the fault lasts.
func (q *Sequence) MemCpy(b []byte, off int, flags Flags) error {
	fail := func(e Errno) error {
		return e.at("copy %d bytes at %d of segment %#x of node %d", len(b), off, q.m.seg.id, q.m.seg.peer.Node)
	}
	switch {
	case flags&^BlockRead != 0:
		return fail(ErrIllegalFlag)
	case off < 0 || off > q.m.size || len(b) > q.m.size-off:
		return fail(ErrOutOfRange)
	}
	for {
		switch q.Start() {
		case OK:
		case NotRetriable:
			return fail(ErrTransferFailed)
		default:
			continue
		}
		if flags&BlockRead != 0 {
			copy(b, q.m.Window(off, len(b)))
		} else {
			copy(q.m.Window(off, len(b)), b)
			q.m.Push(off, len(b))
		}
		switch q.Check() {
		case OK:
			return nil
		case NotRetriable:
			return fail(ErrTransferFailed)
		}
	}
}
