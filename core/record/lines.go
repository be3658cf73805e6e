package record

import (
	"encoding/json"
	"io"
)

// A line of JSON has these fields. Times are in seconds.
type (
	jobLine struct {
		Kind    string `json:"kind"` // "job"
		Ranks   int    `json:"ranks"`
		Conduit string `json:"conduit"`
		Virtual bool   `json:"virtual"`
	}
	rankLine struct {
		Kind       string  `json:"kind"` // "rank"
		Rank       int     `json:"rank"`
		Host       string  `json:"host,omitempty"`
		Known      bool    `json:"known"` // false: the rank ended without telling
		Time       float64 `json:"time"`
		Waiting    float64 `json:"waiting"`
		Sent       uint64  `json:"sent"`
		Received   uint64  `json:"received"`
		Bytes      uint64  `json:"bytes"`
		PollsFull  uint64  `json:"polls_full"`
		PollsEmpty uint64  `json:"polls_empty"`
		Stalls     uint64  `json:"stalls"`
		Memory     uint64  `json:"memory"`
	}
	countLine struct {
		Kind  string `json:"kind"` // "handler" or "collective"
		Rank  int    `json:"rank"`
		Name  string `json:"name"`
		Count uint64 `json:"count"`
		Bytes uint64 `json:"bytes"`
	}
	waitLine struct {
		Kind  string  `json:"kind"` // "wait"
		Rank  int     `json:"rank"`
		Name  string  `json:"name"`
		Count uint64  `json:"count"`
		Time  float64 `json:"time"`
	}
	countedLine struct {
		Kind     string `json:"kind"` // "received", of messages, or "operation", which the first rank has begun
		From     int    `json:"from"`
		To       int    `json:"to"`
		Category string `json:"category"`
		Count    uint64 `json:"count"`
		Bytes    uint64 `json:"bytes"`
	}
	matrixLine struct {
		Kind     string `json:"kind"` // "matrix"
		From     int    `json:"from"`
		To       int    `json:"to"`
		Messages uint64 `json:"messages"` // and one-sided operations
		Bytes    uint64 `json:"bytes"`
	}
)

// WriteLines writes the figures of a job for programs: a value of JSON in each line, whose kind is "job", "rank", "received",
// "operation", "matrix", "handler", "collective" or "wait".
func WriteLines(to io.Writer, records []*Record) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	job := jobLine{Kind: "job", Ranks: len(records)}
	for _, r := range records {
		if r != nil {
			job.Conduit, job.Virtual = r.Conduit, r.Virtual
			break
		}
	}
	lines := []any{job}
	for rank, r := range records {
		if r == nil || r.Figures == nil {
			lines = append(lines, rankLine{Kind: "rank", Rank: rank})
			continue
		}
		lines = append(lines, r.lines()...)
	}
	for from := range records {
		for to := range records {
			if all := between(records, from, to); all != (Count{}) {
				lines = append(lines, matrixLine{"matrix", from, to, all.N, all.Bytes})
			}
		}
	}
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the lines of a rank.
func (r *Record) lines() (lines []any) {
	const second = 1e12 // picoseconds
	f := r.Figures
	m := f.Received()
	lines = append(lines, rankLine{
		"rank", r.Rank, r.Host, true, float64(f.Time) / second, float64(f.Waiting()) / second, f.Sent(), m.N, m.Bytes, f.Full, f.Empty, f.Stalls, f.Memory,
	})
	for i := range f.Peers {
		p := &f.Peers[i]
		for c, n := range p.Received {
			if n.N > 0 {
				lines = append(lines, countedLine{"received", p.Rank, r.Rank, Category(c).String(), n.N, n.Bytes})
			}
		}
		for c, n := range p.OneSided {
			if n.N > 0 {
				lines = append(lines, countedLine{"operation", r.Rank, p.Rank, (MessageCategories + Category(c)).String(), n.N, n.Bytes})
			}
		}
	}
	for _, h := range f.Handlers {
		lines = append(lines, countLine{"handler", r.Rank, h.Name, h.N, h.Bytes})
	}
	for _, c := range f.Collectives {
		lines = append(lines, countLine{"collective", r.Rank, c.Name, c.N, c.Bytes})
	}
	for _, w := range f.Waits {
		lines = append(lines, waitLine{"wait", r.Rank, w.Name, w.N, float64(w.Time) / second})
	}
	return lines
}
