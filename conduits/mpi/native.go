package mpi

import "github.com/aqueduct-go/aqueduct/core"

// Reach implements core.Reacher, over a network whose ranks may reach each other's segments as memory.
// What they then move by load and store wakes nobody who sleeps, as over every conduit: core.WaitSilent
// looks for itself.
func (c *conduit) Reach(rank core.Rank) ([]byte, error) {
	if c.reach == nil {
		return nil, nil
	}
	return c.reach(rank), nil
}
