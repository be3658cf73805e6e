package udp

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Reserve implements core.Conduit.
func (c *conduit) Reserve(op *core.Op) core.Result {
	c.mu.Enter()
	c.translate(op)
	var r am2.Result
	if op.Hdr.Reply() {
		r = c.endpoint.ReserveReply(&c.op)
	} else {
		r = c.endpoint.Reserve(&c.op)
	}
	op.Args, op.Data, op.Slot = c.op.Args, c.op.Data, c.op.Slot
	if r == am2.NoRoom {
		c.stir() // the peer may have to be asked for news
	}
	c.mu.Leave()
	switch r {
	case am2.Reserved:
		return core.Reserved
	case am2.NoRoom:
		return core.NoRoom
	}
	c.misfit(op, r)
	return core.NoRoom
}

// misfit ends the job because of a message that core should not have let through.
func (c *conduit) misfit(op *core.Op, r am2.Result) {
	c.port.Fail(fmt.Errorf("udp: rank %d: message to rank %d: %v", c.rank, op.Dst, r))
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	c.mu.Enter()
	c.translate(op)
	c.op.Slot = op.Slot
	if op.Hdr.Reply() {
		c.endpoint.CommitReply(&c.op)
	} else {
		c.endpoint.Commit(&c.op)
	}
	shm.Publish32(&c.sends, c.sends+1)
	c.stir()
	c.mu.Leave()
}

// translate describes a message to am2, whose kinds have the numbers of core's.
func (c *conduit) translate(op *core.Op) {
	o := &c.op
	o.Index, o.Header, o.Kind, o.NArgs = uint32(op.Dst), uint32(op.Hdr), am2.Kind(op.Hdr.Kind()), op.Hdr.NArgs()
	o.Len, o.Offset = op.Len, op.Off
	if o.Src, o.Sent = op.Src, nil; op.LC != nil {
		o.Sent = op.LC
	}
}
