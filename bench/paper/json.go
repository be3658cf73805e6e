package paper

import (
	"encoding/json"
	"io"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// WriteJSON writes an outcome as one line of JSON, with the points of all figures. Costs are left out: they are the host's.
func WriteJSON(w io.Writer, e *Experiment, s *Setting, o *Outcome) error {
	comparisons, err := Compare(o, s.Machine)
	if err != nil {
		return err
	}
	line := plot.Paper{Kind: "paper", Mode: "modelled", Experiment: e.Name, About: e.About, Conduit: s.Conduit, Machine: s.Machine.Name, Seed: s.Seed,
		Notes: o.Notes}
	for _, f := range o.Figures {
		line.Figures = append(line.Figures, plot.PaperFigure(f))
	}
	for i := range comparisons {
		c := &comparisons[i]
		n := plot.PaperNumber{Name: c.Name, About: c.About, Value: c.Value, Unit: c.Unit}
		if c.Goal != nil {
			n.Published, n.Deviation, n.Within, n.Standing = c.Goal.Value, c.Deviation(), c.Within, "predicted"
			if c.Fitted {
				n.Standing = "fitted"
			}
			n.Verdict = [...]string{"", "agrees", "deviates"}[c.Verdict]
		}
		line.Numbers = append(line.Numbers, n)
	}
	for _, c := range o.Claims {
		line.Claims = append(line.Claims, plot.PaperClaim(c))
	}
	return json.NewEncoder(w).Encode(&line)
}
