package plot

// A Paper is a published experiment, repeated on one machine, as a line of JSON: what aqbench paper --format json writes and the page
// reads. Its field kind tells it from the results of other verbs.
type Paper struct {
	Kind       string        `json:"kind"` // "paper"
	Mode       string        `json:"mode"` // "modelled"
	Experiment string        `json:"experiment"`
	About      string        `json:"about"`
	Conduit    string        `json:"conduit"`
	Machine    string        `json:"machine"`
	Seed       uint64        `json:"seed"`
	Notes      []string      `json:"notes,omitempty"`
	Numbers    []PaperNumber `json:"numbers,omitempty"`
	Claims     []PaperClaim  `json:"claims,omitempty"`
	Figures    []PaperFigure `json:"figures,omitempty"`
}

// A PaperNumber is a number beside what was published of it; the fields after unit are left out where nothing was.
type PaperNumber struct {
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

// A PaperClaim is a statement of a publication, and whether it holds on the model.
type PaperClaim struct {
	Text   string `json:"text"`
	Source string `json:"source,omitempty"` // who states it; "" if it follows from the model's own constants
	Holds  bool   `json:"holds"`
	Shown  string `json:"shown"` // the figures that decide it
}

// A PaperFigure is a figure with the name by which files are called.
type PaperFigure struct {
	Name string `json:"name"`
	Figure
}
