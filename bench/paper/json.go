package paper

import (
	"encoding/json"
	"io"
)

// jsonLine is an outcome as a line of JSON. Its field kind tells it from the results of other verbs.
type jsonLine struct {
	Kind       string       `json:"kind"` // "paper"
	Mode       string       `json:"mode"` // "modelled"
	Experiment string       `json:"experiment"`
	About      string       `json:"about"`
	Conduit    string       `json:"conduit"`
	Machine    string       `json:"machine"`
	Seed       uint64       `json:"seed"`
	Notes      []string     `json:"notes,omitempty"`
	Numbers    []jsonNumber `json:"numbers,omitempty"`
	Claims     []jsonClaim  `json:"claims,omitempty"`
	Figures    []Figure     `json:"figures,omitempty"`
}

// jsonNumber is a number beside what was published of it; the fields after unit are left out where nothing was.
type jsonNumber struct {
	Name      string  `json:"name"`
	About     string  `json:"about"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	Published string  `json:"published,omitempty"` // as the source writes it
	Deviation float64 `json:"deviation,omitempty"` // of the model, as a fraction of what was published
	Standing  string  `json:"standing,omitempty"`  // predicted or fitted
	Within    float64 `json:"within,omitempty"`    // the tolerance, as a fraction
	Verdict   string  `json:"verdict,omitempty"`   // agrees or deviates
}

type jsonClaim struct {
	Text   string `json:"text"`
	Source string `json:"source,omitempty"`
	Holds  bool   `json:"holds"`
	Shown  string `json:"shown"`
}

// WriteJSON writes an outcome as one line of JSON, with the points of all figures. Costs are left out: they are the host's.
func WriteJSON(w io.Writer, e *Experiment, s *Setting, o *Outcome) error {
	comparisons, err := Compare(o, s.Machine)
	if err != nil {
		return err
	}
	line := jsonLine{Kind: "paper", Mode: "modelled", Experiment: e.Name, About: e.About, Conduit: s.Conduit, Machine: s.Machine.Name, Seed: s.Seed,
		Notes: o.Notes, Figures: o.Figures}
	for i := range comparisons {
		c := &comparisons[i]
		n := jsonNumber{Name: c.Name, About: c.About, Value: c.Value, Unit: c.Unit}
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
		line.Claims = append(line.Claims, jsonClaim(c))
	}
	return json.NewEncoder(w).Encode(&line)
}
