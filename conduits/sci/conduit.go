// Package sci is the conduit over Dolphin's SISCI: memory that a node exports and others
// map, written by remote stores and read locally (H. Su, B. Gordon, S. Oral, A. George,
// "GASNet Core API on Scalable Coherent Interface: Design and Realization"). Live, the
// exported memory is real shared memory between processes of a host, or between
// goroutines of one.
//
// Each node exports one command segment for each sender, so that a sender needs no lock
// and no remote read to find room; a long segment, the registered memory, imported when it
// is first used; and control segments for flags. Messages are taken by two profiles of
// different structure:
//
//   - live is built for today's machines: rings of slots, each with its ready flag inside,
//     credits returned in quarters, payload rings, and a summary of flags beyond a few
//     senders. Files *_live.go.
//   - paper is the published layout: two requests and two replies of 1024 bytes per
//     sender, message ready flags, the message exist flag, a work queue, and a control
//     reply for every request that is not answered. Files *_paper.go.
//
// In virtual time the published layout runs on a modelled machine, package hardware, and the
// conduit's own steps are charged to its processors: file model.go. On machines that ask for
// it, peers connect at the first use: file first_use.go. The modelled adapter also puts and adds
// to words by itself: files native.go, native_dma.go and native_atomic.go.
//
// On the message path a node only writes to remote memory and only reads its own.
package sci

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func init() {
	core.Register(core.Driver{
		Name:     "sci",
		Summary:  "exported segments over shared memory, SISCI-shaped; modelled: Dolphin SCI",
		Profiles: []string{"live", "paper"},
		Models:   models,
		Model: func(name string) error {
			_, err := loadMachine(name)
			return err
		},
		Settings: func(profile string) settings.Table { return new(params).table(profile) },
		PerHost:  core.RankPerNode,
		Check:    core.OneHost("sci"),
		Fits: func(profile string, ranks int, values map[string]string) error {
			p, err := parseParams(profile, values)
			if err == nil {
				_, err = p.hosts(ranks)
			}
			return err
		},
		New: func(profile string) core.Conduit {
			switch profile {
			case "live":
				return newLive()
			case "paper":
				return newPaper()
			}
			return newModelled(profile)
		},
	})
}

// base is what the profiles share: the node, its segments, the imports of the peers' long
// segments, and the doorbells.
type base struct {
	params
	private int  // bytes of this node's memory that are not exported, beside the long segment
	checked bool // what is sent is watched by sequences and repeated as they demand

	machine string // the modelled machine's name; "" live
	model   *model // nil live
	hosts   *hosts // how ranks and nodes are numbered
	provide func(sisci.SegmentID, sisci.NodeID)

	port    *core.Port
	adapter         // of messages
	longs   adapter // of long segments; under a model the same
	bell    int     // -1: none yet
	group   []core.Rank
	size    int                 // of the job
	me      int                 // the caller's position in group
	fenced  bool                // publish with a full barrier, since not every rank has membarrier
	long    *sisci.LocalSegment // this rank's segment; nil if it has no bytes
	own     []byte              // its memory
	sizes   []int               // of all ranks' segments; nil before AttachSegment

	nodes    []remote // by position in group
	asleep   []uint32 // own memory: by position, the number of the peer's present sleep, or 0
	sleeps   uint32   // the number of this rank's latest sleep
	doorbell *sisci.LocalInterrupt
	imports  sync.Mutex
}

// remote is a peer as every profile sees it.
type remote struct {
	rank  core.Rank
	node  sisci.NodeID
	long  atomic.Pointer[sisci.RemoteMap] // imported at the first use
	watch sisci.RemoteCallback            // under a model: is told when the peer is lost
	bells *sisci.RemoteMap                // the peer's asleep words
	door  *sisci.RemoteInterrupt
}

const (
	connectTimeout = 30 * time.Second // all segments exist already; covers an overloaded host
	doorbell       = 0                // number of the interrupt that ends a sleep
)

// Segment ids are the node's number and an index, as published: the sender's position for
// command segments, then these, counted from the number of senders.
const (
	longIndex = iota
	controlIndex
	bellIndex
	extraSegments
)

func segmentID(node sisci.NodeID, index int) sisci.SegmentID {
	return sisci.SegmentID(uint32(node)<<16 + uint32(index))
}

