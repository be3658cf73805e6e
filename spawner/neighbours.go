package spawner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// Neighbours are the ranks of a host as one of them sees them, where no launcher of this package has started them: the
// lowest is connected with each other one, and those with it alone.
type Neighbours struct {
	rank   int
	hostOf placement
	order  []int       // all ranks of the job, host after host
	first  []int       // by host its lowest rank
	local  []core.Rank // ascending
	peers  []*peer     // of the lowest all others, in their order, of these the lowest

	failed <-chan struct{}
	heard  func(end bool, status int, reason string, from int)
}

// Teller lets ranks tell each other what Neighbours need from ranks of other hosts, or from those that are not connected yet. It is
// collective among all ranks of the job. Each gives own to the others, if that is not nil, and gets what each of the
// ranks from has given; the caller may be one of them.
type Teller func(own []byte, from []int) ([][]byte, error)

// TellHosts finds out which ranks share a host, by what each gives as its shm.HostIdentity: rank 0 compares, and tells the others. The
// result is for NewNeighbours. It is collective among all ranks of the job, and each calls tell twice.
func TellHosts(rank, size int, identity string, tell Teller) (hosts []byte, err error) {
	var all []int // which rank 0 asks
	if rank == 0 {
		for r := range size {
			all = append(all, r)
		}
	}
	identities, err := tell([]byte(identity), all)
	if err != nil {
		return nil, err
	}
	if rank == 0 {
		hosts = numberHosts(identities).appendTo(nil)
	}
	told, err := tell(hosts, []int{0})
	if err != nil {
		return nil, err
	}
	return told[0], nil
}

// NewNeighbours returns the neighbours of a rank of a job of that size, with hosts from TellHosts. They are not connected yet.
//
// Calls end when failed is closed, which says that the job has failed. Once Watch was called, heard is told of a neighbour that has
// said that the job is to end (see End), and of one that has gone without Leave; it is called on any goroutine.
func NewNeighbours(rank, size int, hosts []byte, failed <-chan struct{}, heard func(end bool, status int, reason string, from int)) (*Neighbours, error) {
	hostOf, err := readPlacement(wire.NewReader(hosts), size)
	if err != nil {
		return nil, fmt.Errorf("the hosts that rank 0 tells: %w", err)
	}
	return newNeighbours(rank, hostOf, failed, heard), nil
}

// newNeighbours is NewNeighbours where the hosts are known already.
func newNeighbours(rank int, hostOf placement, failed <-chan struct{}, heard func(end bool, status int, reason string, from int)) *Neighbours {
	h := &Neighbours{rank: rank, hostOf: hostOf, failed: failed, heard: heard}
	for r, host := range hostOf {
		h.order = append(h.order, r)
		if host == len(h.first) {
			h.first = append(h.first, r)
		}
		if host == hostOf[rank] {
			h.local = append(h.local, core.Rank(r))
		}
	}
	slices.SortStableFunc(h.order, func(x, y int) int { return cmp.Compare(hostOf[x], hostOf[y]) })
	return h
}

// numberHosts numbers hosts, of which each rank tells the identity, from 0 in the order of their lowest ranks.
func numberHosts(identities [][]byte) placement {
	numbers, hosts := make(map[string]int), make(placement, len(identities))
	for r, id := range identities {
		n, known := numbers[string(id)]
		if !known {
			n = len(numbers)
			numbers[string(id)] = n
		}
		hosts[r] = n
	}
	return hosts
}

// Local returns the ranks of the host, ascending, with that of the caller.
func (h *Neighbours) Local() []core.Rank { return h.local }

// Host returns the number of the host of a rank of the job. Hosts are numbered from 0 in the order of their lowest ranks.
func (h *Neighbours) Host(r core.Rank) int { return h.hostOf[r] }

// lowest returns the rank that the others of its host are connected with.
func (h *Neighbours) lowest() int { return int(h.local[0]) }

// Meet connects the neighbours. It is collective among all ranks of the job, each of which calls tell once. It blocks until all
// neighbours have come, for 30 s at most. When all ranks of the job have returned from Meet, Watch may be called.
func (h *Neighbours) Meet(tell Teller) error {
	switch {
	case len(h.local) == 1:
		_, err := tell(nil, nil)
		return err
	case h.lowest() != h.rank:
		addresses, err := tell(nil, []int{h.lowest()})
		if err != nil {
			return err
		}
		c, err := come(addresses[0], h.rank)
		if err != nil {
			return fmt.Errorf("meeting rank %d, the lowest of this host: %w", h.lowest(), err)
		}
		h.peers = []*peer{newPeer(h.lowest(), c)}
		return nil
	}
	g, err := gather()
	if err != nil {
		return err
	}
	defer g.close()
	if _, err := tell(g.address(), nil); err != nil {
		return err
	}
	return h.gather(g, time.Now().Add(joinTime))
}

// Watch begins to take in what neighbours say.
func (h *Neighbours) Watch() {
	for _, p := range h.peers {
		go h.watch(p)
	}
}

// Close closes all connections at once. Neighbours that watch take this rank for gone.
func (h *Neighbours) Close() {
	for _, p := range h.peers {
		if p != nil {
			p.close()
		}
	}
}

// gather admits the others of the host, until the deadline.
func (h *Neighbours) gather(g *gathering, deadline time.Time) error {
	h.peers = make([]*peer, len(h.local)-1)
	for n := range h.peers {
		rank, c, err := g.admit(len(h.hostOf), deadline)
		if err != nil {
			missing := slices.IndexFunc(h.peers, func(p *peer) bool { return p == nil })
			return fmt.Errorf("%d of %d ranks of this host have not come, as rank %d: %w", len(h.peers)-n, len(h.local), h.local[1+missing], err)
		}
		at, ok := slices.BinarySearch(h.local[1:], core.Rank(rank))
		if !ok || h.peers[at] != nil {
			c.close()
			return fmt.Errorf("rank %d comes a second time, or is of another host", rank)
		}
		h.peers[at] = newPeer(rank, c)
	}
	return nil
}

// End tells all neighbours but one, which may be none, that the job ends. Of the reason, the first 16 KiB count.
func (h *Neighbours) End(status int, reason string, but int) {
	b := wire.AppendText(wire.AppendUint32([]byte{msgEnd}, uint32(status)), reason[:min(len(reason), maxLocalReason)])
	for _, p := range h.peers {
		if p.rank != but {
			_ = p.send(b) // an error means that it is gone
		}
	}
}

// maxLocalReason is how much of a reason is passed on.
const maxLocalReason = 16 << 10

// Leave closes all connections in good order.
func (h *Neighbours) Leave() {
	for _, p := range h.peers {
		_ = p.send([]byte{msgLeave}) // as above
		p.close()
	}
}
