package sisci

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// NodeID is the number of a node, 16 bits as in SCI's addresses (IEEE 1596-1992).
type NodeID uint16

// SegmentID is the number of a segment, unique on its node.
type SegmentID uint32

// Layout says how much a node's arena has room for.
type Layout struct {
	Memory      int // bytes for segments, each of which takes whole pages
	Segments    int // segments that exist at a time, private ones not counted
	Connections int // connections from other nodes (and itself) at a time
	Interrupts  int // interrupt numbers
}

// Size returns the bytes of the arena: the directory and the memory, in whole pages.
func (l Layout) Size() int { return l.directorySize() + shm.RoundUp(l.Memory) }

func (l Layout) directorySize() int {
	return shm.RoundUp(headerSize + l.Segments*segmentEntrySize + l.Connections*connectionSize + l.Interrupts*interruptEntrySize)
}

// maxTable bounds each table of a directory; connection words have 24 bits for a slot.
const maxTable = 1 << 24

func (l Layout) check() error {
	for _, t := range []struct {
		name string
		n    int
	}{{"segments", l.Segments}, {"connections", l.Connections}, {"interrupts", l.Interrupts}} {
		if t.n < 0 || t.n > maxTable {
			return fmt.Errorf("room for %d %s", t.n, t.name)
		}
	}
	if l.Memory < 0 || l.Size() < 0 {
		return fmt.Errorf("room for %d bytes", l.Memory)
	}
	return nil
}

// NewArena makes the memory of a node: a directory that the other nodes look up, and the
// memory of which the node's segments are made. It is given to Open, and, by its
// descriptor or as it is, to every other node. Closing it after the device is the
// caller's part.
func NewArena(node NodeID, l Layout, kind shm.Kind) (*shm.Region, error) {
	if err := l.check(); err != nil {
		return nil, ErrIllegalParameter.at("make the arena of node %d: %v", node, err)
	}
	r, err := shm.NewRegion(l.Size(), kind)
	if err != nil {
		return nil, ErrSystem.at("make the arena of node %d: %v", node, err)
	}
	format(r.Bytes(), node, l)
	return r, nil
}

// readLayout checks that b, the beginning of an arena of size bytes, is that of the
// directory of the node, and returns how the arena is laid out, which fits its size.
// Nothing in it is believed: the arena may belong to another process.
func readLayout(b []byte, size int, node NodeID) (*Layout, error) {
	if len(b) < headerSize {
		return nil, ErrInconsistentVersions.at("open the directory of node %d: it has only %d bytes", node, len(b))
	}
	h := headerOf(b)
	if shm.Load64(&h.magic) != magic {
		return nil, ErrInconsistentVersions.at("open the directory of node %d: it is not one of this version", node)
	}
	if n := shm.Load32(&h.node); n != uint32(node) {
		return nil, ErrIllegalNodeid.at("open the directory of node %d: it is that of node %d", node, n)
	}
	l := &Layout{
		Memory:      int(shm.Load64(&h.memory)),
		Segments:    int(shm.Load32(&h.segments)),
		Connections: int(shm.Load32(&h.connections)),
		Interrupts:  int(shm.Load32(&h.interrupts)),
	}
	if err := l.check(); err != nil {
		return nil, ErrSystem.at("open the directory of node %d: it claims %v", node, err)
	}
	if size < l.Size() {
		return nil, ErrSystem.at("open the directory of node %d: its arena has %d of %d bytes", node, size, l.Size())
	}
	return l, nil
}

// format writes the empty directory of an arena that is all zero.
func format(b []byte, node NodeID, l Layout) {
	h := headerOf(b)
	shm.Store32(&h.node, uint32(node))
	shm.Store32(&h.segments, uint32(l.Segments))
	shm.Store32(&h.connections, uint32(l.Connections))
	shm.Store32(&h.interrupts, uint32(l.Interrupts))
	shm.Store64(&h.memory, uint64(l.Memory))
	shm.Store64(&h.magic, magic)
}
