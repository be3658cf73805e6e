package core

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// memory is what a rank takes of its host's, in bytes. Nothing is reserved: pages are taken
// as they are first touched, and all of them may be.
type memory struct {
	segment int // Extra included
	conduit int // see Footprinter
}

// available tells what the host has left; tests have it otherwise.
var available = shm.Available

// footprint returns what the conduit takes besides the segment.
func (ep *Endpoint) footprint() int {
	if f, ok := ep.conduit.(Footprinter); ok {
		return f.Footprint(len(ep.group))
	}
	return 0
}

// segmentSize turns what was asked for into a whole number of pages. A percentage is of
// the rank's share of what the host has left beside the conduit.
func (j *Job) segmentSize(s string, conduit int) (int, error) {
	if s == "" {
		s = j.cfg.Segment
	}
	if s == "" {
		return defaultSegment, nil
	}
	whole, err := available()
	if err != nil {
		return 0, fmt.Errorf("core: rank %d: available memory: %w", j.rank, err)
	}
	share := whole / uint64(len(j.boot.Local()))
	n, err := ParseSize(s, max(1, share-min(share, uint64(conduit))))
	if err != nil {
		return 0, &UsageError{j.rank, "Attach", "segment " + err.Error()}
	}
	if uint64(n) > whole { // and so that sums do not overflow
		return 0, fmt.Errorf("core: rank %d: a segment of %d MB, but %d MB are available; lower --segment", j.rank, n>>20, whole>>20)
	}
	return shm.RoundUp(n), nil
}

// checkMemory refuses a job whose ranks on this host need more memory than there is. That
// is a look and not a reservation: what others take later, the check does not know.
func (j *Job) checkMemory(needs []memory) error {
	local := j.boot.Local()
	var segments, conduit uint64
	for _, r := range local {
		segments += uint64(needs[r].segment)
		conduit += uint64(needs[r].conduit)
	}
	have, err := available()
	if err != nil {
		return fmt.Errorf("core: rank %d: available memory: %w", j.rank, err)
	}
	if segments+conduit <= have {
		return nil
	}
	advice := "lower --segment, or start fewer ranks on this host"
	if conduit > have {
		advice = "start fewer ranks on this host, or choose another conduit or profile"
	}
	return fmt.Errorf("core: rank %d: the segments of this host's %d ranks need %d MB and conduit %s another %d MB, but %d MB are available; %s",
		j.rank, len(local), segments>>20, j.cfg.Conduit, conduit>>20, have>>20, advice)
}
