package pmi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/spawner/pmi/libpmix"
)

// pmix is the store of a launcher that speaks PMIx.
type pmix struct {
	*libpmix.Client
	round int
	open  bool // a round has begun that has had no fence yet: that one brings what is published to every host
}

// begin implements store.
func (p *pmix) begin() { p.round, p.open = p.round+1, true }

func (p *pmix) key() string { return fmt.Sprintf("aqueduct.%d", p.round) }

// publish implements store.
func (p *pmix) publish(_ int, b []byte) error { return p.Put(p.key(), b) }

// fence implements store.
func (p *pmix) fence() error {
	collect := p.open
	p.open = false
	return p.Fence(collect)
}

// read implements store.
func (p *pmix) read(rank int) ([]byte, error) { return p.Get(rank, p.key()) }

// wait implements store.
func (p *pmix) wait() error { return lost(p.Wait()) }

// abort implements store.
func (p *pmix) abort(status int, reason string) error { return p.Abort(status, reason) }

// finish implements store.
func (p *pmix) finish() error { return p.Finalize() }

// drop implements store. PMIx has no end of a connection but that of a rank that has finished, and that of its process.
func (p *pmix) drop() {}
