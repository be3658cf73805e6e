package core

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// narrow is the conduit of a rank that talks to itself, with as much room as a test allows
// and a sleeper that wakes for messages only: a wake-up that core owes is not made up for.
type narrow struct {
	port   *Port
	queue  chan *echoed
	bell   int
	held   atomic.Bool  // messages stay under way
	flood  atomic.Bool  // every poll finds something, if nothing that anybody waits for
	arms   atomic.Int32 // calls of Arm
	onArm  func()       // called by Arm before it looks
	onPoll func()       // called by Poll

	mu      sync.Mutex
	all     []*echoed // by Slot
	tight   bool      // only room says how many requests can be sent
	room    int
	noticed int // room when a Reserve looked last
}

func init() {
	Register(Driver{Name: "narrow", New: func(string) Conduit { return &narrow{queue: make(chan *echoed, 100)} }})
}

func (c *narrow) Attach(a *Attachment) (err error) {
	c.port = a.Port
	c.bell, err = shm.NewBell()
	return err
}

func (c *narrow) AttachSegment(a *Attachment) ([]byte, error) { return make([]byte, a.Segment), nil }

func (c *narrow) Plan(*Attachment) (Plan, error) { return Plan{}, nil }

func (c *narrow) Powers() Powers { return Powers{Limits: Limits{512, 512, 512, 512, true}} }

func (c *narrow) Reserve(op *Op) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tight {
		if c.noticed = c.room; c.room == 0 {
			return NoRoom
		}
		c.room--
		c.noticed = c.room
	}
	m := new(echoed)
	op.Slot, op.Args, op.Data = uint64(len(c.all)), &m.args, make([]byte, op.Len)
	c.all = append(c.all, m)
	return Reserved
}

func (c *narrow) Commit(op *Op) {
	c.mu.Lock()
	m := c.all[op.Slot]
	c.mu.Unlock()
	m.Op = *op
	if c.queue <- m; !c.held.Load() {
		shm.Ring(c.bell)
	}
}

func (c *narrow) Poll(int) int {
	if c.onPoll != nil {
		c.onPoll()
	}
	if c.flood.Load() {
		return 1
	}
	if c.held.Load() {
		return 0
	}
	select {
	case m := <-c.queue:
		c.port.Dispatch(0, m.Hdr, &m.args, m.Data[:m.Len], 0)
		return 1
	default:
		return 0
	}
}

func (c *narrow) Sleeper() Sleeper { return c }
func (c *narrow) FD() int          { return c.bell }
func (c *narrow) Disarm()          { shm.Silence(c.bell) }
func (c *narrow) Close() error     { return unix.Close(c.bell) }

func (c *narrow) Arm() bool {
	if c.arms.Add(1); c.onArm != nil {
		c.onArm()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room != c.noticed || len(c.queue) > 0 && !c.held.Load()
}

// sleeps returns when a context sleeps for good: NewContext rings once, which ends the first
// sleep after it.
func (c *narrow) sleeps() { spinUntil(func() bool { return c.arms.Load() >= 2 }) }

// hang is when a test gives up; none takes a hundredth of it.
const hang = 20 * time.Second

// narrowly runs body as a job of one rank over narrow, with handler 130 counting in *got. A
// job that hangs fails.
func narrowly(t *testing.T, cfg Config, got *int, body func(*Endpoint, *narrow) error) error {
	t.Helper()
	cfg.Conduit = "narrow"
	return RunGoroutines(1, cfg, func(j *Job) error {
		ep, err := j.Attach(AttachSpec{Segment: "4096", Handlers: []HandlerEntry{
			{Index: 130, Func: func(*Token, []uint32, []byte) { *got++ }},
			{Index: 131, Func: func(*Token, []uint32, []byte) { j.Exit(3) }},
		}})
		if err != nil {
			return err
		}
		defer time.AfterFunc(hang, func() { ep.Fail(errors.New("the job hangs")) }).Stop()
		return body(ep, ep.conduit.(*narrow))
	})
}
