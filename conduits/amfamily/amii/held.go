package amii

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// claim is room for a request that has been claimed.
type claim struct {
	to int
	op am2.Op // with the length that was claimed
}

// Hold says that the program has a wait of its own, and is called once, before anything else but Bind: Claim and Send take the place of
// Request then. Poll fails from the first message on that comes back. Hold returns why a reply of so many bytes of data could not be sent, or nil. A request is never delivered before a reply has
// room, whether Hold has been called or not.
func (e *Endpoint) Hold(reply int) error {
	if reply > int(e.profile.AM2.Fragment) {
		return fmt.Errorf("amii: node %d: replies of %d bytes; a message has %d at most (am2.fragment)", e.ID(), reply, e.profile.AM2.Fragment)
	}
	e.holds = true
	return nil
}

// Claim takes room for a request with at most so many bytes of data to an index, or reports false if there is none at present. It waits
// for nothing and runs no handler. If the endpoint is not resident, there is none, and the driver begins to page it in: Poll goes on with
// that.
func (e *Endpoint) Claim(to, length int) bool {
	return e.claim(to, am2.Op{Kind: kindOfLength(length), NArgs: amfamily.Args, Len: length})
}

// ClaimLong implements amfamily.Placer, as Claim does.
func (e *Endpoint) ClaimLong(to, args, length int) bool {
	return e.claim(to, am2.Op{Kind: am2.Long, NArgs: args, Len: length})
}

// claim takes room for a message.
func (e *Endpoint) claim(to int, op am2.Op) bool {
	p, q := e.Proc(), e.queues
	e.runs()
	if p.Sync(); q.place != resident || q.leaving {
		if q.place == absent && !q.wanted {
			e.Count.Traps++
			e.host.program.counts.Faults++
			e.host.program.driver.want(q)
		}
		return false
	}
	q.usedAt = p.Now()
	op.Index = uint32(to)
	e.claims = append(e.claims, claim{to: to, op: op})
	last := len(e.claims) - 1
	ok := e.end.Reserve(&e.claims[last].op) == am2.Reserved
	if !ok {
		e.claims = e.claims[:last]
	}
	q.attend() // the receiver is asked for news of its room
	return ok
}

// Send sends a request for which room was claimed, with the length that Claim was told; its data may be shorter. It waits for the bus
// alone, and runs no handler.
func (e *Endpoint) Send(to, handler int, args [amfamily.Args]uint32, data []byte, claimed int) error {
	if err := e.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	return e.send(to, am2.Op{Header: uint32(handler), Kind: kindOfLength(claimed), NArgs: amfamily.Args, Len: len(data)}, args[:], data, claimed)
}

// Expose implements amfamily.Placer: bulk goes to the memory.
func (e *Endpoint) Expose(memory []byte) { e.options.Segment = memory }

// SendLong implements amfamily.Placer, as Send does.
func (e *Endpoint) SendLong(to int, l *amfamily.Long, data []byte, claimed int) error {
	if err := e.CheckRequest(to, e.long, 0); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	return e.send(to, longOp(l, data), l.Args, data, claimed)
}

// ReplyLong implements amfamily.Placer. A reply of am2.bulk bytes has room whenever one has.
func (e *Endpoint) ReplyLong(m *amfamily.Message, l *amfamily.Long, data []byte) error {
	if len(data) > int(e.profile.AM2.Bulk) {
		return e.unfit(am2.TooLong, 0, len(data))
	}
	if err := e.CheckReply(m, e.long, 0); err != nil {
		return fmt.Errorf("amii: %w", err)
	}
	op := longOp(l, data)
	return e.reply(m, &op, l.Args, data)
}

// longOp returns a Long as the protocol has it.
func longOp(l *amfamily.Long, data []byte) am2.Op {
	return am2.Op{Header: l.Header, Kind: am2.Long, NArgs: len(l.Args), Len: len(data), Offset: l.Offset}
}

// send sends the message that op describes in the room that was claimed for one like it.
func (e *Endpoint) send(to int, op am2.Op, args []uint32, data []byte, claimed int) error {
	for i := range e.claims {
		c := &e.claims[i]
		if c.to != to || c.op.Kind != op.Kind || c.op.NArgs != op.NArgs || c.op.Len != claimed || op.Len > claimed {
			continue
		}
		op.Index, op.Slot, op.Args, op.Data = c.op.Index, c.op.Slot, c.op.Args, c.op.Data
		e.claims = slices.Delete(e.claims, i, i+1)
		e.runs()
		e.busy = true
		e.write(&op, args, data)
		e.end.Commit(&op)
		e.leave()
		return nil
	}
	return fmt.Errorf("amii: node %d: no room for %d bytes to index %d was claimed", e.ID(), claimed, to)
}
