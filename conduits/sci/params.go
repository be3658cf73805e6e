package sci

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct/core"
)

// params are the settings of the conduit.
type params struct {
	// forcedScan is the number of empty polls after which all flags are looked at whatever
	// the summary says: a guard against a lost summary flag; 0: never.
	forcedScan int
	fences     bool // publish with full barriers even if membarrier exists
	faults     int  // one in this many operations of the network fails, for tests; 0: none
	copied     bool // paper: a Medium's payload is copied behind its header and sent with it
	dmaFrom    int  // bytes from which puts go by DMA; 0: as the machine suggests

	hostFile string // see bootfile.go
	jobFile  string
}

// defaultForcedScan is the published number of empty polls (GASNet sci-conduit sources).
const defaultForcedScan = 1_000_000

// parseParams reads the settings: forced-scan (empty polls, or off), publish (store or
// fence), faults (one in how many), medium (transfers or copy), dma-from (bytes, or never),
// hosts and job (files).
func parseParams(settings map[string]string) (params, error) {
	p := params{forcedScan: defaultForcedScan}
	for _, key := range slices.Sorted(maps.Keys(settings)) { // so that errors are the same in every run
		v := settings[key]
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
		case key == "medium" && (v == "transfers" || v == "copy"):
			p.copied = v == "copy"
		case key == "medium":
			err = fmt.Errorf("want transfers or copy")
		case key == "dma-from" && v == "never":
			p.dmaFrom = math.MaxInt
		case key == "dma-from":
			if p.dmaFrom, err = core.ParseSize(v, 0); err == nil && p.dmaFrom < 1 {
				err = fmt.Errorf("need at least 1, or never")
			}
		case key == "hosts":
			p.hostFile = v
		case key == "job":
			p.jobFile = v
		default:
			err = fmt.Errorf("unknown; known are dma-from, faults, forced-scan, hosts, job, medium and publish")
		}
		if err != nil {
			return p, fmt.Errorf("sci: setting %s=%q: %w", key, v, err)
		}
	}
	return p, nil
}
