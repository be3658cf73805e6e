package sci

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// adapter is a node's device with its arena, and those of its peers.
type adapter struct {
	dev    *sisci.Device
	arena  *shm.Region    // nil under a model
	fds    []int          // peers' descriptors, to be closed
	shared []*sharedArena // all arenas, when the ranks share a process
}

// close closes the device and lets go of the arenas.
func (d *adapter) close() error {
	var errs []error
	if d.dev != nil {
		errs = append(errs, d.dev.Terminate())
	}
	if d.arena != nil && len(d.shared) == 0 {
		errs = append(errs, d.arena.Close())
	}
	for _, s := range d.shared {
		errs = append(errs, s.release())
	}
	for _, fd := range d.fds {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}

// openLive opens the adapter of messages.
func (b *base) openLive(a *core.Attachment, layout sisci.Layout) (err error) {
	if a.Boot.Size() > 1<<16 {
		return fmt.Errorf("sci: a job of %d ranks; SCI addresses %d nodes", a.Boot.Size(), 1<<16)
	}
	if b.hosts, err = b.params.hosts(a.Boot.Size()); err != nil {
		return err
	}
	if b.bell, err = shm.NewBell(); err != nil {
		return err
	}
	if err := b.openDevice(a, &b.adapter, layout, b.bell); err != nil {
		return err
	}
	return a.Boot.Barrier() // every arena has its device before anybody connects
}

// openDevice makes an arena of this node, lets the ranks exchange theirs, and opens the device. bell is what
// interrupts ring, or -1.
func (b *base) openDevice(a *core.Attachment, d *adapter, layout sisci.Layout, bell int) (err error) {
	self := a.Boot.Rank()
	node := b.hosts.node(self)
	within, process := a.Boot.(core.ProcessSharer)
	kind := shm.Shared
	if process {
		kind = shm.Local
	}
	if d.arena, err = sisci.NewArena(node, layout, kind); err != nil {
		return err
	}
	var peers []sisci.Peer
	if process {
		peers, err = b.meet(a, d, within, bell)
	} else {
		peers, err = b.receive(a, d, a.Boot.(core.DescriptorSharer), bell)
	}
	if err != nil {
		return err
	}
	d.dev, err = sisci.Open(sisci.Config{
		Node: node, Arena: d.arena, Bell: bell, Peers: peers,
		Fault: b.faulty(uint64(self)),
	})
	return err
}

// sharedArena is a node's memory among ranks of one process: the last one to close frees
// it, since the others' connections lie in it.
type sharedArena struct {
	peer  sisci.Peer
	users atomic.Int32
}

func (s *sharedArena) release() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	return s.peer.Arena.Close()
}

// meet exchanges the arenas of ranks that live in one process.
func (b *base) meet(a *core.Attachment, d *adapter, within core.ProcessSharer, bell int) ([]sisci.Peer, error) {
	key := func(r core.Rank) string { return fmt.Sprintf("sci node %d, longs %t", r, d == &b.longs) }
	self := a.Boot.Rank()
	within.Share(key(self), func() any {
		return &sharedArena{peer: sisci.Peer{Node: b.hosts.node(self), Arena: d.arena, FD: -1, Bell: bell}}
	})
	if err := a.Boot.Barrier(); err != nil {
		return nil, err
	}
	var peers []sisci.Peer
	for _, r := range a.Group {
		s := within.Share(key(r), func() any { return new(sharedArena) }).(*sharedArena)
		s.users.Add(1)
		d.shared = append(d.shared, s)
		if r != self {
			peers = append(peers, s.peer)
		}
	}
	return peers, nil
}

// receive exchanges the arenas of processes as descriptors.
func (b *base) receive(a *core.Attachment, d *adapter, share core.DescriptorSharer, bell int) ([]sisci.Peer, error) {
	arenas, err := d.shareFD(a, share, d.arena.FD())
	if err != nil {
		return nil, err
	}
	bells := slices.Repeat([]int{-1}, len(arenas))
	if bell >= 0 {
		if bells, err = d.shareFD(a, share, bell); err != nil {
			return nil, err
		}
	}
	var peers []sisci.Peer
	for _, r := range a.Group {
		if r != a.Boot.Rank() {
			peers = append(peers, sisci.Peer{Node: b.hosts.node(r), FD: arenas[r], Bell: bells[r]})
		}
	}
	return peers, nil
}

// shareFD gives fd to all ranks and keeps the group's descriptors until close.
func (d *adapter) shareFD(a *core.Attachment, share core.DescriptorSharer, fd int) ([]int, error) {
	fds, err := share.ShareFD(fd)
	if err != nil {
		return nil, err
	}
	for r, fd := range fds {
		switch _, in := slices.BinarySearch(a.Group, core.Rank(r)); {
		case fd < 0 && in:
			err = fmt.Errorf("sci: rank %d is on another host", r)
		case fd >= 0 && in:
			d.fds = append(d.fds, fd)
		case fd >= 0:
			unix.Close(fd)
		}
	}
	return fds, err
}

// export makes a segment that peers can connect to, and returns its memory.
func (b *base) export(id sisci.SegmentID, size int) ([]byte, error) {
	_, mem, err := offer(b.dev, id, size)
	return mem, err
}

// offer is export of a device that returns the segment, too.
func offer(dev *sisci.Device, id sisci.SegmentID, size int) (*sisci.LocalSegment, []byte, error) {
	s, err := dev.CreateSegment(id, size, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Prepare(0); err != nil {
		return nil, nil, err
	}
	m, err := s.Map(0, size, 0)
	if err != nil {
		return nil, nil, err
	}
	return s, m.Bytes(), s.SetAvailable()
}

// importSegment connects a device to a peer's segment and maps it.
func (b *base) importSegment(dev *sisci.Device, p *remote, index, size int) (*sisci.RemoteMap, error) {
	if b.model != nil && p.watch == nil {
		p.watch = b.watched(p)
	}
	s, err := dev.Connect(p.node, segmentID(p.node, index), connectTimeout, p.watch)
	if err != nil {
		return nil, err
	}
	return s.Map(0, size, 0)
}

// longMap returns the peer's long segment, which is imported at its first use.
func (b *base) longMap(p *remote) *sisci.RemoteMap {
	if m := p.long.Load(); m != nil {
		return m
	}
	b.imports.Lock()
	defer b.imports.Unlock()
	if m := p.long.Load(); m != nil {
		return m
	}
	m, err := b.importSegment(b.longs.dev, p, len(b.group)+longIndex, b.sizes[p.rank])
	if err != nil {
		b.unreached(p, err)
		return nil
	}
	p.long.Store(m)
	return m
}

// longWindow returns n bytes at off of the peer's segment, to be written to. After a
// failure it is memory that nobody looks at.
func (b *base) longWindow(p *remote, off uint64, n int) []byte {
	if n == 0 {
		return nil
	}
	if m := b.longMap(p); m != nil {
		return m.Window(int(off), n)
	}
	return make([]byte, n)
}

// closeWindow ends the use of what longWindow returned.
func (p *remote) closeWindow(off uint64) {
	if m := p.long.Load(); m != nil {
		m.Close(int(off))
	}
}
