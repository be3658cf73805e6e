package spawner

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// placement is by rank the number of its host. Hosts are numbered from 0 in the order of their lowest ranks.
type placement []int

// together returns the placement of n ranks on one host.
func together(n int) placement { return make(placement, n) }

// on returns the ranks of a host, ascending.
func (p placement) on(host int) (ranks []int) {
	for rank, h := range p {
		if h == host {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// check refuses hosts that are not numbered as they should be, and returns how many there are.
func (p placement) check() (hosts int, err error) {
	for _, h := range p {
		if h < 0 || h > hosts {
			return 0, errors.New("hosts are not numbered from 0 in the order of their lowest ranks")
		}
		if h == hosts {
			hosts++
		}
	}
	return hosts, nil
}

// appendTo appends the placement as runs of ranks of one host: the host, how many ranks.
func (p placement) appendTo(b []byte) []byte {
	for at := 0; at < len(p); {
		n := 1
		for at+n < len(p) && p[at+n] == p[at] {
			n++
		}
		b = wire.AppendUint32(wire.AppendUint32(b, uint32(p[at])), uint32(n))
		at += n
	}
	return b
}

// readPlacement reads the placement of n ranks, which is all that is left.
func readPlacement(r *wire.Reader, n int) (placement, error) {
	var p placement
	for len(p) < n && r.Err() == nil {
		h, run := r.Uint32(), r.Uint32()
		if r.Err() == nil && (run == 0 || uint64(run) > uint64(n-len(p)) || uint64(h) > uint64(len(p))) {
			return nil, errors.New("the placement of ranks is malformed")
		}
		for range run {
			p = append(p, int(h))
		}
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	_, err := p.check()
	return p, err
}
