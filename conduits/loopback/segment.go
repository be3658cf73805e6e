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
	arenas shm.Arenas // of segments
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
