package scampi

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
)

// layout says where things are in a channel's segment: the credits that its receiver, as a
// sender in the other direction, is given; the slots; and the transporter buffers.
type layout struct {
	slots, slot    int
	eager          int // bytes of an eager message at most
	entries, entry int // transporter buffers, and bytes of one
	transporter    int // where they begin
	size           int // of the segment
}

// Credits are two cumulative counts: of slots, and of transporter buffers, that the other rank
// has taken messages out of.
const (
	slotCredit  = 0
	entryCredit = 8
	firstSlot   = align
)

func (p *Profile) layout() layout {
	s := &p.Library
	l := layout{slots: s.Slots, slot: int(s.Slot), entries: s.Entries, entry: int(s.Entry)}
	l.eager = l.slot - slotHeader
	l.transporter = firstSlot + l.slots*l.slot
	l.size = l.transporter + l.entries*l.entry
	return l
}

// slotAt returns where the slot of message number n is, counted from 0.
func (l *layout) slotAt(n uint64) int { return firstSlot + int(n%uint64(l.slots))*l.slot }

// entryAt returns where transporter buffer i is.
func (l *layout) entryAt(i int) int { return l.transporter + i*l.entry }

// channel is the receiving end of what one peer sends, in this rank's memory.
type channel struct {
	peer  *peer
	mem   []byte
	taken uint64 // messages
	told  uint64 // of them, those that the peer knows of
	freed uint64 // transporter buffers, all of which the peer knows
}

// channelID is the id, on its node, of the segment for what a rank sends there.
func channelID(from core.Rank) sisci.SegmentID { return sisci.SegmentID(from) }

// node returns the SCI node of a rank.
func node(r core.Rank) sisci.NodeID { return sisci.NodeID(r) }

// admit makes the channel of a rank that connects to it for the first time. It is called while
// that rank waits, by the driver of this one. (On the machine that is modelled the two
// processes would agree on that when they start.)
func (t *transport) admit(id sisci.SegmentID, from sisci.NodeID) {
	r := core.Rank(from)
	if id != channelID(r) || !t.inGroup(r) {
		return
	}
	mem, err := t.export(id)
	if err != nil {
		t.fail(err)
		return
	}
	p := t.peer(r)
	p.in = &channel{peer: p, mem: mem}
	t.channels = append(t.channels, p.in)
}

// export makes a channel's segment, which its sender can connect to, and returns its memory.
func (t *transport) export(id sisci.SegmentID) ([]byte, error) {
	s, err := t.dev.CreateSegment(id, t.layout.size, 0, nil)
	if err != nil {
		return nil, err
	}
	if err := s.Prepare(0); err != nil {
		return nil, err
	}
	m, err := s.Map(0, t.layout.size, 0)
	if err != nil {
		return nil, err
	}
	return m.Bytes(), s.SetAvailable()
}

// next returns what follows the flag of the next message's slot, or nil if there is none.
func (c *channel) next(l *layout) []byte {
	slot := c.mem[l.slotAt(c.taken):][:l.slot]
	if binary.LittleEndian.Uint64(slot) != c.taken+1 {
		return nil
	}
	return slot[flagSize:]
}

// credit returns how many of a kind the peer has taken.
func (p *peer) credit(kind int) uint64 {
	if p.in == nil { // it has taken nothing, or could not say so yet
		return 0
	}
	return binary.LittleEndian.Uint64(p.in.mem[kind:])
}
