package spawner

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

// This file is the collective calls of neighbours.

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
		for some := range slices.Chunk(fds, maxFDs) {
			if err := p.send(wire.AppendUint32([]byte{msgShare}, uint32(len(some))), some...); err != nil {
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
	if err := p.send(wire.AppendUint32([]byte{msgShare}, 1), fd); err != nil {
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
		if err := p.send([]byte{msgTaken}); err != nil {
			return fds, fmt.Errorf("rank %d: %w", p.rank, err)
		}
	}
	return fds, nil
}
