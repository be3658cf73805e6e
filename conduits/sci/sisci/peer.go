package sisci

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Peer tells a device how to reach a node.
type Peer struct {
	Node NodeID
	// Arena is the node's memory itself, if the node belongs to this process. Else it is
	// nil and FD is the descriptor of that memory, which stays the caller's and open as
	// long as the device is.
	Arena *shm.Region
	FD    int
	// Bell is what to ring when an interrupt of the node is triggered (see shm.NewBell);
	// -1 if the node waits for its interrupts with Interrupt.Wait only.
	Bell int
}

// peer is a node as a device sees it; the device's own node is one too.
type peer struct {
	Peer
	dir    *directory
	layout *Layout       // of the node's memory
	mapped *shm.Region   // the directory's mapping; nil in one process
	state  atomic.Uint32 // 0: reachable; else what is wrong, as below
}

// What keeps a node from being reached.
const (
	nodeLost   uint32 = 1 << iota // for ever
	remoteDown                    // its link
	localDown                     // ours
)

// open finds the node's directory.
func (p *peer) open() (err error) {
	if p.Arena != nil {
		b := p.Arena.Bytes()
		if p.layout, err = readLayout(b, len(b), p.Node); err != nil {
			return err
		}
		p.dir = layOut(b, p.layout)
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(p.FD, &st); err != nil {
		return ErrSystem.at("open the directory of node %d: descriptor %d: %v", p.Node, p.FD, err)
	}
	m, err := shm.Map(p.FD, 0, headerSize)
	if err != nil {
		return ErrSystem.at("open the directory of node %d: %v", p.Node, err)
	}
	if p.layout, err = readLayout(m.Bytes(), int(st.Size), p.Node); err != nil {
		return errors.Join(err, m.Close())
	}
	if err := m.Close(); err != nil {
		return ErrSystem.at("open the directory of node %d: %v", p.Node, err)
	}
	if p.mapped, err = shm.Map(p.FD, 0, p.layout.directorySize()); err != nil {
		return ErrSystem.at("open the directory of node %d: %v", p.Node, err)
	}
	p.dir = layOut(p.mapped.Bytes(), p.layout)
	return nil
}

// close unmaps the node's directory. One of this process stays, so a late call on a handle
// of the device can still see that it is too late.
func (p *peer) close() error {
	if p.mapped == nil {
		return nil
	}
	p.dir = nil
	return p.mapped.Close()
}

// view returns size bytes of the node's arena from off on: a part of the arena where that
// is in this process, else a mapping of just this range, which the caller closes.
func (p *peer) view(off, size int, readOnly bool) (mem []byte, m *shm.Region, err error) {
	switch {
	case p.Arena != nil:
		return p.Arena.Bytes()[off : off+size : off+size], nil, nil
	case readOnly:
		m, err = shm.MapReadOnly(p.FD, int64(off), size)
	default:
		m, err = shm.Map(p.FD, int64(off), size)
	}
	if err != nil {
		return nil, nil, err
	}
	return m.Bytes(), m, nil
}

// access returns what a call that needs the node says when the node cannot be reached.
func (p *peer) access() Errno {
	switch s := p.state.Load(); {
	case s&localDown != 0:
		return ErrNoLinkAccess
	case s != 0:
		return ErrNoRemoteLinkAccess
	}
	return 0
}

func (p *peer) set(bit uint32)   { p.state.Or(bit) }
func (p *peer) clear(bit uint32) { p.state.And(^bit) }
