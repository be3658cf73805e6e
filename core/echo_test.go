package core

import (
	"sync/atomic"
	"testing"
)

// echo is the conduit of a rank that talks to itself: a list, of one goroutine at a time.
type echo struct {
	port  *Port
	queue []*echoed
	held  int // polls for which what was sent stays away
}

type echoed struct {
	Op
	args [MaxArgs]uint32
	sent bool
}

func init() {
	Register(Driver{Name: "echo", New: func(string) Conduit { return new(echo) }})
}

func (e *echo) Attach(a *Attachment) error { e.port = a.Port; return nil }

func (e *echo) AttachSegment(a *Attachment) ([]byte, error) { return make([]byte, a.Segment), nil }

func (e *echo) Plan(*Attachment) (Plan, error) { return Plan{}, nil }

func (e *echo) Powers() Powers { return Powers{Limits: Limits{512, 512, 512, 512, true}} }

func (e *echo) Reserve(op *Op) Result {
	m := &echoed{}
	op.Slot, op.Args, op.Data = uint64(len(e.queue)), &m.args, make([]byte, op.Len)
	e.queue = append(e.queue, m)
	return Reserved
}

func (e *echo) Commit(op *Op) {
	m := e.queue[op.Slot]
	m.Op, m.sent = *op, true
}

func (e *echo) Poll(int) int {
	if e.held > 0 {
		e.held--
		return 0
	}
	n := 0
	for ; n < len(e.queue) && e.queue[n].sent; n++ {
		m := e.queue[n]
		e.port.Dispatch(0, m.Hdr, &m.args, m.Data[:m.Len], 0)
	}
	e.queue = e.queue[n:]
	return n
}

func (e *echo) Sleeper() Sleeper { return &asleep{} }
func (e *echo) Close() error     { return nil }

// asleep cannot be woken; it counts.
type asleep struct{ armed, disarmed atomic.Int32 }

func (s *asleep) Arm() bool { s.armed.Add(1); return false }
func (s *asleep) FD() int   { return -1 }
func (s *asleep) Disarm()   { s.disarmed.Add(1) }

// alone runs body as a job of one rank over echo.
func alone(t *testing.T, cfg Config, handlers []HandlerEntry, body func(*Endpoint) error) error {
	t.Helper()
	return aloneOver(t, "echo", cfg, handlers, body)
}

// aloneOver is alone over another conduit.
func aloneOver(t *testing.T, conduit string, cfg Config, handlers []HandlerEntry, body func(*Endpoint) error) error {
	t.Helper()
	cfg.Conduit = conduit
	return RunGoroutines(1, cfg, func(j *Job) error {
		ep, err := j.Attach(AttachSpec{Segment: "4096", Handlers: handlers})
		if err != nil {
			return err
		}
		return body(ep)
	})
}
