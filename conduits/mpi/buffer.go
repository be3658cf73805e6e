package mpi

import "github.com/aqueduct-go/aqueduct/core"

// packet is a buffer for a packet that is sent or received.
type packet struct {
	buf   []byte   // the packet, and slack
	id    uint64   // of its posts
	peer  *peer    // who gets it or has sent it
	n     int      // bytes of it
	at    int      // received: where the next record begins; sent: where the payload of the reserved record is
	post  Post     // received: its receive
	way   carriage // sent, while reserved: of the payload
	stage uint32   // its number, if the payload is staged
}

// What the id of a post is of, in the upper half; the lower one is a number, and the lane
// is the lowest bit of the upper half.
const (
	ofPacket     = (iota + 1) << 33 // a packet that is sent
	ofStage                         // a payload that is sent
	ofPinned                        // a payload that is sent from where the caller has it
	ofReceive                       // a packet that is received
	ofLate                          // a payload that is received
	ofCollective                    // no post: a collective operation
)

func idOf(what uint64, l lane, n int) uint64 { return what | uint64(l)<<32 | uint64(n) }

// pieces makes n buffers of size bytes. Memory is taken page by page as it is first used.
func (c *conduit) pieces(n, size int) ([][]byte, error) {
	size = padded(size)
	all, err := c.region(n * size)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, n)
	for i := range out {
		out[i] = all[i*size : (i+1)*size : (i+1)*size]
	}
	return out, nil
}

// allocate makes the buffers of both lanes and posts the first receives.
func (c *conduit) allocate() error {
	for l := range lanes {
		o, in := &c.out[l], &c.in[l]
		bufs, err := c.pieces(c.packets, c.packet+slack)
		if err != nil {
			return err
		}
		for i, b := range bufs {
			p := &packet{buf: b, id: idOf(ofPacket, l, i)}
			o.packets, o.free = append(o.packets, p), append(o.free, p)
		}
		if o.stages, err = c.pieces(c.stages, max(c.medium, c.long)); err != nil {
			return err
		}
		o.idle = numbers(c.stages)
		if in.mediums, err = c.pieces(c.mediums, c.medium); err != nil {
			return err
		}
		in.idle = numbers(c.mediums)
	}
	if !c.exact {
		return c.postReceives(AnySource, min(c.depth, c.receives))
	}
	for _, r := range c.group {
		if err := c.postReceives(r, firstRoom); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns those below n.
func numbers(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// postReceives posts n more receives for packets of a source on each lane.
func (c *conduit) postReceives(source core.Rank, n int) error {
	for l := range lanes {
		bufs, err := c.pieces(n, c.packet+slack)
		if err != nil {
			return err
		}
		in := &c.in[l]
		for _, b := range bufs {
			id := idOf(ofReceive, l, len(in.packets))
			p := &packet{buf: b, id: id, post: Post{Buf: b[:c.packet], ID: id, Peer: source, Tag: int32(l), Receive: true}}
			in.packets = append(in.packets, p)
			c.repost(p)
		}
	}
	c.posted += n
	return nil
}

// repost posts the receive of a packet's buffer.
func (c *conduit) repost(p *packet) { *c.post() = p.post }

// lateMessage is an active message whose payload is a message of its own that is still to
// come.
type lateMessage struct {
	peer   *peer
	hdr    core.Header
	args   [core.MaxArgs]uint32
	off    uint64
	n      int
	tag    int32
	medium uint32 // Medium: number of its buffer
	data   []byte // where the payload goes; nil while it waits for a buffer
}

// slab holds late messages by number. It grows to as many as were ever under way at once.
type slab struct {
	all  []*lateMessage
	free []uint32
}

func (s *slab) take() (uint32, *lateMessage) {
	if k := len(s.free); k > 0 {
		n := s.free[k-1]
		s.free = s.free[:k-1]
		return n, s.all[n]
	}
	s.all = append(s.all, new(lateMessage))
	return uint32(len(s.all) - 1), s.all[len(s.all)-1]
}

func (s *slab) put(n uint32) {
	*s.all[n] = lateMessage{}
	s.free = append(s.free, n)
}
