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

	sets       []flagSet
	exist      *uint8 // the message exist flag, in the control segment
	emptyPolls int
	queue      workQueue
	freed      int   // places of requests that the present poll has found free
	reply      uint8 // the ready flag of the reply that the running handler has sent
	staging    [lanes]staging
}

// paperPeer is a peer in the paper profile.
type paperPeer struct {
	*remote
	index   int32
	number  int32               // of the peer among this rank's senders
	sends   bool                // it has a number
	mrf     int32               // the offset in ready of this rank's message ready flags
	summary int32               // and of its bank's summary flag
	cmd     *sisci.RemoteMap    // this rank's command segment at the peer; nil: not connected
	flags   *sisci.RemoteMap    // the peer's control segment; nil: it cannot be answered yet
	ready   *sisci.RemoteMap    // where its message ready flags are; mostly the same
	out     unsafe.Pointer      // the commands that go to the peer; nil under a model: see command
	in      *[perPeer]command   // what the peer sends, in own memory; nil with firstUse
	places  *sisci.LocalSegment // with firstUse: where it sends to; nil before it has connected
	// By place: what watches the transfers of a message, made at the first use. Whoever holds
	// the place has them to itself.
	toCmd  [perPeer]*sisci.Sequence
	toLong atomic.Pointer[[perPeer]*sisci.Sequence] // nil before the first Long
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
func (c *paper) Attach(a *core.Attachment) (err error) {
	n := len(a.Group)
	if c.control, err = c.layOut(a); err != nil {
		return err
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
	commands, flags, err := c.open(a, made, perPeer*commandSize, c.control.size)
	if err != nil {
		return err
	}
	c.exist = &flags[c.control.exist]
	c.sets = []flagSet{newFlagSet(flags)}
	for i, mem := range commands {
		p := c.introduce(i)
		c.addSender(p)
		p.in = (*[perPeer]command)(unsafe.Pointer(unsafe.SliceData(mem)))
		if err := c.connectPeer(p); err != nil {
			return err
		}
	}
	return nil
}

// AttachSegment implements core.Conduit.
func (c *paper) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	if int64(a.Segment) > 1<<32 {
		return nil, fmt.Errorf("profile paper addresses segments by 32 bits; --segment may be 4GB at most")
	}
	if segment, err = c.base.AttachSegment(a); err != nil {
		return nil, err
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
		p.index, p.remote = int32(position), c.known(position)
	}
	return p
}

// known returns what the profiles share of the peer at a position.
func (b *base) known(position int) *remote {
	if b.nodes != nil {
		return &b.nodes[position]
	}
	r := b.group[position]
	return &remote{rank: r, node: b.hosts.node(r)}
}

// addSender gives the peer the next number.
func (c *paper) addSender(p *paperPeer) {
	p.sends, p.number = true, int32(len(c.senders))
	c.senders = append(c.senders, p)
	c.queue.grow(perPeer * len(c.senders))
}

// connectPeer imports this rank's command segment at the peer and the peer's flags.
func (c *paper) connectPeer(p *paperPeer) error {
	size := perPeer * commandSize
	if c.control.firstUse {
		size = numbered
		if err := c.enlist(p); err != nil { // it is going to answer
			return err
		}
	}
	cmd, err := c.importSegment(c.dev, p.remote, c.me, size)
	if err != nil {
		return err
	}
	if p.flags == nil {
		number := c.me
		if c.control.firstUse {
			if number, err = readNumber(cmd); err != nil {
				return err
			}
		}
		if err := c.importFlags(p, number); err != nil {
			return err
		}
	}
	if c.model == nil {
		p.out = cmd.Ptr(0)
	}
	p.cmd = cmd
	return nil
}

// importFlags imports the peer's flags, among whose senders this rank has a number.
func (c *paper) importFlags(p *paperPeer, number int) (err error) {
	if p.flags, err = c.importSegment(c.dev, p.remote, len(c.group)+controlIndex, c.control.size); err != nil {
		return err
	}
	p.ready, p.mrf = p.flags, int32(c.control.mrf(number))
	if c.control.bank > 0 {
		p.summary = int32(c.control.summary(number))
	}
	if set := number / c.control.set; set > 0 {
		p.ready, err = c.importSegment(c.dev, p.remote, c.setIndex(set), setSize)
	}
	return err
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
		c.unreached(p.remote, err)
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
	return c.staging[l].open(c.longs.dev, size)
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
