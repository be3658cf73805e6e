package sci

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
)

// paper is a rank's end in the published layout.
type paper struct {
	base
	control controlLayout
	byRank  sparse.Table[paperPeer] // no peer is connected that is not used, with firstUse
	senders []*paperPeer            // by number of the sender

	flags      []uint8 // own memory: the control segment
	sets       []flagSet
	exist      *uint8 // the message exist flag, in flags
	emptyPolls int
	queue      workQueue
	freed      int   // places of requests that the present poll has found free
	reply      uint8 // the ready flag of the reply that the running handler has sent
	staging    [lanes]staging
}

// paperPeer is a peer in the paper profile.
type paperPeer struct {
	*remote
	index  int
	cmd    *sisci.RemoteMap // this rank's command segment at the peer; nil: not connected
	flags  *sisci.RemoteMap // the peer's control segment
	ready  *sisci.RemoteMap // where its message ready flags are; the same as published
	mrf    int              // the offset there of this rank's
	sender int              // this rank's number among the peer's senders
	// By place: what watches the transfers of a message, made at the first use. Whoever holds
	// the place has them to itself.
	toCmd  [perPeer]*sisci.Sequence
	toLong [perPeer]*sisci.Sequence
	out    unsafe.Pointer    // the commands that go to the peer; nil under a model: see command
	in     *[perPeer]command // what the peer sends, in own memory
	number int               // of the peer among this rank's senders
	// used is the message location status of the requests: bit r is set from Reserve of
	// request r until its reply or control reply.
	used atomic.Uint32
	// waits is set while a request waits for a place.
	waits atomic.Bool
}

// flagSet is the message ready flags of some senders, in own memory.
type flagSet struct {
	flags []uint8
	words []uint32 // the same, a word per sender
}

func newFlagSet(mem []byte) flagSet { return flagSet{mem, words(mem)} }

// staging is the memory from which DMA reads, and its queue: one for requests, one for
// replies.
type staging struct {
	seg   *sisci.LocalSegment
	mem   []byte
	queue *sisci.DMAQueue
	most  int // bytes that the engine moves at a time
	busy  atomic.Bool
	waits atomic.Bool
}

func newPaper() *paper {
	return &paper{base: base{bell: -1, checked: true, private: int(lanes) * shm.RoundUp(stagingSize+dmaUnit)}}
}

// Attach implements core.Conduit.
func (c *paper) Attach(a *core.Attachment) (segment []byte, err error) {
	defer c.closeUnless(&err)
	if int64(a.Segment) > 1<<32 {
		return nil, fmt.Errorf("profile paper addresses segments by 32 bits; --segment may be 4GB at most")
	}
	n := len(a.Group)
	if c.control, err = c.layOut(n); err != nil {
		return nil, err
	}
	if c.control.firstUse {
		c.provide = c.admit
	} else {
		c.byRank.Init(a.Boot.Size())
	}
	made := n
	if c.control.firstUse {
		made = 0
	}
	commands, flags, segment, err := c.open(a, made, perPeer*commandSize, c.control.size)
	if err != nil {
		return nil, err
	}
	c.flags, c.exist = flags, &flags[c.control.exist]
	if !c.control.firstUse {
		c.sets = []flagSet{newFlagSet(flags[:perPeer*n])}
	}
	for i, mem := range commands {
		p := c.introduce(i)
		c.enlist(p, mem)
		if err := c.connectPeer(p); err != nil {
			return nil, err
		}
	}
	for l := range lanes {
		if c.control.firstUse {
			break // staging memory is then made when it is first used, too
		}
		if err := c.openStaging(l); err != nil {
			return nil, err
		}
	}
	return segment, nil
}

// introduce returns the peer at a position of the group, connected or not.
func (c *paper) introduce(position int) *paperPeer {
	r := c.group[position]
	p := c.byRank.At(int(r))
	if p.remote == nil {
		p.index, p.remote = position, c.known(position)
	}
	return p
}