// open makes the node and everything that the profiles share. made is the number of command
// segments that are made now; command and control are the sizes of a command segment and of
// the control segment. It returns the memory of the command segments and of the control segment.
func (b *base) open(a *core.Attachment, made, command, control int) (commands [][]byte, flags []byte, err error) {
	if b.params, err = parseParams(b.profile(), a.Settings); err != nil {
		return nil, nil, err
	}
	b.port, b.group, b.size = a.Port, a.Group, a.Boot.Size()
	n := len(a.Group)
	layout := b.layout(n, command, control)
	b.me, _ = slices.BinarySearch(a.Group, a.Boot.Rank())
	if a.Proc != nil {
		err = b.openModel(a, layout)
	} else {
		err = b.openLive(a, layout)
	}
	if err != nil {
		return nil, nil, err
	}
	self := b.dev.Node()
	for i := range made {
		mem, err := b.export(segmentID(self, i), command)
		if err != nil {
			return nil, nil, err
		}
		commands = append(commands, mem)
	}
	if flags, err = b.export(segmentID(self, n+controlIndex), control); err != nil {
		return nil, nil, err
	}
	if b.model != nil {
		return commands, flags, a.Boot.Barrier() // all segments can be connected
	}
	return commands, flags, b.openBells(a)
}

// AttachSegment implements core.Conduit. Live the segment is in an arena of its own, which peers get to know
// now: that of the messages has its size for good.
func (b *base) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	if a.Memory != nil {
		return nil, fmt.Errorf("sci: peers map what the adapter exports: %w; as one of two conduits make it the near one", core.ErrOwnSegment)
	}
	n := len(b.group)
	if b.sizes = a.Sizes; b.model != nil {
		b.longs.dev = b.dev
	} else if err := b.openDevice(a, &b.longs, b.longLayout(n, a.Segment), -1); err != nil {
		return nil, err
	}
	if a.Segment > 0 {
		b.long, b.own, err = offer(b.longs.dev, segmentID(b.dev.Node(), n+longIndex), a.Segment)
	}
	return b.own, err
}

// openBells makes what wakes ranks that sleep.
func (b *base) openBells(a *core.Attachment) error {
	n := len(a.Group)
	bells, err := b.export(segmentID(b.dev.Node(), n+bellIndex), 4*n)
	if err != nil {
		return err
	}
	b.asleep = words(bells)
	if b.doorbell, err = b.dev.CreateInterrupt(doorbell, true); err != nil {
		return err
	}
	if err := b.agree(a); err != nil {
		return err
	}
	return b.connect()
}

// layout returns what a node of a group of n has besides its long segment. Of all that,
// memory is taken page by page as it is first touched.
func (b *base) layout(n, command, control int) sisci.Layout {
	return sisci.Layout{
		Memory:      n*shm.RoundUp(command) + shm.RoundUp(control) + shm.RoundUp(4*n),
		Segments:    n + extraSegments,
		Connections: n * (extraSegments + 2),
		Interrupts:  1,
	}
}

// longLayout returns what the arena of a long segment of size bytes has.
func (b *base) longLayout(n, size int) sisci.Layout {
	return sisci.Layout{Memory: size + b.private, Segments: 1, Connections: n}
}

// agree learns whether all ranks can use membarrier; it is also the barrier after which
// all segments can be connected.
func (b *base) agree(a *core.Attachment) error {
	mine := []byte{0}
	if !b.fences && shm.RegisterMembarrier() {
		mine[0] = 1
	}
	all, err := a.Boot.Exchange(mine)
	if err != nil {
		return err
	}
	for _, r := range a.Group {
		if len(all[r]) != 1 || all[r][0] == 0 {
			b.fenced = true
		}
	}
	return nil
}

// connect maps every peer's bells and connects to its doorbell.
func (b *base) connect() error {
	b.nodes = make([]remote, len(b.group))
	for i, r := range b.group {
		p := &b.nodes[i]
		p.rank, p.node = r, b.hosts.node(r)
		var err error
		if p.bells, err = b.importSegment(b.dev, p, len(b.group)+bellIndex, 4*len(b.group)); err != nil {
			return err
		}
		if p.door, err = b.dev.ConnectInterrupt(p.node, doorbell, connectTimeout); err != nil {
			return err
		}
	}
	return nil
}

// Close implements core.Conduit.
func (b *base) Close() error {
	err := errors.Join(b.longs.close(), b.adapter.close())
	if b.bell >= 0 {
		err = errors.Join(err, unix.Close(b.bell))
	}
	return err
}

// unreached ends the job because what was sent to a peer does not arrive.
func (b *base) unreached(p *remote, why any) {
	if b.model != nil && b.lost(p) {
		b.failLost(p)
		return
	}
	b.port.Fail(fmt.Errorf("sci: rank %d: cannot send to rank %d: %v", b.group[b.me], p.rank, why))
}

// fault ends the job because of what a peer wrote.
func (b *base) fault(p *remote, format string, args ...any) {
	b.port.Fail(fmt.Errorf("sci: rank %d: message from rank %d: %s", b.group[b.me], p.rank, fmt.Sprintf(format, args...)))
}
