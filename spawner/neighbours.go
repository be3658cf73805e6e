package spawner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
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
		c, err := Come(addresses[0], h.rank)
		if err != nil {
			return fmt.Errorf("meeting rank %d, the lowest of this host: %w", h.lowest(), err)
		}
		h.peers = []*peer{newPeer(h.lowest(), c)}
		return nil
	}
	g, err := Gather()
	if err != nil {
		return err
	}
	defer g.Close()
	if _, err := tell(g.Address(), nil); err != nil {
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
			p.Close()
		}
	}
}

// peer is a connection.
type peer struct {
	*Peer
	sends sync.Mutex // held while sending
	rank  int
	in    chan handover // what belongs to a call, and the first of the next
	left  chan struct{} // closed when it has left, or is gone
}

// handover is what a message brings to a call, or several that are parts of one.
type handover struct {
	kind uint8
	fds  []int
	data []byte
	err  error // in the descriptors' place
}

// The messages of peers. One that shares is followed by nothing; there are as many descriptors with it as it says.
const (
	msgShare = 1 + iota // number of descriptors
	msgTaken            // they have come
	msgPart             // whether it is the last, a part of what the sender has to say in an exchange
	msgLeave            // it closes the connection in good order
	msgEnd              // status, reason: the job is to end
)

// newPeer makes a peer of a connection.
func newPeer(rank int, c *Peer) *peer {
	return &peer{Peer: c, rank: rank, in: make(chan handover, 2), left: make(chan struct{})}
}

// Send is that of Peer, for any goroutine.
func (p *peer) Send(body []byte, fds ...int) error {
	p.sends.Lock()
	defer p.sends.Unlock()
	return p.Peer.Send(body, fds...)
}

