package amii

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// claim is room for a request that has been claimed.
type claim struct {
	to, length int
	op         am2.Op
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
	c := claim{to: to, length: length, op: am2.Op{Index: uint32(to), Kind: kindOfLength(length), NArgs: amfamily.Args, Len: length}}
	q.usedAt = p.Now()
	ok := e.end.Reserve(&c.op) == am2.Reserved
	if ok {
		e.claims = append(e.claims, c)
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
	for i := range e.claims {
		if c := e.claims[i]; c.to == to && c.length == claimed && len(data) <= claimed {
			e.claims = append(e.claims[:i], e.claims[i+1:]...)
			c.op.Header, c.op.Len = uint32(handler), len(data)
			e.runs()
			e.busy = true
			e.write(&c.op, args, data)
			e.end.Commit(&c.op)
			e.leave()
			return nil
		}
	}
	return fmt.Errorf("amii: node %d: no room for %d bytes to index %d was claimed", e.ID(), claimed, to)
}
