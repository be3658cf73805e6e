package sci

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
)

// Connections at the first use, see controlLayout. A rank that sends to a peer for the first
// time gives it a number first, for its answers.

// enlist makes the peer a sender, if it is none yet, and the flags for it.
func (c *paper) enlist(p *paperPeer) error {
	if p.sends {
		return nil
	}
	c.addSender(p)
	set := int(p.number) / c.control.set
	if set == 0 || int(p.number)%c.control.set != 0 {
		return nil
	}
	flags, err := c.export(segmentID(c.dev.Node(), c.setIndex(set)), setSize)
	if err != nil {
		return fmt.Errorf("sci: make flags of senders: %w", err)
	}
	// While this rank waited for its driver, that has admitted others, perhaps to further sets.
	for len(c.sets) <= set {
		c.sets = append(c.sets, flagSet{})
	}
	c.sets[set] = newFlagSet(flags)
	return nil
}

// setIndex returns the index of a node's further segments of flags, i > 0.
func (c *paper) setIndex(i int) int { return len(c.group) + extraSegments + i - 1 }

// admit makes the command segment of a node that connects for the first time. It is called
// while that node waits, by the driver of this one.
func (c *paper) admit(id sisci.SegmentID, from sisci.NodeID) {
	position := int(id - segmentID(c.dev.Node(), 0))
	if position >= len(c.group) || c.hosts.node(c.group[position]) != from {
		return
	}
	p := c.introduce(position)
	err := c.enlist(p)
	if err == nil {
		err = c.makeCommands(id, p)
	}
	if err != nil {
		c.port.Fail(fmt.Errorf("sci: rank %d: make the command segment of rank %d: %w", c.group[c.me], p.rank, err))
	}
}

// makeCommands makes the command segment of a sender. A rank has as many as it has senders, and
// few of their places are ever used: those take the memory.
func (c *paper) makeCommands(id sisci.SegmentID, p *paperPeer) (err error) {
	if p.places, err = c.dev.CreateSegment(id, numbered, sisci.Sparse, nil); err != nil {
		return err
	}
	if err := p.places.Prepare(0); err != nil {
		return err
	}
	binary.NativeEndian.PutUint32(p.places.Block(numberAt, numbered-numberAt), uint32(p.number))
	return p.places.SetAvailable()
}

// readNumber reads, through the map of its command segment, the number that the owner has
// given this rank as a sender.
func readNumber(cmd *sisci.RemoteMap) (int, error) {
	var b [numbered - numberAt]byte
	if err := cmd.MemCpy(nil, b[:], numberAt, sisci.BlockRead); err != nil {
		return 0, err
	}
	return int(binary.NativeEndian.Uint32(b[:])), nil
}

// reach imports the flags of a peer that waits for an answer, and has given this rank a number
// for it. It reports false if the job has failed.
func (c *paper) reach(p *paperPeer, number uint32) bool {
	if number >= uint32(len(c.group)) {
		c.fault(p.remote, "number %d for its answer, among %d ranks", number, len(c.group))
		return false
	}
	if err := c.importFlags(p, int(number)); err != nil {
		c.unreached(p.remote, err)
		return false
	}
	return true
}
