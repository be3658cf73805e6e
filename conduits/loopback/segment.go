package loopback

import (
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// process is what the ranks of a job have in common.
type process struct {
	mu    sync.Mutex
	nodes []*node // by rank

	// Under the model alone, where ranks take turns:
	pool   pool
	arenas map[core.Rank]*shm.Arena // of the segments of a group, by its first rank
}

// enter notes a rank's node and returns the nodes of all size ranks, which are there when all
// have entered.
func (p *process) enter(r core.Rank, n *node, size int) []*node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes == nil {
		p.nodes = make([]*node, size)
	}
	p.nodes[r] = n
	return p.nodes
}

// region makes a modelled rank's segment.
func (p *process) region(a *core.Attachment) (*shm.Region, error) {
	first := a.Group[0]
	if p.arenas[first] == nil {
		total := 0
		for _, n := range a.Sizes {
			total += n
		}
		arena, err := shm.NewArena(total)
		if err != nil {
			return nil, err
		}
		if p.arenas == nil {
			p.arenas = make(map[core.Rank]*shm.Arena)
		}
		p.arenas[first] = arena
	}
	return p.arenas[first].Region(a.Segment)
}
