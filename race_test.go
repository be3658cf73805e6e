//go:build race

package aqueduct_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func init() {
	roles["stores with a barrier"] = func() { aqueduct.Run(stores(true), aqueduct.Goroutines(2)) }
	roles["stores without a barrier"] = func() { aqueduct.Run(stores(false), aqueduct.Goroutines(2)) }
}

// stores is a program whose rank 0 stores into the segment of rank 1, which loads what is there, in many rounds. Without the barrier
// between the store and the load of a round the detector may take messages of other kinds for an order of the two, but hardly in all rounds.
func stores(barrier bool) func(*core.Job) error {
	return func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{Segment: "64KB"})
		if err != nil {
			return err
		}
		peer, err := ep.Reach(1)
		if err != nil {
			return err
		}
		for round := range 100 {
			if job.Rank() == 0 {
				peer[round] = 7
			}
			if barrier {
				if err := ep.Barrier(); err != nil {
					return err
				}
			}
			if job.Rank() == 1 && ep.Segment()[round] > 7 {
				panic("neither 0 nor 7")
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestMissingBarrier has the race detector find a barrier that is missing between ranks that are goroutines, and say nothing where
// it is there: docs/debugging.md.
func TestMissingBarrier(t *testing.T) {
	for role, found := range map[string]bool{"stores with a barrier": false, "stores without a barrier": true} {
		status, _, errs := finish(t, program(t, role, "GORACE=exitcode=66"))
		if races := strings.Contains(errs, "DATA RACE") && strings.Contains(errs, "race_test.go"); races != found || (status == 66) != found {
			t.Errorf("%s: status %d, found is %v, want %v:\n%s", role, status, races, found, errs)
		}
	}
}
