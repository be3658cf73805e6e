// Package conduit makes conduits of the early systems of the Active Message family: am, amii, hpam and ssam, each modelled on the
// hardware that it was built for (package amfamily), and each a conduit of its own name whose models are its machines.
//
// A message of core is one message of the system, whose request or reply it is: core's handler runs in the system's, and its
// reply is the system's reply. The system's four words carry the header and the first three words of what core's message
// has besides its payload: a Long's offset, then the arguments. The payload is the message's data, and what words are left
// follow it (wire.go). Nothing is split: the largest Medium, and the largest Long, is what one message of the system
// carries among so many ranks, less the largest number of such words. A Long's payload is copied to its place by the processor,
// but where the system puts it there ([amfamily.Placer]): then the Long is a message of that kind, with the header, offset and
// arguments as they are, and has the length that the system allows.
//
// What a system must offer is [amfamily.Claimer]: room is claimed before a message is sent, only a poll runs handlers, and
// a request is taken only when its reply has room, by the system's own rule. What a rank sends to itself stays in its memory.
package conduit

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// register makes a system known as a conduit. machine is its built-in machine; table has its settings; load reads that
// machine, or a user's own by its path.
func register(name, summary, machine string, table func(*params) settings.Table, load func(machine string) (*system, error)) {
	core.Register(core.Driver{
		Name:    name,
		Summary: summary,
		Models:  []string{machine},
		Model: func(path string) error {
			_, err := load(path)
			return err
		},
		PerHost:  core.RankPerNode,
		Settings: func(string) settings.Table { return table(new(params)) },
		Fits: func(machine string, ranks int, _ map[string]string) error {
			c := &conduit{name: name, load: load, machine: machine}
			return c.newSite(&vtime.New(1).Loop, ranks).err // in virtual time that does not pass
		},
		New: func(machine string) core.Conduit {
			return &conduit{name: name, load: load, table: table, machine: machine}
		},
	})
}

// A system is one of the family on a machine that has been read.
type system struct {
	ordered bool // as core.Limits says
	// most returns how many bytes of data a message has at most among n nodes; there may be none.
	most func(n int) int
	// long, if not 0, says that nodes are amfamily.Placers, and how many bytes of data a Long has at most then.
	long int
	// build makes n nodes, 2 at least, that run the same image.
	build func(loop *vtime.Loop, n int, image amfamily.Image) ([]amfamily.Claimer, error)
	// copied returns how long the processor takes to copy n bytes from memory to memory.
	copied func(n int) vtime.Time
}

// claimers returns nodes of one system as those of any.
func claimers[N amfamily.Claimer](nodes []N, err error) (all []amfamily.Claimer, _ error) {
	for _, n := range nodes {
		all = append(all, n)
	}
	return all, err
}

// site is what the ranks of a group share: a machine of their own.
type site struct {
	system *system
	most   int // bytes of a Medium
	long   int // bytes of a Long
	nodes  []amfamily.Claimer
	ends   []*conduit // by node
	arena  *shm.Arena // of all segments; nil before there are any
	err    error
}

// newSite makes the machine for a group of n.
func (c *conduit) newSite(loop *vtime.Loop, n int) *site {
	s := &site{ends: make([]*conduit, n)}
	if s.system, s.err = c.load(c.machine); s.err != nil {
		return s
	}
	nodes := max(2, n) // a machine of one node has no network
	data := s.system.most(nodes)
	if s.most = (data - moreBytes) &^ 7; s.most < least {
		s.err = fmt.Errorf("%s: machine %s has no room for %d ranks: a message would have %d bytes of data at most, of which %d are for arguments, and core's messages need %d besides; run fewer ranks",
			c.name, c.machine, n, max(0, data), moreBytes, least)
		return s
	}
	if s.long = s.most; s.system.long > 0 {
		s.long = s.system.long &^ 7
	}
	s.nodes, s.err = s.system.build(loop, nodes, amfamily.Image{func(n amfamily.Node, m *amfamily.Message) { s.ends[n.ID()].arrive(m) }})
	for _, node := range s.nodes {
		if s.err == nil {
			s.err = node.Hold(s.most + moreBytes)
		}
	}
	return s
}

// least is the smallest limit that core allows.
const least = 512

// handler is the place in the image of the one handler that there is.
const handler = 0

// conduit is one rank's end.
type conduit struct {
	name, machine string
	load          func(machine string) (*system, error)
	table         func(*params) settings.Table

	port   *core.Port
	proc   *vtime.Proc
	rank   core.Rank
	group  []core.Rank
	me     int // position in group, and the number of the node
	site   *site
	node   amfamily.Claimer
	placer amfamily.Placer // the node, if it puts Longs at their places itself; otherwise nil

	stages []*stage // by number
	idle   []*stage

	long    amfamily.Long        // that is being sent
	serving *amfamily.Message    // the request whose handler runs; nil: one of the rank's own
	args    [core.MaxArgs]uint32 // of the message whose handler runs
	medium  []byte               // its payload, if it is a Medium
	own     fifo.Queue[*stage]   // what the rank has sent to itself
	asked   int                  // requests of those whose exchange is not over
	segment *shm.Region          // nil if the segment is somebody else's
	memory  []byte               // the segment
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) error {
	within, ok := a.Boot.(core.ProcessSharer)
	if !ok || a.Proc == nil {
		return fmt.Errorf("%s: runs in virtual time only", c.name)
	}
	c.port, c.proc, c.rank, c.group = a.Port, a.Proc, a.Boot.Rank(), a.Group
	c.me, _ = slices.BinarySearch(a.Group, c.rank)
	c.site = within.Share(fmt.Sprintf("%s of rank %d", c.name, a.Group[0]), func() any {
		return c.newSite(&a.Proc.Kernel().Loop, len(a.Group))
	}).(*site)
	if c.site.err != nil {
		return c.site.err
	}
	c.node = c.site.nodes[c.me]
	c.node.Bind(a.Proc)
	p, err := c.params(a.Settings)
	if err != nil {
		return err
	}
	if p.sleeps {
		c.node.(amfamily.Sleeper).Sleep(true)
	}
	if c.site.system.long > 0 {
		c.placer = c.node.(amfamily.Placer)
	}
	c.site.ends[c.me] = c
	c.medium = make([]byte, c.site.most)
	return a.Boot.Barrier() // every node has its rank before anybody sends
}

// AttachSegment implements core.Conduit.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	if c.memory, err = c.makeSegment(a); err == nil && c.placer != nil {
		c.placer.Expose(c.memory)
	}
	return c.memory, err
}

// makeSegment returns the memory of the rank's segment.
func (c *conduit) makeSegment(a *core.Attachment) (segment []byte, err error) {
	if a.Segment == 0 || a.Memory != nil {
		return a.Memory, nil
	}
	if c.site.arena == nil {
		total := 0
		for _, n := range a.Sizes {
			total += n
		}
		if c.site.arena, err = shm.NewArena(total); err != nil {
			return nil, err
		}
	}
	if c.segment, err = c.site.arena.Region(a.Segment); err != nil {
		return nil, err
	}
	return c.segment.Bytes(), nil
}

// Close implements core.Conduit.
func (c *conduit) Close() error {
	if c.segment == nil {
		return nil
	}
	return c.segment.Close()
}
