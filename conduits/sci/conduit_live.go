package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
)

// directScan is the number of senders up to which every poll looks at each one's next
// slot; beyond, senders also set a hint byte and polls look at those. A slot costs about
// 2 ns to look at, a message about that much more with a hint.
const directScan = 16

// live is a rank's end in the live profile.
type live struct {
	base
	peers  []livePeer  // by position in group
	ends   []ends      // likewise
	rings  *rings      // what code in another language sees; nil if nobody has asked for it
	byRank []*livePeer // by rank; nil outside the group

	hinted     bool
	hints      []uint8 // own memory: by position, 1 if the sender has written
	hintWords  []uint64
	first      int // where the next poll begins: a sender, or a word of hints
	emptyPolls int // in a row
}

// livePeer is a peer in the live profile.
type livePeer struct {
	*remote
	*ends
	index int // its position in group
}

func newLive() *live { return &live{base: base{bell: -1}} }

// Attach implements core.Conduit.
func (c *live) Attach(a *core.Attachment) (err error) {
	n := len(a.Group)
	command := layoutFor(pageStagger - 1).size
	commands, hints, err := c.open(a, n, command, hintBytes(n))
	if err != nil {
		return err
	}
	c.hinted = n > directScan
	c.hints, c.hintWords = hints, longWords(hints)
	if err := c.makeEnds(n, a.Foreign); err != nil {
		return err
	}
	c.peers = make([]livePeer, n)
	c.byRank = make([]*livePeer, a.Boot.Size())
	for i := range c.peers {
		p := &c.peers[i]
		p.remote, p.ends, p.index = &c.nodes[i], &c.ends[i], i
		cmd, err := c.importSegment(c.dev, p.remote, c.me, command)
		if err != nil {
			return err
		}
		theirs, err := c.importSegment(c.dev, p.remote, n+controlIndex, len(hints))
		if err != nil {
			return err
		}
		p.hint = (*uint8)(theirs.Ptr(c.me))
		there, here := layoutFor(c.me), layoutFor(i)
		for l := range lanes {
			p.out[l] = outRing{
				slots: (*[depth]slot)(cmd.Ptr(there.ring[l])), payload: (*[payloadRing]byte)(cmd.Ptr(there.payload[l])),
				credit: &longWords(commands[i])[creditOffset(l)/8],
				room:   depth, payRoom: payloadRing,
			}
			p.in[l] = inRing{
				slots:   slotsAt(commands[i], here.ring[l]),
				payload: (*[payloadRing]byte)(commands[i][here.payload[l]:][:payloadRing]),
				back:    (*uint64)(cmd.Ptr(creditOffset(l))),
			}
			p.in[l].await(0)
		}
		c.byRank[p.rank] = p
	}
	return nil
}
