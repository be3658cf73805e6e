package nbrhd

import (
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// params are the conduit's own settings.
type params struct {
	// block, if not 0, makes hosts of one: ranks are near each other if their numbers divided by
	// it are equal, and they are on one host indeed.
	block int
	// hostID, if not "", identifies the rank's host in place of what shm.HostIdentity finds.
	hostID string
}

// table returns the settings, bound to p, and those of the two conduits.
func (p *params) table(names *pair) settings.Table {
	t := settings.Table{
		settings.Int("block", &p.block, 1, math.MaxInt, "ranks of a pretended host: two ranks of one host are near if their numbers divided by it are equal", settings.Is("none", 0)),
		settings.Text("host-id", &p.hostID, "a name", "identifies the rank's host, in place of its boot and namespaces: ranks of one host with different ones are far").OwnPerRank(),
	}
	for i, side := range sides {
		t = slices.Concat(t, names[i].driver.Table(names[i].profile).Prefixed(side))
	}
	return t
}

// parseParams reads the settings and returns those of the two conduits.
func parseParams(names *pair, values map[string]string) (p params, parts [2]map[string]string, err error) {
	for i, side := range sides {
		parts[i] = settings.Part(side, values)
	}
	return p, parts, p.table(names).Read("nbrhd", values)
}

// fits is core.Driver.Fits: each of the two conduits is told of the whole job.
func fits(profile string, ranks int, values map[string]string) error {
	names, err := parse(profile)
	if err != nil {
		return err
	}
	for i, side := range sides {
		n := &names[i]
		if n.driver.Fits == nil {
			continue
		}
		if err := n.driver.Fits(n.profile, ranks, settings.Part(side, values)); err != nil {
			return fmt.Errorf("nbrhd: the %s conduit: %w", side, err)
		}
	}
	return nil
}
