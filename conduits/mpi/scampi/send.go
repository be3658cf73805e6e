package scampi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/core"
)

// transmit sends what the matching engine has to say, and reports whether there was anything.
// The parts of large messages are left to carry.
func (t *transport) transmit() (sent bool, err error) {
	for m, ok := t.engine.Next(); ok; m, ok = t.engine.Next() {
		sent = true
		p := t.peer(core.Rank(m.To))
		if m.Kind == matching.Data {
			p.large.Push(m)
			t.occupy(p)
			continue
		}
		e := envelope{kind: m.Kind, tag: m.Tag, size: m.Size, length: len(m.Payload), send: m.Send, recv: m.Recv}
		if err := t.put(p, &e, m.Payload); err != nil {
			return sent, err
		}
		t.engine.Sent(m)
	}
	return sent, nil
}

// put sends a message to the peer's channel: envelope and data first, the flag when these are
// certain to be there. While the channel is full it takes what comes, so that two ranks
// whose channels are both full go on.
func (t *transport) put(p *peer, e *envelope, data []byte) error {
	if err := t.awaitSlot(p); err != nil {
		return err
	}
	im, err := t.reach(p)
	if err != nil {
		return err
	}
	t.proc.Charge(t.profile.Library.Envelope)
	slot := t.layout.slotAt(p.sent)
	at, n := slot+flagSize, slotHeader-flagSize+len(data)
	w := im.m.Window(at, n)
	e.put(w)
	copy(w[slotHeader-flagSize:], data)
	err = im.ensure(at, n)
	im.m.Close(at)
	if err != nil {
		return err
	}
	p.sent++
	im.m.Store64(slot, p.sent)
	return nil
}

// awaitSlot waits until there is a free slot in the peer's channel.
func (t *transport) awaitSlot(p *peer) error {
	for p.sent-p.credit(slotCredit) >= uint64(t.layout.slots) {
		seen := t.proc.Arrivals
		t.proc.Sync()
		began := t.proc.Now()
		if err := t.receive(); err != nil {
			return err
		}
		if t.proc.Arrivals == seen {
			t.proc.SetWaiting(fmt.Sprintf("a slot of the channel to rank %d", p.rank))
			t.proc.Park(t.proc.Now() - began)
			t.proc.SetWaiting("")
		}
	}
	return nil
}
