package nbrhd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
)

// params are the conduit's own settings.
type params struct {
	// block, if not 0, makes hosts of one: ranks are near each other if their numbers divided by
	// it are equal, and they are on one host indeed.
	block int
}

// parseParams reads the settings: block (ranks of a pretended host), and near.KEY and far.KEY, which
// are those of the two conduits.
func parseParams(settings map[string]string) (p params, parts [2]map[string]string, err error) {
	for i := range parts {
		parts[i] = make(map[string]string)
	}
	for key, v := range settings {
		side, rest, ok := strings.Cut(key, ".")
		switch {
		case ok && side == sides[near]:
			parts[near][rest] = v
		case ok && side == sides[far]:
			parts[far][rest] = v
		case key == "block":
			if p.block, err = strconv.Atoi(v); err != nil || p.block < 1 {
				return p, parts, fmt.Errorf("nbrhd: setting block=%q: want a number of ranks, at least 1", v)
			}
		default:
			return p, parts, fmt.Errorf("nbrhd: setting %s=%q: unknown; known are block, and near.KEY and far.KEY for the settings of the two conduits", key, v)
		}
	}
	return p, parts, nil
}

// isFile tells whether the value of a setting is a path, which it is if one of the conduits there
// are takes it for one.
func isFile(key, value string) bool {
	side, rest, ok := strings.Cut(key, ".")
	if !ok || side != sides[near] && side != sides[far] {
		return false
	}
	for _, d := range core.Drivers() {
		if d.Name != "nbrhd" && d.FileSetting != nil && d.FileSetting(rest, value) {
			return true
		}
	}
	return false
}
