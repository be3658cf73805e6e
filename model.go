package aqueduct

import (
	"errors"
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/core"
)

// runModel runs the job in virtual time, with its trace and its report.
func (s *settings) runModel(body func(*core.Job) error) error {
	cfg := s.cfg
	cfg.Report = func(r core.ModelReport) {
		if s.cfg.Report != nil {
			s.cfg.Report(r)
		}
		s.tell(&r)
	}
	if s.trace == "" {
		return core.RunModel(s.ranks, cfg, body)
	}
	file, err := os.Create(s.trace)
	if err != nil {
		return fmt.Errorf("aqueduct: the trace of the model: %w", err)
	}
	cfg.Trace = file
	return errors.Join(core.RunModel(s.ranks, cfg, body), file.Close())
}

// tell prints the report if it is wanted, and in any case what makes its figures differ from
// those of the next run.
func (s *settings) tell(r *core.ModelReport) {
	switch {
	case s.report:
		_ = r.Write(os.Stderr) // there is nobody else to tell
	case r.Disturbed != "":
		fmt.Fprintln(os.Stderr, "aqueduct: this run is not deterministic:", r.Disturbed)
	}
}
