// Package mpi is the conduit over two-sided message passing: an engine for active messages
// that stands on a [Transport], a small batch-shaped subset of MPI.
//
// Small active messages travel in packets, messages of at most some kilobytes for which the
// receiver has posted receives that take any source. Requests and replies have tags, and so
// receives, of their own, so that replies pass requests that cannot be taken yet. While an
// earlier packet to the same rank has not left, or was sent since the last poll began, what follows is
// packed into one packet: replies, and requests where a service sees to it that none waits for long.
// What does not fit a packet goes as a message of its own with a tag named in the
// packet: the receiver posts the matching receive, for a Long straight into the segment,
// when the packet has come. Where the transport makes segments that others reach as memory,
// a Long's payload is stored in its place before the packet is sent.
//
// A pair of ranks may have a number of requests under way. A request counts until its reply
// has come, or until the receiver has said, in the header of any packet, that its handler has
// returned without one. Towards a rank that it has never heard of a sender has one credit
// only; the rest is granted when the receiver has posted receives for it. So what can be
// unexpected is bounded, also when all ranks of a large job turn to one.
package mpi

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Register adds networks to the conduit of that name, as its profiles: the default is the one
// that was added first, live and modelled each. It is meant for init functions, and packages may
// call it for one name, and panics if a network has the name of another one.
func Register(name string, networks ...Network) {
	registry.Lock()
	defer registry.Unlock()
	if registry.m == nil {
		registry.m = make(map[string][]Network)
	}
	all, known := registry.m[name]
	for _, n := range networks {
		if find(all, n.Name) != nil {
			panic("mpi: network " + n.Name + " of conduit " + name + " registered twice")
		}
		all = append(all, n)
	}
	registry.m[name] = all
	if !known {
		core.Register(driver(name))
	}
}

// registry holds the networks of the conduits by name.
var registry struct {
	sync.Mutex
	m map[string][]Network
}

// networksOf returns the networks of a conduit in the order of their registration.
func networksOf(name string) []Network {
	registry.Lock()
	defer registry.Unlock()
	return slices.Clone(registry.m[name])
}

