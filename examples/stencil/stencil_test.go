package main

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// TestWrongCell has a grid that was computed by several ranks, and a change of any cell of
// it found.
func TestWrongCell(t *testing.T) {
	s := spec{rows: 7, cols: 5, steps: 9}
	err := aqueduct.Launch(func(job *core.Job) error {
		p, err := newPlate(job, s)
		if err != nil {
			return err
		}
		for range s.steps {
			if err := p.step(); err != nil {
				return err
			}
		}
		if job.Rank() != 0 {
			return nil
		}
		got, err := p.collect()
		if err != nil {
			return err
		}
		if err := s.compare(got); err != nil {
			return err
		}
		for i := range got {
			old := got[i]
			got[i] += 1e-9
			if s.compare(got) == nil {
				return fmt.Errorf("a change of cell %d was not found", i)
			}
			got[i] = old
		}
		return nil
	}, aqueduct.Goroutines(3))
	if err != nil {
		t.Error(err)
	}
}

// TestHeatSpreads checks the sequential answer itself: it is symmetric as the plate is, and
// lies between the extremes.
func TestHeatSpreads(t *testing.T) {
	s := spec{rows: 16, cols: 12, steps: 20}
	g := s.sequential()
	changed := false
	for i := range s.rows {
		for j := range s.cols {
			v := g[i*s.cols+j]
			if mirror := g[i*s.cols+s.cols-1-j]; v-mirror > 1e-9 || mirror-v > 1e-9 || v < 0 || v > 100 {
				t.Errorf("cell (%d, %d) is %v, its mirror image %v", i, j, v, mirror)
			}
			changed = changed || v != 0 && v != 100
		}
	}
	if !changed {
		t.Error("no heat has moved")
	}
}
