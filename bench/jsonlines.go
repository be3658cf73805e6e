package bench

import (
	"encoding/json"
	"io"
)

// jsonLines writes one JSON object per result, each complete by itself: the conditions,
// the parameters, a summary per unit and every sample.
type jsonLines struct {
	w      io.Writer
	header *Header
}

// A Line is a line of a report in JSON: one result, complete by itself. docs/benchmarks.md lists its fields for who reads them
// without this package.
type Line struct {
	Name      string             `json:"name"` // of the result, see Series.Name
	Title     string             `json:"title"`
	Family    string             `json:"family"`
	Params    map[string]string  `json:"params"` // op, category, conduit, profile, threads, ...
	Quantity  string             `json:"quantity"`
	Axis      string             `json:"axis"`
	Mode      string             `json:"mode,omitempty"` // "live" or "modelled"
	Size      int                `json:"size"`
	Ranks     int                `json:"np"`
	Contexts  int                `json:"contexts,omitempty"`
	Iters     int                `json:"iters"`
	Placement Placement          `json:"placement"`
	Uneven    int                `json:"dropped_uneven"`
	Elsewhere int                `json:"dropped_elsewhere"`
	Figures   []Figure           `json:"figures"`              // what the result comes to, the main one first
	FloorNs   float64            `json:"floor_ns,omitempty"`   // nanoseconds of an operation of the floor, median
	Peer      string             `json:"peer,omitempty"`       // other implementation that was measured, with its setting; "": it is ours
	Summary   map[string]Summary `json:"summary"`              // by unit
	Samples   []map[string]any   `json:"samples"`              // by unit
	Against   map[string]string  `json:"against"`              // what ratios are to, by unit
	Task      string             `json:"task,omitempty"`       // the job of a comparison, and its round, that this is of
	TaskLines int                `json:"task_lines,omitempty"` // lines of that job: fewer in a file mean that writing was interrupted
	Header    *Header            `json:"header,omitempty"`
}

func (j *jsonLines) Header(h *Header) error {
	copied := *h
	j.header = &copied
	return nil
}

func (j *jsonLines) Series(s *Series) error {
	for i := range s.Results {
		line, err := NewLine(j.header, s, &s.Results[i])
		if err != nil {
			return err
		}
		if err := line.Write(j.w); err != nil {
			return err
		}
	}
	return nil
}

// NewLine returns the line of a result of the series, measured under the conditions of the header, which may be nil.
func NewLine(h *Header, s *Series, r *Result) (*Line, error) {
	name, err := s.Name(r)
	if err != nil {
		return nil, err
	}
	line := &Line{
		Name: name, Title: s.Title, Family: s.Family, Params: paramMap(s.Params),
		Quantity: quantities[s.Quantity], Axis: axisNames[s.Axis],
		Size: r.Size, Ranks: r.Ranks, Contexts: r.Contexts, Iters: r.Iters,
		Placement: r.Placement, Uneven: r.Uneven, Elsewhere: r.Elsewhere,
		Figures: s.Figures(r), FloorNs: floorNs(r), Peer: s.Peer,
		Summary: summaries(r), Samples: sampleMaps(r), Against: paramMap(s.against()), Header: h,
	}
	if h != nil {
		line.Mode = h.Mode
	}
	return line, nil
}

// Write writes the line to w by one call.
func (l *Line) Write(w io.Writer) error {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// floorNs returns the median time of the floor, from the ratios to it; 0 if there are none.
func floorNs(r *Result) float64 {
	var floor []float64
	for _, s := range r.Samples {
		if x := s.Metrics["x-floor"]; x > 0 {
			floor = append(floor, s.Ns/x)
		}
	}
	if len(floor) == 0 {
		return 0
	}
	return Median(floor)
}

func paramMap(params []Param) map[string]string {
	m := make(map[string]string, len(params))
	for _, p := range params {
		m[p.Key] = p.Value
	}
	return m
}

func summaries(r *Result) map[string]Summary {
	m := map[string]Summary{}
	for _, unit := range r.Units() {
		if values := r.Values(unit); len(values) > 0 {
			m[unit] = Summarize(values)
		}
	}
	return m
}

func sampleMaps(r *Result) []map[string]any {
	list := make([]map[string]any, 0, len(r.Samples))
	for _, s := range r.Samples {
		m := map[string]any{NsPerOp: s.Ns}
		for unit, v := range s.Metrics {
			m[unit] = v
		}
		list = append(list, m)
	}
	return list
}
