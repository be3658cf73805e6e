package sci

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// paper is a rank's end in the published layout.
type paper struct {
	base
	peers  []paperPeer
	byRank []*paperPeer

	flags      []uint8  // own memory: the message ready flags
	flagWords  []uint32 // the same, a word per sender
	exist      *uint8   // own memory: the message exist flag
	emptyPolls int
	queue      workQueue
	reply      uint8 // the ready flag of the reply that the running handler has sent
	staging    [lanes]staging
}

// paperPeer is a peer in the paper profile.
type paperPeer struct {
	*remote
	index int
	cmd   *sisci.RemoteMap // this rank's command segment at the peer
	flags *sisci.RemoteMap // the peer's control segment
	// By place: what watches the transfers of a message. Whoever holds the place has them
	// to itself.
	toCmd  [perPeer]*sisci.Sequence
	toLong [perPeer]*sisci.Sequence // made at the first use
	in     *[perPeer]command
	// used is the message location status of the requests: bit r is set from Reserve of
	// request r until its reply or control reply.
	used atomic.Uint32
	// waits is set while a request waits for a place.
	waits atomic.Bool
}

// staging is the memory from which DMA reads, and its queue: one for requests, one for
// replies.
type staging struct {
	seg   *sisci.LocalSegment
	mem   []byte
	queue *sisci.DMAQueue
	busy  atomic.Bool
	waits atomic.Bool
}

func newPaper() *paper {
	return &paper{base: base{bell: -1, checked: true, private: int(lanes) * shm.RoundUp(stagingSize+dmaUnit)}}
}

// Attach implements core.Conduit.
func (c *paper) Attach(a *core.Attachment) (segment []byte, err error) {
	defer c.closeUnless(&err)
	n := len(a.Group)
	if int64(a.Segment) > 1<<32 {
		return nil, fmt.Errorf("profile paper addresses segments by 32 bits; --segment may be 4GB at most")
	}
	commands, flags, segment, err := c.open(a, perPeer*commandSize, flagBytes(n))
	if err != nil {
		return nil, err
	}
	c.queue.next = make([]uint32, perPeer*n)
	c.flags, c.flagWords, c.exist = flags, words(flags[:perPeer*n]), &flags[perPeer*n]
	c.peers = make([]paperPeer, n)
	c.byRank = make([]*paperPeer, a.Boot.Size())
	for i := range c.peers {
		p := &c.peers[i]
		p.remote, p.index = &c.nodes[i], i
		p.in = (*[perPeer]command)(unsafe.Pointer(unsafe.SliceData(commands[i])))
		if p.cmd, err = c.importSegment(p.node, c.me, perPeer*commandSize); err != nil {
			return nil, err
		}
		for number := range p.toCmd {
			if p.toCmd[number], err = p.cmd.CreateSequence(); err != nil {
				return nil, err
			}
		}
		if p.flags, err = c.importSegment(p.node, n+controlIndex, len(flags)); err != nil {
			return nil, err
		}
		c.byRank[p.rank] = p
	}
	for l := range lanes {
		if err := c.staging[l].open(c.dev); err != nil {
			return nil, err
		}
	}
	return segment, nil
}

// open makes the staging segment and its DMA queue.
func (s *staging) open(dev *sisci.Device) error {
	var err error
	if s.seg, err = dev.CreateSegment(0, stagingSize+dmaUnit, sisci.Private, nil); err != nil {
		return err
	}
	if err := s.seg.Prepare(0); err != nil {
		return err
	}
	m, err := s.seg.Map(0, stagingSize+dmaUnit, 0)
	if err != nil {
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
	for i := range c.peers {
		if p := &c.peers[i]; p.waits.Load() && p.used.Load() != 1<<pairs-1 {
			return true
		}
	}
	return false
}
