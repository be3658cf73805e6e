package pmi

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// host is the ranks of a host as one of them sees them: the lowest is connected with each other one, and those with it alone.
type host struct {
	rank  int
	size  int         // of the job
	local []core.Rank // ascending
	peers []*peer     // of the lowest all others, in their order, of these the lowest

	failed <-chan struct{}                                     // closed when the job has failed
	heard  func(end bool, status int, reason string, from int) // by a peer's word, or else its silence; see watch
}

// peer is a connection.
type peer struct {
	*spawner.Peer
	sends sync.Mutex // held while sending
	rank  int
	in    chan batch    // what belongs to a call, and the first of the next
	left  chan struct{} // closed when it has left, or is gone
}

// batch is a message with descriptors, or one that says that such a one has been taken.
type batch struct {
	fds   []int
	taken bool
	err   error // in the descriptors' place
}

// The messages of peers. One that shares is followed by nothing; there are as many descriptors with it as it says.
const (
	msgShare = 1 + iota // number of descriptors
	msgTaken            // they have come
	msgLeave            // it closes the connection in good order
	msgEnd              // status, reason: the job is to end
)

// lowest returns the rank that the others of its host are connected with.
func (h *host) lowest() int { return int(h.local[0]) }

// newPeer makes a peer of a connection.
func newPeer(rank int, c *spawner.Peer) *peer {
	return &peer{Peer: c, rank: rank, in: make(chan batch, 2), left: make(chan struct{})}
}

// Send is that of spawner.Peer, for any goroutine.
func (p *peer) Send(body []byte, fds ...int) error {
	p.sends.Lock()
	defer p.sends.Unlock()
	return p.Peer.Send(body, fds...)
}

// gather admits the others of the host, until the deadline.
func (h *host) gather(g *spawner.Gathering, deadline time.Time) error {
	h.peers = make([]*peer, len(h.local)-1)
	for n := range h.peers {
		rank, c, err := g.Admit(h.size, deadline)
		if err != nil {
			missing := slices.IndexFunc(h.peers, func(p *peer) bool { return p == nil })
			return fmt.Errorf("%d of %d ranks of this host have not come, as rank %d: %w", len(h.peers)-n, len(h.local), h.local[1+missing], err)
		}
		at, ok := slices.BinarySearch(h.local[1:], core.Rank(rank))
		if !ok || h.peers[at] != nil {
			c.Close()
			return fmt.Errorf("rank %d comes a second time, or is of another host", rank)
		}
		h.peers[at] = newPeer(rank, c)
	}
	return nil
}

// watch takes in what a peer says until the connection ends.
func (h *host) watch(p *peer) {
	defer close(p.left)
	err := h.listen(p)
	p.Close()
	p.Drop()
	if err != nil {
		h.heard(false, 1, fmt.Sprintf("rank %d of this host is gone: %v", p.rank, err), p.rank)
	}
}

// listen returns nil when a peer has left.
func (h *host) listen(p *peer) error {
	for {
		body, err := p.Receive()
		if err != nil {
			return err
		}
		r := wire.NewReader(body)
		switch kind := r.Uint8(); kind {
		case msgShare:
			n := int(r.Uint32())
			if err := r.End(); err != nil || n < 1 || n > spawner.MaxFDs {
				return fmt.Errorf("it shares %d descriptors", n)
			}
			fds, err := p.Claim(n)
			select {
			case p.in <- batch{fds: fds, err: err}:
			default:
				closeAll(fds)
				return errors.New("it shares descriptors that nobody waits for")
			}
		case msgTaken:
			select {
			case p.in <- batch{taken: true}:
			default:
				return errors.New("it takes descriptors that nobody sends")
			}
		case msgLeave:
			return nil
		case msgEnd:
			status, reason := int(int32(r.Uint32())), r.Text()
			if err := r.End(); err != nil {
				return err
			}
			h.heard(true, status, reason, p.rank)
		default:
			return fmt.Errorf("it sends a message of kind %d", kind)
		}
	}
}

// end tells all peers but one that the job ends.
func (h *host) end(status int, reason string, but int) {
	b := wire.AppendText(wire.AppendUint32([]byte{msgEnd}, uint32(status)), reason[:min(len(reason), maxReason)])
	for _, p := range h.peers {
		if p.rank != but {
			_ = p.Send(b) // an error means that it is gone
		}
	}
}

// maxReason is how much of a reason is passed on.
const maxReason = 16 << 10

// leave closes all connections in good order.
func (h *host) leave() {
	for _, p := range h.peers {
		_ = p.Send([]byte{msgLeave}) // as above
		p.Close()
	}
}

// next waits for what a peer sends in a call.
func (h *host) next(p *peer, taken bool) ([]int, error) {
	var b batch
	select {
	case b = <-p.in:
	case <-p.left:
		select { // what came before counts
		case b = <-p.in:
		default:
			return nil, fmt.Errorf("rank %d has left", p.rank)
		}
	case <-h.failed:
		return nil, errFailed
	}
	if b.err == nil && b.taken != taken {
		closeAll(b.fds)
		b.fds, b.err = nil, errors.New("it is in another call")
	}
	if b.err != nil {
		return nil, fmt.Errorf("descriptors of rank %d: %w", p.rank, b.err)
	}
	return b.fds, nil
}

var errFailed = errors.New("the job has failed")

// share gives a descriptor to all ranks of the host, and returns one of each, in their order.
func (h *host) share(fd int) (fds []int, err error) {
	defer func() {
		if err != nil {
			closeAll(fds)
			fds = nil
		}
	}()
	if h.rank != h.lowest() {
		return h.fetch(fd)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicating descriptor %d: %w", fd, err)
	}
	fds = []int{own}
	for _, p := range h.peers {
		theirs, err := h.next(p, false)
		if err == nil && len(theirs) != 1 {
			closeAll(theirs)
			err = fmt.Errorf("rank %d shares %d descriptors", p.rank, len(theirs))
		}
		if err != nil {
			return fds, err
		}
		fds = append(fds, theirs[0])
	}
	for _, p := range h.peers {
		for some := range slices.Chunk(fds, spawner.MaxFDs) {
			if err := p.Send(wire.AppendUint32([]byte{msgShare}, uint32(len(some))), some...); err != nil {
				return fds, fmt.Errorf("sending descriptors to rank %d: %w", p.rank, err)
			}
			if _, err := h.next(p, true); err != nil { // so that few are on their way, which the kernel limits
				return fds, err
			}
		}
	}
	return fds, nil
}

// fetch is share of the ranks that are not the lowest.
func (h *host) fetch(fd int) (fds []int, err error) {
	p := h.peers[0]
	if err := p.Send(wire.AppendUint32([]byte{msgShare}, 1), fd); err != nil {
		return nil, fmt.Errorf("sending a descriptor to rank %d: %w", p.rank, err)
	}
	for len(fds) < len(h.local) {
		some, err := h.next(p, false)
		fds = append(fds, some...)
		if err != nil {
			return fds, err
		}
		if len(fds) > len(h.local) {
			return fds, fmt.Errorf("rank %d shares %d descriptors of %d ranks", p.rank, len(fds), len(h.local))
		}
		if err := p.Send([]byte{msgTaken}); err != nil {
			return fds, fmt.Errorf("rank %d: %w", p.rank, err)
		}
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
