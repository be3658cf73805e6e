package main

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner/hosts"
)

// placed is what rank 0 of a job on named hosts will know of where the ranks are, before there is any: as much of a Bootstrap as a
// Driver's Check asks for.
type placed struct {
	core.Bootstrap
	core.DescriptorSharer // processes pass descriptors to each other within a host
	at                    *hosts.Placement
}

// Rank implements core.Bootstrap.
func (p placed) Rank() core.Rank { return 0 }

// Size implements core.Bootstrap.
func (p placed) Size() int { return len(p.at.HostOf) }

// Host implements core.Bootstrap.
func (p placed) Host(r core.Rank) int { return p.at.HostOf[r] }

// Local implements core.Bootstrap.
func (p placed) Local() []core.Rank {
	return slices.DeleteFunc(p.all(), func(r core.Rank) bool { return p.at.HostOf[r] != 0 })
}

// all returns the ranks of the job.
func (p placed) all() []core.Rank {
	ranks := make([]core.Rank, p.Size())
	for i := range ranks {
		ranks[i] = core.Rank(i)
	}
	return ranks
}

// checkPlaced refuses a conduit that cannot connect ranks of the hosts that they are placed on.
func checkPlaced(d *core.Driver, at *hosts.Placement) error {
	if at == nil || len(at.Hosts) == 1 || d.Check == nil {
		return nil
	}
	p := placed{at: at}
	if err := d.Check(p, p.all()); err != nil {
		return fmt.Errorf("conduit %s cannot be used on %d hosts: %w; choose another, such as udp, whose ranks of one host talk through memory all the same", d.Name, len(at.Hosts), err)
	}
	return nil
}