// find returns the network of that name, or nil.
func find(networks []Network, name string) *Network {
	i := slices.IndexFunc(networks, func(n Network) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &networks[i]
}

// settings returns the network's own.
func (n *Network) settings() settings.Table {
	if n == nil || n.Settings == nil {
		return nil
	}
	return n.Settings()
}

// driver returns the driver of a conduit, whose variants are asked for when they are needed.
func driver(name string) core.Driver {
	return core.Driver{
		Name:    name,
		Summary: "active messages over two-sided message passing",
		PerHost: core.RankPerNode,
		Variants: func() (profiles, models []string) {
			for _, n := range networksOf(name) {
				if n.Live {
					profiles = append(profiles, n.Name)
				}
				if n.Modelled {
					models = append(models, n.Name)
				}
			}
			return profiles, models
		},
		Check: func(boot core.Bootstrap, _ []core.Rank) error { return check(networksOf(name), boot) },
		New: func(profile string) core.Conduit {
			return &conduit{network: *find(networksOf(name), profile)}
		},
		Settings: func(profile string) settings.Table {
			return new(params).table(find(networksOf(name), profile).settings())
		},
	}
}

// check returns nil if one of the networks can carry the job; for a listing, a live one.
func check(networks []Network, boot core.Bootstrap) error {
	var errs []error
	for _, n := range networks {
		if boot == nil && !n.Live {
			continue
		}
		if n.Check == nil {
			return nil
		}
		err := n.Check(boot)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", n.Name, err))
	}
	if boot == nil && len(errs) > 0 {
		return errs[0] // that of the default
	}
	return errors.Join(errs...)
}

// lane tells the two streams of packets between a pair apart. It is their tag, too.
type lane uint8

const (
	requests lane = iota
	replies
	lanes
)

func (l lane) String() string {
	if l == replies {
		return "replies"
	}
	return "requests"
}

func laneOf(h core.Header) lane {
	if h.Reply() {
		return replies
	}
	return requests
}

// conduit is one rank's end. Live, mu guards all of it but while a handler runs.
type conduit struct {
	params
	network Network
	mu      shm.Biased // of which the rank is the owner

	port    *core.Port
	rank    core.Rank
	group   []core.Rank
	proc    *vtime.Proc // nil live
	costs   Costs
	t       Transport
	spinner Spinner // t, if it is one
	kind    shm.Kind

	broken bool // the transport has failed; nothing moves any more
	posts  []Post
	done   [doneBatch]Completion
	sends  bool // there are sends among posts

	peers     []*peer        // by rank; nil before the first message
	debtors   []*peer        // to whom something may have to be said, see settle
	creditors []*peer        // who has returned credits, see collect
	opened    [lanes][]*peer // who may have open packets

	out  [lanes]outgoing
	in   [lanes]incoming
	late slab // messages whose payload is still to come
	pins pins

	joint   joint
	service service
	memory  []byte                 // the segment
	reach   func(core.Rank) []byte // Segment.Reach; nil: there is none

	exact   bool   // packets' receives are posted for each rank apart
	posted  int    // packets' receives of each lane
	polls   uint32 // begun, and one; the service reads it without the lock
	events  uint64 // completions filed
	seen    uint64 // of them, before the last poll looked
	regions []*shm.Region
}

// peer is what this rank knows of another with which it has exchanged messages.
type peer struct {
	rank   core.Rank
	under  int // requests of this rank to it under way
	back   int // of those, settled as the peer has told since the last poll
	room   int // how many there may be
	held   int // requests of it to this rank that have not been settled
	owed   int // of those, settled but not told
	debtor bool
	// welcomed is set when it has been told that receives are posted for all its credits.
	welcomed bool
	tag      int32  // of the last payload sent to it as a message of its own
	near     []byte // its segment as memory of this process, or nil
	lanes    [lanes]outLane
}

// outLane is the sending end of a lane.
type outLane struct {
	open   *packet // collects what is sent meanwhile
	busy   int     // packets posted and not completed
	sent   uint32  // conduit.polls when the last was posted
	opened bool    // in conduit.opened
}

// outgoing are the buffers of a lane for what is sent. Those of replies are apart, because
// a request is taken only if there is one for its reply.
type outgoing struct {
	packets []*packet // by number
	free    []*packet
	stages  [][]byte // for payloads that go as messages of their own
	idle    []uint32
}

// incoming is the receiving end of a lane.
type incoming struct {
	packets []*packet           // by number
	current *packet             // of which records are still to be taken
	arrived fifo.Queue[*packet] // behind it
	ready   fifo.Queue[uint32]  // late messages whose payload has come
	mediums [][]byte            // for payloads that come as messages of their own
	idle    []uint32            // mediums that are free
	waiting fifo.Queue[uint32]  // late Mediums without a buffer
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) (err error) {
	n := c.network
	var rest map[string]string
	if c.params, rest, err = parseParams(n.settings, a.Settings); err != nil {
		return err
	}
	if n.Check != nil {
		if err := n.Check(a.Boot); err != nil {
			return fmt.Errorf("mpi: profile %s cannot be used: %w", n.Name, err)
		}
	}
	c.port, c.rank, c.group, c.proc = a.Port, a.Boot.Rank(), a.Group, a.Proc
	if _, process := a.Boot.(core.ProcessSharer); process {
		c.kind = shm.Local
	}
	c.peers, c.polls = make([]*peer, a.Boot.Size()), 1
	t, err := n.Open(&Spec{Boot: a.Boot, Group: a.Group, Proc: a.Proc, Settings: rest, Log: a.Port.Log()})
	if err != nil {
		return err
	}
	c.t = t
	c.spinner, _ = c.t.(Spinner)
	limits := c.t.Limits()
	c.costs = limits.Costs
	c.exact = limits.Exact && exactReceives*len(c.group) <= c.receives
	c.packet = min(c.packet, limits.Eager) &^ (unit - 1)
	if err := c.allocate(); err != nil {
		return err
	}
	if a.Threads == core.Single && a.Proc == nil {
		c.mu.Bias()
	}
	if limits.Async && a.Proc == nil && c.async {
		c.serve()
	}
	if c.pack == packAuto {
		c.pack = packReplies
		if c.service.on {
			c.pack = packAll
		}
	}
	c.progress()
	return nil
}

// AttachSegment implements core.Conduit.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	c.lock()
	defer c.unlock()
	if c.memory = a.Memory; c.memory != nil {
		return c.memory, nil
	}
	if c.memory, err = c.segment(a.Segment); err == nil && c.reach != nil {
		for r, p := range c.peers {
			if p != nil { // it has had messages before there were segments
				p.near = c.reach(core.Rank(r))
			}
		}
	}
	return c.memory, err
}

// unclosed keeps conduits whose transports have failed to close, and so may still use their memory.
var unclosed struct {
	sync.Mutex
	all []*conduit
}

// Close implements core.Conduit.
func (c *conduit) Close() error {
	if c.t == nil {
		return nil // Attach has made nothing
	}
	c.retire()
	c.beginAllCollectives()
	if err := c.t.Close(); err != nil {
		unclosed.Lock()
		defer unclosed.Unlock()
		unclosed.all = append(unclosed.all, c)
		return err
	}
	c.forgetCollectives()
	c.pins.close()
	var err error
	for _, r := range c.regions {
		err = errors.Join(err, r.Close())
	}
	return err
}

func (c *conduit) lock() {
	if c.proc == nil {
		c.mu.Enter()
	}
}

func (c *conduit) unlock() {
	if c.proc == nil {
		c.mu.Leave()
	}
}