// gather admits the others of the host, until the deadline.
func (h *Neighbours) gather(g *Gathering, deadline time.Time) error {
	h.peers = make([]*peer, len(h.local)-1)
	for n := range h.peers {
		rank, c, err := g.Admit(len(h.hostOf), deadline)
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
func (h *Neighbours) watch(p *peer) {
	defer close(p.left)
	err := h.listen(p)
	p.Close()
	p.Drop()
	if err != nil {
		h.heard(false, 1, fmt.Sprintf("rank %d of this host is gone: %v", p.rank, err), p.rank)
	}
}

// listen returns nil when a peer has left.
func (h *Neighbours) listen(p *peer) error {
	var data []byte // the parts that have come
	for {
		body, err := p.Receive()
		if err != nil {
			return err
		}
		r := wire.NewReader(body)
		switch kind := r.Uint8(); kind {
		case msgShare:
			n := int(r.Uint32())
			if err := r.End(); err != nil || n < 1 || n > MaxFDs {
				return fmt.Errorf("it shares %d descriptors", n)
			}
			fds, err := p.Claim(n)
			select {
			case p.in <- handover{kind: kind, fds: fds, err: err}:
			default:
				closeFDs(fds)
				return errors.New("it shares descriptors that nobody waits for")
			}
		case msgTaken:
			select {
			case p.in <- handover{kind: kind}:
			default:
				return errors.New("it takes descriptors that nobody sends")
			}
		case msgPart:
			last := r.Uint8() != 0
			data = append(data, r.Rest()...)
			if err := r.Err(); err != nil {
				return err
			}
			if int64(len(data)) > int64(len(h.hostOf))*(MaxExchange+maxHead) {
				return fmt.Errorf("it says more than %d ranks may", len(h.hostOf))
			}
			if !last {
				continue
			}
			select {
			case p.in <- handover{kind: kind, data: data}:
				data = nil // the receiver's
			default:
				return errors.New("it says what nobody waits for")
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

// End tells all neighbours but one, which may be none, that the job ends. Of the reason, the first 16 KiB count.
func (h *Neighbours) End(status int, reason string, but int) {
	b := wire.AppendText(wire.AppendUint32([]byte{msgEnd}, uint32(status)), reason[:min(len(reason), maxLocalReason)])
	for _, p := range h.peers {
		if p.rank != but {
			_ = p.Send(b) // an error means that it is gone
		}
	}
}

// maxLocalReason is how much of a reason is passed on.
const maxLocalReason = 16 << 10

// Leave closes all connections in good order.
func (h *Neighbours) Leave() {
	for _, p := range h.peers {
		_ = p.Send([]byte{msgLeave}) // as above
		p.Close()
	}
}

// next waits for what a peer sends in a call, which is to be of a kind.
func (h *Neighbours) next(p *peer, kind uint8) (b handover, err error) {
	select {
	case b = <-p.in:
	case <-p.left:
		select { // what came before counts
		case b = <-p.in:
		default:
			return b, fmt.Errorf("rank %d has left", p.rank)
		}
	case <-h.failed:
		return b, errFailed
	}
	if b.err == nil && b.kind != kind {
		closeFDs(b.fds)
		b.err = errors.New("it is in another call")
	}
	if b.err != nil {
		return handover{}, fmt.Errorf("what rank %d sends: %w", p.rank, b.err)
	}
	return b, nil
}

var errFailed = errors.New("the job has failed")

// say sends a peer what it waits for in an exchange.
func (p *peer) say(b []byte) error {
	for {
		n := min(len(b), maxPart)
		last := byte(0)
		if n == len(b) {
			last = 1
		}
		if err := p.Send(append([]byte{msgPart, last}, b[:n]...)); err != nil {
			return fmt.Errorf("telling rank %d: %w", p.rank, err)
		}
		if b = b[n:]; last != 0 {
			return nil
		}
	}
}

const (
	maxPart = 32 << 10 // bytes of a part
	maxHead = 4        // bytes that go with what a rank gives
)

// Exchange returns by rank what all ranks of the job give, each MaxExchange bytes at most. It is collective among them. If they are on several
// hosts each calls tell once, by which the lowest rank of each brings what those of its own give; otherwise nobody does.
func (h *Neighbours) Exchange(data []byte, tell Teller) ([][]byte, error) {
	given, err := h.collect(data)
	if err != nil {
		return nil, err
	}
	if len(h.first) > 1 {
		if given, err = h.across(given, tell); err != nil {
			return nil, err
		}
	}
	if given, err = h.spread(given); err != nil {
		return nil, err
	}
	all := make([][]byte, len(h.hostOf))
	r := wire.NewReader(given)
	for _, rank := range h.order {
		all[rank] = r.Bytes()
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("what the ranks have exchanged: %w", err)
	}
	return all, nil
}

// collect returns what the ranks of the host give, one after the other, to the lowest; nil to the others.
func (h *Neighbours) collect(data []byte) (given []byte, err error) {
	if h.rank != h.lowest() {
		return nil, h.peers[0].say(data)
	}
	given = wire.AppendBytes(nil, data)
	for _, p := range h.peers {
		b, err := h.next(p, msgPart)
		if err != nil {
			return nil, err
		}
		given = wire.AppendBytes(given, b.data)
	}
	return given, nil
}

// across returns what all hosts give, one after the other, to the lowest rank of each; nil to the others.
func (h *Neighbours) across(own []byte, tell Teller) (all []byte, err error) {
	if h.rank != h.lowest() {
		_, err := tell(nil, nil)
		return nil, err
	}
	given, err := tell(own, h.first)
	return slices.Concat(given...), err
}

// spread returns what the lowest rank of the host gives.
func (h *Neighbours) spread(data []byte) ([]byte, error) {
	if h.rank != h.lowest() {
		b, err := h.next(h.peers[0], msgPart)
		return b.data, err
	}
	for _, p := range h.peers {
		if err := p.say(data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Share gives a descriptor to all ranks of the host, and returns one of each rank of the job, -1 for those of other hosts, as
// core.DescriptorSharer has it. It is collective among the neighbours.
func (h *Neighbours) Share(fd int) ([]int, error) {
	local, err := h.share(fd)
	if err != nil {
		return nil, err
	}
	fds := slices.Repeat([]int{nobody}, len(h.hostOf))
	for i, r := range h.local {
		fds[r] = local[i]
	}
	return fds, nil
}

// share returns a descriptor of each rank of the host, in their order.
func (h *Neighbours) share(fd int) (fds []int, err error) {
	defer func() {
		if err != nil {
			closeFDs(fds)
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
		theirs, err := h.next(p, msgShare)
		if err == nil && len(theirs.fds) != 1 {
			closeFDs(theirs.fds)
			err = fmt.Errorf("rank %d shares %d descriptors", p.rank, len(theirs.fds))
		}
		if err != nil {
			return fds, err
		}
		fds = append(fds, theirs.fds[0])
	}
	for _, p := range h.peers {
		for some := range slices.Chunk(fds, MaxFDs) {
			if err := p.Send(wire.AppendUint32([]byte{msgShare}, uint32(len(some))), some...); err != nil {
				return fds, fmt.Errorf("sending descriptors to rank %d: %w", p.rank, err)
			}
			if _, err := h.next(p, msgTaken); err != nil { // so that few are on their way, which the kernel limits
				return fds, err
			}
		}
	}
	return fds, nil
}

// fetch is share, of the ranks that are not the lowest.
func (h *Neighbours) fetch(fd int) (fds []int, err error) {
	p := h.peers[0]
	if err := p.Send(wire.AppendUint32([]byte{msgShare}, 1), fd); err != nil {
		return nil, fmt.Errorf("sending a descriptor to rank %d: %w", p.rank, err)
	}
	for len(fds) < len(h.local) {
		b, err := h.next(p, msgShare)
		fds = append(fds, b.fds...)
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
