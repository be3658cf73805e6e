package paper

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// timeUnits are the units of machine files that are of time.
var timeUnits = []string{"ps", "ns", "us", "ms", "s"}

// leastShare is the smallest share that is told, in microseconds.
const leastShare = 0.001

// shares takes the half round trip of a Short apart: for every constant of the machine that
// is a time, how much shorter it would be if that took none. What overlaps with something
// else has a smaller share than its time, or none; what happens twice has more. So the shares
// need not add up to the whole, in microseconds.
func (s *Setting) shares(o *Outcome, whole float64) error {
	dir, err := os.MkdirTemp("", "aqbench")
	if err != nil {
		return fmt.Errorf("paper: %w", err)
	}
	defer os.RemoveAll(dir)
	for i := range s.Machine.Constants {
		c := &s.Machine.Constants[i]
		if !slices.Contains(timeUnits, c.Unit) {
			continue
		}
		without, err := s.without(c.Name, c.Unit, filepath.Join(dir, c.Name+machine.Suffix))
		if err != nil {
			return err
		}
		if without == nil {
			continue
		}
		points, err := without.shortByRanks([]int{pairRanks})
		if err != nil {
			return err
		}
		if share := whole - points[0].Y; share >= leastShare {
			o.number("share."+c.Name, "of the half round trip: "+c.Source, share, "us")
		}
	}
	return nil
}

// without returns the setting for a machine in which a constant is 0, saved under path; nil if
// it has to be more.
func (s *Setting) without(name, unit, path string) (*Setting, error) {
	f, err := s.Machine.With(name, "0", unit)
	if err != nil {
		return nil, err
	}
	if _, err := hardware.NewProfile(f); err != nil {
		return nil, nil
	}
	if err := os.WriteFile(path, []byte(f.String()), 0o666); err != nil {
		return nil, fmt.Errorf("paper: %w", err)
	}
	changed, err := SCI(path)
	if err != nil {
		return nil, err
	}
	changed.Seed = s.Seed
	return changed, nil
}
