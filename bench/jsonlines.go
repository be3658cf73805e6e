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

type jsonResult struct {
	Name      string             `json:"name"`
	Title     string             `json:"title"`
	Family    string             `json:"family"`
	Params    map[string]string  `json:"params"`
	Size      int                `json:"size"`
	Ranks     int                `json:"np"`
	Contexts  int                `json:"contexts,omitempty"`
	Iters     int                `json:"iters"`
	Placement Placement          `json:"placement"`
	Uneven    int                `json:"dropped_uneven"`
	Elsewhere int                `json:"dropped_elsewhere"`
	Summary   map[string]Summary `json:"summary"` // by unit
	Samples   []map[string]any   `json:"samples"` // by unit
	Against   map[string]string  `json:"against"` // what ratios are to, by unit
	Header    *Header            `json:"header,omitempty"`
}

func (j *jsonLines) Header(h *Header) error {
	copied := *h
	j.header = &copied
	return nil
}

func (j *jsonLines) Series(s *Series) error {
	for i := range s.Results {
		r := &s.Results[i]
		name, err := s.Name(r)
		if err != nil {
			return err
		}
		line, err := json.Marshal(jsonResult{
			Name: name, Title: s.Title, Family: s.Family, Params: paramMap(s.Params),
			Size: r.Size, Ranks: r.Ranks, Contexts: r.Contexts, Iters: r.Iters,
			Placement: r.Placement, Uneven: r.Uneven, Elsewhere: r.Elsewhere,
			Summary: summaries(r), Samples: sampleMaps(r), Against: paramMap(s.against()), Header: j.header,
		})
		if err != nil {
			return err
		}
		if _, err := j.w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
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
