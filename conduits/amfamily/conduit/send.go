package conduit

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/core"
)

// ownDepth is how many requests of a rank to itself may be under way.
const ownDepth = 64

// stage is a message from Reserve to Commit, or, of those that a rank sends to itself, until its handler runs.
type stage struct {
	number  int // in conduit.stages
	claimed int // bytes of data
	args    [core.MaxArgs]uint32
	memory  []byte // of the payload, with room for words behind it

	hdr core.Header
	off uint64
	n   int
}

// stage returns one that is idle, for so many bytes of payload.
func (c *conduit) stage(length int) *stage {
	if len(c.idle) == 0 {
		st := &stage{number: len(c.stages), memory: make([]byte, 0, c.site.most+moreBytes)}
		c.stages, c.idle = append(c.stages, st), append(c.idle, st)
	}
	last := len(c.idle) - 1
	st := c.idle[last]
	c.idle = c.idle[:last]
	st.memory = slices.Grow(st.memory, length)
	return st
}

// Reserve implements core.Conduit: a request claims its room. A reply has room by the system's rule, see amfamily.Claimer.
func (c *conduit) Reserve(op *core.Op) core.Result {
	claimed := op.Len
	if !c.places(op.Hdr) {
		claimed += 4 * max(0, wordsOf(op.Hdr)-inWords)
	}
	switch {
	case op.Hdr.Reply():
	case op.Dst == c.rank:
		if c.asked == ownDepth {
			return core.NoRoom
		}
		c.asked++
	case c.places(op.Hdr):
		if !c.placer.ClaimLong(c.index(op.Dst), op.Hdr.NArgs(), op.Len) {
			return core.NoRoom
		}
	case !c.node.Claim(c.index(op.Dst), claimed):
		return core.NoRoom
	}
	st := c.stage(op.Len)
	st.claimed = claimed
	op.Slot, op.Args, op.Data = uint64(st.number), &st.args, st.memory[:op.Len]
	return core.Reserved
}

// index returns the node of a rank.
func (c *conduit) index(r core.Rank) int {
	i, _ := slices.BinarySearch(c.group, r)
	return i
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	st := c.stages[op.Slot]
	if op.Dst == c.rank {
		c.proc.Charge(c.site.system.copied(op.Len))
		st.hdr, st.off, st.n = op.Hdr, op.Off, op.Len
		c.own.Push(st)
		return
	}
	err := c.send(op, st)
	c.idle = append(c.idle, st)
	if err != nil {
		c.port.Fail(fmt.Errorf("%s: rank %d: cannot send to rank %d: %w", c.name, c.rank, op.Dst, err))
	}
}

// send sends a message to another rank.
func (c *conduit) send(op *core.Op, st *stage) error {
	to, data := c.index(op.Dst), st.memory[:op.Len]
	if c.places(op.Hdr) {
		c.long = amfamily.Long{Header: uint32(op.Hdr), Args: st.args[:op.Hdr.NArgs()], Offset: op.Off, Len: op.Len}
		if op.Hdr.Reply() {
			return c.placer.ReplyLong(c.serving, &c.long, data)
		}
		return c.placer.SendLong(to, &c.long, data, st.claimed)
	}
	words, data := pack(op.Hdr, op.Off, &st.args, data)
	if op.Hdr.Reply() {
		return c.node.Reply(c.serving, handler, words, data)
	}
	return c.node.Send(to, handler, words, data, st.claimed)
}

// places reports whether the system puts the payload of such a message at its place itself.
func (c *conduit) places(h core.Header) bool { return c.placer != nil && h.Kind() == core.Long }