// known returns what the profiles share of the peer at a position.
func (b *base) known(position int) *remote {
	if b.nodes != nil {
		return &b.nodes[position]
	}
	r := b.group[position]
	return &remote{rank: r, node: b.hosts.node(r), size: b.sizes[r]}
}

// enlist makes the peer a sender, whose messages come into mem.
func (c *paper) enlist(p *paperPeer, mem []byte) {
	p.in = (*[perPeer]command)(unsafe.Pointer(unsafe.SliceData(mem)))
	p.number = len(c.senders)
	c.senders = append(c.senders, p)
	c.queue.grow(perPeer * len(c.senders))
}

// connectPeer imports this rank's command segment at the peer and the peer's flags.
func (c *paper) connectPeer(p *paperPeer) error {
	cmd, err := c.importSegment(p.remote, c.me, perPeer*commandSize)
	if err != nil {
		return err
	}
	if p.flags, err = c.importSegment(p.remote, len(c.group)+controlIndex, c.control.size); err != nil {
		return err
	}
	p.sender, p.ready = c.me, p.flags
	if c.control.firstUse {
		if p.sender, err = readNumber(cmd); err != nil {
			return err
		}
		set := len(c.group) + extraSegments + p.sender/c.control.set
		if p.ready, err = c.importSegment(p.remote, set, setSize); err != nil {
			return err
		}
	}
	p.mrf = c.control.mrf(p.sender)
	if c.model == nil {
		p.out = cmd.Ptr(0)
	}
	p.cmd = cmd
	return nil
}

// peer returns the peer of a rank, connected; after a failure it returns nil.
func (c *paper) peer(r core.Rank) *paperPeer {
	if p := c.byRank.At(int(r)); p.cmd != nil {
		return p
	}
	return c.meet(r)
}

// meet connects to a peer.
func (c *paper) meet(r core.Rank) *paperPeer {
	position, _ := slices.BinarySearch(c.group, r)
	p := c.introduce(position)
	if err := c.connectPeer(p); err != nil {
		c.ep.Fail(fmt.Errorf("sci: rank %d: connect to rank %d: %w", c.group[c.me], r, err))
		return nil
	}
	return p
}

// openStaging makes a lane's memory for DMA. On a modelled machine a Long lies in a segment of
// no more than the staging memory's size, so it has room in that as it is aligned there.
func (c *paper) openStaging(l lane) error {
	size := stagingSize + dmaUnit
	if c.model != nil {
		size = min(size, int(c.model.profile.Limit.Segment))
	}
	return c.staging[l].open(c.dev, size)
}

// open makes the staging segment and its DMA queue.
func (s *staging) open(dev *sisci.Device, size int) error {
	unit, err := dev.Query(sisci.QueryDMAOffsetAlignment)
	if err != nil || unit > dmaUnit {
		return errors.Join(err, fmt.Errorf("sci: DMA needs an alignment of %d bytes; the conduit's is %d", unit, dmaUnit))
	}
	if s.seg, err = dev.CreateSegment(0, size, sisci.Private, nil); err != nil {
		return err
	}
	if err := s.seg.Prepare(0); err != nil {
		return err
	}
	m, err := s.seg.Map(0, size, 0)
	if err != nil {
		return err
	}
	if s.most, err = dev.Query(sisci.QueryDMAMTU); err != nil {
		return err
	}
	s.mem = m.Bytes()
	s.queue, err = dev.CreateDMAQueue(1)
	return err
}

// Sleeper implements core.Conduit.
func (c *paper) Sleeper() core.Sleeper { return &sleeper{&c.base, c.ready} }

// ready reports whether there is a message, or room that a request waits for.
func (c *paper) ready() bool {
	if shm.Load8(c.exist) != 0 || !c.queue.empty() {
		return true
	}
	s := &c.staging[requests]
	if s.waits.Load() && !s.busy.Load() {
		return true
	}
	for _, p := range c.senders { // live all peers are
		if p.waits.Load() && p.used.Load() != 1<<pairs-1 {
			return true
		}
	}
	return false
}
