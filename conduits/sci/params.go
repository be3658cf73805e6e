package sci

import (
	"fmt"
	"strconv"
)

// params are the settings of the conduit.
type params struct {
	// forcedScan is the number of empty polls after which all flags are looked at whatever
	// the summary says: a guard against a lost summary flag; 0: never.
	forcedScan int
	fences     bool // publish with full barriers even if membarrier exists
	faults     int  // one in this many operations of the network fails, for tests; 0: none
}

// defaultForcedScan is the published number of empty polls (GASNet sci-conduit sources).
const defaultForcedScan = 1_000_000

// parseParams reads the settings forced-scan (empty polls, or off), publish (store or
// fence) and faults (one in how many).
func parseParams(settings map[string]string) (params, error) {
	p := params{forcedScan: defaultForcedScan}
	for key, v := range settings {
		var err error
		switch {
		case key == "forced-scan" && v == "off":
			p.forcedScan = 0
		case key == "forced-scan":
			if p.forcedScan, err = strconv.Atoi(v); err == nil && p.forcedScan < 1 {
				err = fmt.Errorf("need at least 1, or off")
			}
		case key == "publish" && (v == "store" || v == "fence"):
			p.fences = v == "fence"
		case key == "publish":
			err = fmt.Errorf("want store or fence")
		case key == "faults":
			if p.faults, err = strconv.Atoi(v); err == nil && p.faults < 2 {
				err = fmt.Errorf("need at least 2")
			}
		default:
			err = fmt.Errorf("unknown; known are forced-scan, publish and faults")
		}
		if err != nil {
			return p, fmt.Errorf("sci: setting %s=%q: %w", key, v, err)
		}
	}
	return p, nil
}
