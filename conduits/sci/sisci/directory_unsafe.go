package sisci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// The directory is the first part of an arena. All nodes map it and store to it; every
// word of it is accessed by the functions of internal/shm or sync/atomic only.
//
//	header | segment entries | connection words | interrupt entries | (next page) memory

// magic begins every directory and changes with its format.
const magic = 0x4151_5349_5343_4901

// header has each thing that others write to on a cache line of its own.
type header struct {
	magic       uint64 // stored last
	memory      uint64 // the rest of a Layout
	node        uint32
	segments    uint32
	connections uint32
	interrupts  uint32
	device      uint32 // of the states below
	_           [28]byte
	events      shm.EventCount // the node itself waits here for changes of its connections
	_           [56]byte
	exports     shm.EventCount // other nodes wait here for segments and interrupts of the node
	_           [56]byte
	alarms      shm.EventCount // the node itself waits here for interrupts and DMA
	_           [56]byte
}

// States of an arena.
const (
	arenaFree uint32 = iota
	arenaOpen
	arenaTerminated
)

// segmentEntry describes a segment that other nodes may look up. Only its node writes it.
type segmentEntry struct {
	state uint32 // generation<<2 | one of the states below; stored last
	id    uint32
	off   uint64 // from the beginning of the arena
	size  uint64
	_     uint64
}

// States of a segment entry.
const (
	entryFree uint32 = iota
	entryHidden
	entryAvailable
	entryStates = 3 // mask
)

// interruptEntry is an interrupt number of the node.
type interruptEntry struct {
	state   uint32 // generation<<1 | 1 if created
	pending uint32 // 1: triggered and not yet taken
	_       [56]byte
}

const (
	headerSize         = int(unsafe.Sizeof(header{}))
	segmentEntrySize   = int(unsafe.Sizeof(segmentEntry{}))
	connectionSize     = 8
	interruptEntrySize = int(unsafe.Sizeof(interruptEntry{}))
)

// directory is a view of a directory.
type directory struct {
	*header
	segments    []segmentEntry
	connections [][]uint64 // in one piece live
	interrupts  []interruptEntry
	host        *host // nil live
}

// headerOf returns the header at the beginning of b, which has room for it.
func headerOf(b []byte) *header { return (*header)(unsafe.Pointer(&b[:headerSize][0])) }

// layOut returns the view of a directory whose layout has been checked against b.
func layOut(b []byte, l *Layout) *directory {
	b = b[:l.directorySize()]
	d := &directory{header: headerOf(b)}
	at := unsafe.Pointer(&b[0])
	next := func(size int) unsafe.Pointer {
		at = unsafe.Add(at, size)
		return at
	}
	d.segments = unsafe.Slice((*segmentEntry)(next(headerSize)), l.Segments)
	d.connections = [][]uint64{unsafe.Slice((*uint64)(next(l.Segments*segmentEntrySize)), l.Connections)}
	d.interrupts = unsafe.Slice((*interruptEntry)(next(l.Connections*connectionSize)), l.Interrupts)
	return d
}
