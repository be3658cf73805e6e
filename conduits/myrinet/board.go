package myrinet

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// board is a rank's memory that others have too.
type board struct {
	asleep  *uint32
	orders  []byte
	puts    []byte // orders of puts and gets; with params.joint these are among the others
	reports []byte
	bounce  []byte
	door    door     // of the card; the first ranks of hosts alone have one
	links   [][]byte // by sending host; likewise
	bell    int      // -1: not known here
}

// Sizes of parts of a board.
const (
	boardHead = 256 // the words of sleep and of the doorbell, on lines of their own
	busRing   = 256 << 10
	doorAt    = 64
	dozesAt   = 128
)

// boardSize returns how much memory a rank of a group makes. The first rank of a host has the rings that come to the host.
func (p *params) boardSize(group []core.Rank, rank core.Rank) int {
	hosts, first := 0, false
	for i, r := range group {
		if i == 0 || int(r)/p.perHost != int(group[i-1])/p.perHost {
			hosts++
			first = first || r == rank
		}
	}
	if !first {
		hosts = 0
	}
	rings := 3
	if p.joint {
		rings = 2
	}
	return shm.RoundUp(boardHead + rings*link.RingBytes(busRing) + (p.bounce+63)&^63 + hosts*link.RingBytes(p.linkRing))
}

// lay lays a board out.
func (c *live) lay(bytes []byte, bell int) *board {
	b := &board{bell: bell}
	b.asleep = (*uint32)(unsafe.Pointer(&bytes[0]))
	b.door = door{count: (*shm.EventCount)(unsafe.Pointer(&bytes[doorAt])), dozes: (*uint32)(unsafe.Pointer(&bytes[dozesAt])), bell: bell}
	at := boardHead
	take := func(n int) []byte {
		part := bytes[at : at+n : at+n]
		at += (n + 63) &^ 63
		return part
	}
	b.orders, b.reports = take(link.RingBytes(busRing)), take(link.RingBytes(busRing))
	if !c.joint {
		b.puts = take(link.RingBytes(busRing))
	}
	b.bounce = take(c.bounce)
	for len(bytes)-at >= link.RingBytes(c.linkRing) {
		b.links = append(b.links, take(link.RingBytes(c.linkRing)))
	}
	return b
}

// rings returns those of orders, by channel.
func (b *board) rings(joint bool) [][]byte {
	if joint {
		return [][]byte{b.orders}
	}
	return [][]byte{b.orders, b.puts}
}

// exchange makes this rank's board, and returns those of all ranks that this one needs, by rank.
func (c *live) exchange(a *core.Attachment) (boards []*board, err error) {
	size := c.boardSize(a.Group, c.rank)
	shared, process := a.Boot.(core.ProcessSharer)
	var mine *shm.Region
	var bytes []byte
	if process {
		bytes = make([]byte, size) // NICs of others use it until they end, whoever is first to close
	} else if mine, err = shm.NewRegion(size, shm.Shared); err == nil {
		bytes = mine.Bytes()
		c.maps = append(c.maps, mine)
	}
	if err != nil {
		return nil, err
	}
	if c.wake, err = shm.NewBell(); err != nil {
		return nil, err
	}
	if process {
		c.bells = shared.Share("myrinet: bells", func() any { return new(bells) }).(*bells)
		c.bells.add(c.wake)
	}
	c.in = *c.lay(bytes, c.wake)
	boards = make([]*board, c.size)
	boards[c.rank] = &c.in
	needs := c.needs(a.Group)
	if process {
		key := func(r core.Rank) string { return fmt.Sprintf("myrinet: board of rank %d", r) }
		shared.Share(key(c.rank), func() any { return boards[c.rank] })
		if err := a.Boot.Barrier(); err != nil {
			return nil, err
		}
		for _, r := range needs {
			boards[r] = shared.Share(key(r), func() any { return (*board)(nil) }).(*board)
			if boards[r] == nil {
				return nil, fmt.Errorf("myrinet: rank %d has no memory to share", r)
			}
		}
		return boards, nil
	}
	share := a.Boot.(core.DescriptorSharer)
	regions, err := share.ShareFD(mine.FD())
	defer closeAll(regions)
	if err != nil {
		return nil, err
	}
	bells, err := share.ShareFD(c.wake)
	defer closeAll(bells)
	if err != nil {
		return nil, err
	}
	for _, r := range needs {
		if regions[r] < 0 || bells[r] < 0 {
			return nil, fmt.Errorf("myrinet: rank %d is on another host", r)
		}
		m, err := shm.Map(regions[r], 0, c.boardSize(a.Group, r))
		if err != nil {
			return nil, err
		}
		c.maps = append(c.maps, m)
		boards[r] = c.lay(m.Bytes(), bells[r])
		c.fds, bells[r] = append(c.fds, bells[r]), -1
	}
	return boards, nil
}

// needs returns the other ranks whose boards this one needs: that of the first rank of its host, and on the first rank itself those of the others, and of the first ranks of all hosts.
func (c *live) needs(group []core.Rank) (needs []core.Rank) {
	first := c.first(group, c.rank)
	for _, r := range group {
		switch theirs := c.first(group, r); {
		case r == c.rank:
		case first == c.rank && (theirs == r || theirs == first), r == first:
			needs = append(needs, r)
		}
	}
	return needs
}

// closeAll closes descriptors of other ranks, of which there may be none: -1. Memory that is mapped needs its descriptor no more.
func closeAll(fds []int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd) // nothing was written by it
		}
	}
}

// bells are those of the ranks of a process. The last rank that closes closes all: the cards of others may ring until they end.
type bells struct {
	mu    sync.Mutex
	fds   []int
	users int
}

func (b *bells) add(fd int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fds = append(b.fds, fd)
	b.users++
}

func (b *bells) leave() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users--; b.users > 0 {
		return nil
	}
	var errs []error
	for _, fd := range b.fds {
		errs = append(errs, unix.Close(fd))
	}
	b.fds = nil
	return errors.Join(errs...)
}
