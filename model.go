package aqueduct

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// CutModel cuts "sci/d339", as users name a model, into conduit and profile; the profile may
// be a path ("sci/./my.machine"), and is "" for the conduit's default. What lacks one of the
// two beside a slash ("sci/") is left whole, as a conduit that nobody finds.
func CutModel(model string) (conduit, profile string) {
	conduit, profile, cut := strings.Cut(model, "/")
	if cut && (conduit == "" || profile == "") {
		return model, ""
	}
	return conduit, profile
}

// ParseLoss reads RANK@TIME, such as "3@1.5ms", as users name the loss of a rank.
func ParseLoss(s string) (core.Loss, error) {
	rank, at, _ := strings.Cut(s, "@")
	r, badRank := strconv.ParseInt(rank, 10, 32)
	d, badTime := time.ParseDuration(at)
	if badRank != nil || badTime != nil || r < 0 || strconv.FormatInt(r, 10) != rank || d < 0 {
		return core.Loss{}, fmt.Errorf("loss %q; want RANK@TIME, such as 3@1.5ms", s)
	}
	return core.Loss{Rank: core.Rank(r), At: vtime.FromDuration(d)}, nil
}

// runModel has run run the job in virtual time, with its trace and its report.
func (s *settings) runModel(run func(core.Config) error) error {
	cfg := s.cfg
	cfg.Report = func(r core.ModelReport) {
		if s.cfg.Report != nil {
			s.cfg.Report(r)
		}
		s.tell(&r)
	}
	if s.trace == "" {
		return run(cfg)
	}
	file, err := os.Create(s.trace)
	if err != nil {
		return fmt.Errorf("aqueduct: the trace of the model: %w", err)
	}
	cfg.Trace = file
	return errors.Join(run(cfg), file.Close())
}

// tell prints the report if it is wanted. Else it logs what makes the run's figures differ from those of the
// next run.
func (s *settings) tell(r *core.ModelReport) {
	switch {
	case s.report:
		_ = writeReport(os.Stderr, r) // there is nobody else to tell
	case r.Disturbed != "":
		s.cfg.Logger().Warn("this run is not deterministic: " + r.Disturbed)
	}
}

// reportedResources is how many resources a report's table shows, the busiest.
const reportedResources = 20

// writeReport writes a report for people.
func writeReport(w io.Writer, r *core.ModelReport) error {
	seconds := max(r.Host.Seconds(), 1e-9)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // whose lines without a tab are left as they are
	fmt.Fprintf(t, "model %s: %d ranks, %v of virtual time in %v on the host\n", r.Model, r.Ranks, r.Time, r.Host.Round(time.Microsecond))
	fmt.Fprintf(t, "%d events (%.2f million/s), %d rank switches (%.2f million/s)\n",
		r.Events, float64(r.Events)/seconds/1e6, r.Switches, float64(r.Switches)/seconds/1e6)
	if r.Disturbed != "" {
		fmt.Fprintf(t, "not deterministic: %s\n", r.Disturbed)
	}
	if len(r.Usage) > 0 {
		fmt.Fprintln(t, "RESOURCE\tUSES\tBUSY\tMEAN WAIT\tLONGEST")
	}
	for _, u := range r.Usage[:min(reportedResources, len(r.Usage))] {
		share := 100 * float64(u.Busy) / float64(max(r.Time, 1))
		mean := u.Waited / core.Time(max(u.Uses, 1))
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%v\t%v\n", u.Name, u.Uses, share, mean, u.Longest)
	}
	if more := len(r.Usage) - reportedResources; more > 0 {
		fmt.Fprintf(t, "and %d more\n", more)
	}
	return t.Flush()
}

// Models returns the models that there are, a line each, as --model names them: CONDUIT/MODEL, and CONDUIT/PATH where a
// machine file can be given.
func Models() string {
	var b strings.Builder
	for _, d := range core.Drivers() {
		for i, m := range d.Models {
			fmt.Fprintf(&b, "%s/%s", d.Name, m)
			if i == 0 && len(d.Models) > 1 {
				b.WriteString(" (default)")
			}
			b.WriteString("\n")
		}
		if d.Model != nil {
			fmt.Fprintf(&b, "%s/PATH\n", d.Name)
		}
	}
	return b.String()
}
