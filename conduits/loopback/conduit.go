// Package loopback is the conduit between ranks of one process: live between goroutines,
// and modelled as the smallest network there is, with a fixed latency and a rate. It is
// the reference conduit: complete, plain, and the first to read before writing another.
//
// Each rank has one inbox. A message is staged in a buffer of its sender and appended to
// the inbox of its destination, at once live, by an event of the kernel when modelled;
// the destination's Poll runs handlers in order of arrival. A pair of ranks may have
// Depth requests under way; a request counts until its handler has returned without a
// reply or its reply has been handled, so every reply has a place by construction.
package loopback

import (
	"errors"
	"fmt"
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func init() {
	core.Register(core.Driver{
		Name:     "loopback",
		Summary:  "ranks of one process; modelled: fixed latency and rate",
		Profiles: []string{"default", "native"},
		Models:   []string{"default", "native"},
		Check: func(boot core.Bootstrap, group []core.Rank) error {
			if _, ok := boot.(core.ProcessSharer); boot != nil && !ok && len(group) > 1 {
				return fmt.Errorf("loopback joins ranks of one process only; these %d ranks are processes; start them by aqrun --goroutines, or choose another conduit", len(group))
			}
			return nil
		},
		Settings: func(profile string) settings.Table { return new(params).table(profile) },
		New: func(profile string) core.Conduit {
			c := new(conduit)
			if profile == "native" {
				c.mover = &engine{c: c}
			}
			return c
		},
	})
}

// conduit is one rank's end.
type conduit struct {
	params
	port    *core.Port
	rank    core.Rank
	process *process
	nodes   []*node // by rank; all ranks have the same table
	self    *node
	pool    *pool   // of messages to send
	model   *link   // nil live
	mover   *engine // profile native; else nil
	bell    bell
	// underway counts, by destination, this rank's requests whose exchange is not over.
	underway sparse.Table[count]

	segment *shm.Region // nil if the segment is somebody else's
}

// node is what the ranks of a job share about one of them.
type node struct {
	inbox inbox[*message]
	bell  *bell
	proc  *vtime.Proc
	pool  *pool // model: of all messages

	// For one-sided operations.
	link   *link      // nil live
	memory []byte     // the segment
	words  sync.Mutex // live: makes atomic operations on the segment so
	closed bool       // modelled: the memory is no more
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) (err error) {
	shared, ok := a.Boot.(core.ProcessSharer)
	if !ok && len(a.Group) > 1 {
		return fmt.Errorf("loopback joins ranks of one process only; choose another conduit")
	}
	if c.params, err = parseParams(c.profile(), a.Settings); err != nil {
		return err
	}
	c.port, c.rank = a.Port, a.Boot.Rank()
	if a.Proc == nil {
		if err := c.bell.open(); err != nil {
			return err
		}
	}
	c.self = &node{bell: &c.bell, proc: a.Proc}
	c.underway.Init(a.Boot.Size())
	if a.Proc != nil {
		c.model = &link{kernel: a.Proc.Kernel(), proc: a.Proc, params: &c.params}
		c.self.link = c.model
	}
	c.process = new(process)
	if ok {
		c.process = shared.Share("loopback", func() any { return c.process }).(*process)
	}
	c.pool, c.nodes = new(pool), c.process.enter(c.rank, c.self, a.Boot.Size())
	if a.Proc != nil {
		c.pool = &c.process.pool
		c.self.pool = c.pool
	}
	return a.Boot.Barrier()
}

// AttachSegment implements core.Conduit.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	if a.Segment == 0 || a.Memory != nil {
		c.self.memory = a.Memory
		return a.Memory, nil
	}
	if c.model != nil {
		c.segment, err = c.process.arenas.Region(int(a.Group[0]), a.Sizes, a.Segment)
	} else {
		c.segment, err = shm.NewRegion(a.Segment, shm.Local)
	}
	if err != nil {
		return nil, err
	}
	c.self.memory = c.segment.Bytes()
	return c.self.memory, nil
}

// Close implements core.Conduit.
func (c *conduit) Close() error {
	if c.self == nil {
		return nil // Attach has made nothing
	}
	var err error
	if c.model != nil {
		c.self.closed = true
	}
	if c.segment != nil {
		err = c.segment.Close()
	}
	if c.model == nil {
		err = errors.Join(err, c.bell.close())
	}
	return err
}
