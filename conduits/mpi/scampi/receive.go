package scampi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
)

// receive looks at all channels once, and takes what is there, of each up to a ring of messages.
func (t *transport) receive() error {
	if t.err != nil {
		return t.err
	}
	for i := 0; i < len(t.channels); i++ { // others may come meanwhile
		c := t.channels[i]
		t.proc.Charge(t.profile.Library.Scan)
		for range t.layout.slots {
			slot := c.next(&t.layout)
			if slot == nil {
				break
			}
			if err := t.take(c, slot); err != nil {
				return fmt.Errorf("scampi: message from rank %d: %w", c.peer.rank, err)
			}
		}
	}
	return nil
}

// take gives the next message of a channel to the matching engine, which copies its payload,
// and its room back.
func (t *transport) take(c *channel, slot []byte) error {
	t.worked = true
	t.proc.Charge(t.profile.Library.Envelope)
	e, err := parseEnvelope(slot, &t.layout)
	if err != nil {
		return err
	}
	m := matching.Message{
		Kind: e.kind, From: int32(c.peer.rank), To: int32(t.rank), Tag: e.tag,
		Size: e.size, Offset: e.offset, Send: e.send, Recv: e.recv,
	}
	switch e.kind {
	case matching.Eager:
		m.Payload = slot[slotHeader-flagSize:][:e.length]
	case matching.Data:
		m.Payload = c.mem[t.layout.entryAt(e.entry):][:e.length]
	}
	if err := t.engine.Handle(m); err != nil {
		return err
	}
	t.account()
	c.taken++
	if e.kind == matching.Data {
		c.freed++
		if err := t.tell(c.peer, entryCredit, c.freed); err != nil {
			return err
		}
	}
	if c.taken-c.told >= uint64(t.layout.slots/4) {
		c.told = c.taken
		return t.tell(c.peer, slotCredit, c.taken)
	}
	return nil
}

// tell gives credit back: how many slots or transporter buffers have been taken in all.
func (t *transport) tell(p *peer, kind int, count uint64) error {
	im, err := t.reach(p)
	if err != nil {
		return err
	}
	im.m.Store64(kind, count)
	return nil
}
