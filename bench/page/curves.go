package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// A view is a figure of those results that it takes.
type view struct {
	id, title, caption string
	x                  plot.Axis
	y                  plot.Axis
	ops                []string // that it shows; nil: all
	ranks              bool     // x is the number of ranks, not the size
	value              func(r *result) (spread, bool)
	more               bool // larger is better
	curves             bool // single points say nothing here
}

var (
	bySize  = plot.Axis{Label: "Payload, bytes", Scale: plot.Log2}
	byRanks = plot.Axis{Label: "Ranks", Scale: plot.Log2}
	micros  = func(label string) plot.Axis { return plot.Axis{Label: label + ", µs", Scale: plot.Log10} }

	streams     = []string{"stream", "bandwidth", "put-nb", "get-nb"}
	collectives = []string{"barrier", "broadcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "scan", "exscan"}
)

// spent returns the time of an operation in microseconds, or a fraction of it.
func spent(fraction float64) func(*result) (spread, bool) {
	return func(r *result) (spread, bool) {
		v, ok := r.value(bench.NsPerOp)
		return v.times(fraction / 1e3), ok
	}
}

// views are the figures of a section, in their order.
var views = []view{
	{id: "latency", title: "Latency of active messages", x: bySize, y: micros("Half round trip"), ops: []string{"pingpong"}, value: spent(0.5),
		caption: "Half of the time of a request and its reply. A message without payload stands at 1 byte."},
	{id: "rma", title: "Latency of puts, gets and atomics", x: bySize, y: micros("Time of one"), ops: []string{"put", "get", "putval", "getval", "fetchadd"}, value: spent(1),
		caption: "Each operation waits for the one before."},
	{id: "bandwidth", title: "Bandwidth", x: bySize, y: plot.Axis{Label: "Bandwidth, MB/s", Scale: plot.Log10}, ops: streams, more: true, value: func(r *result) (spread, bool) {
		v, ok := r.value(bench.NsPerOp)
		return v.per(float64(r.Size) * 1e3), ok && r.Size > 0
	}, caption: "Many in one direction, without waiting for each. 1 MB is 10⁶ bytes."},
	{id: "rate", title: "Message rate", x: bySize, y: plot.Axis{Label: "Messages a second", Scale: plot.Log10}, ops: append([]string{"flood"}, streams...), more: true, value: func(r *result) (spread, bool) {
		v, ok := r.value(bench.NsPerOp)
		return v.per(1e9), ok
	}, caption: "Many in one direction, without waiting for each. A message without payload stands at 1 byte."},
	{id: "collectives", curves: true, title: "Collectives by size", x: bySize, y: micros("Time of one"), ops: collectives, value: spent(1),
		caption: "One call by all ranks."},
	{id: "scaling", curves: true, title: "Scaling by ranks", x: byRanks, y: micros("Time of one"), ops: append([]string{"exchange"}, collectives...), ranks: true, value: spent(1),
		caption: "The same call by more ranks. Where live ranks outnumber the CPUs, they take turns."},
	{id: "gups", title: "Random updates", x: byRanks, y: plot.Axis{Label: "Updates a second", Scale: plot.Log10}, ops: []string{"gups"}, ranks: true, more: true, value: func(r *result) (spread, bool) {
		v, ok := r.value(bench.NsPerOp)
		return v.per(1e9), ok
	}, caption: "Updates of random words of a table that all ranks hold, by all ranks together. Where live ranks outnumber the CPUs, they take turns."},
	{id: "stencil", title: "Steps of a stencil", x: byRanks, y: micros("Time of a step"), ops: []string{"stencil"}, ranks: true, value: spent(1),
		caption: "Each rank has as many cells, whatever the number of ranks. In virtual time computing takes none."},
	{id: "startup", title: "Start-up", x: byRanks, y: plot.Axis{Label: "Until all are attached, ms", Scale: plot.Log10}, ops: []string{"startup"}, ranks: true, value: spent(1e-3),
		caption: "From the launch until all ranks are attached."},
	{id: "floor", title: "Ratio to the floor", x: bySize, y: plot.Axis{Label: "Time over that of the floor", Scale: plot.Log10}, value: func(r *result) (spread, bool) {
		return r.value("x-floor")
	}, caption: "The floor is the smallest C program that does the communication part of the same thing, measured in the same run on the same CPUs. 1 is as fast as the floor."},
}

// figure draws a view of results, or returns nil if it takes none.
func (v *view) figure(results []*result) *chart {
	var taken []*result
	for _, r := range results {
		if _, ok := v.value(r); ok && (v.ops == nil || slices.Contains(v.ops, r.op())) && r.op() != "" {
			taken = append(taken, r)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	names := distinguish(taken, v.ranks)
	c := &chart{Figure: plot.Figure{Title: v.title, Note: v.caption, X: v.x, Y: v.y}}
	index := map[string]int{}
	for i, r := range taken {
		at, ok := index[names[i]]
		if !ok {
			at = len(c.Series)
			index[names[i]] = at
			c.Series = append(c.Series, plot.Series{Name: names[i]})
			c.first = append(c.first, r)
		}
		y, _ := v.value(r)
		p := plot.Point{X: float64(max(1, r.Size)), Y: y.median, Low: y.low, High: y.high}
		if v.ranks {
			p.X = float64(r.Ranks)
		}
		if s := &c.Series[at]; p.X > 0 && p.Low > 0 && !math.IsInf(p.High, 0) { // else it has no place on the axes
			// The same point of a later run takes the place of the earlier one.
			s.Points = append(slices.DeleteFunc(s.Points, func(o plot.Point) bool { return o.X == p.X }), p)
		}
	}
	kept := 0
	for i := range c.Series {
		s := &c.Series[i]
		if len(s.Points) == 0 || v.curves && len(s.Points) == 1 {
			continue
		}
		slices.SortFunc(s.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
		c.Series[kept], c.first[kept] = *s, c.first[i]
		kept++
	}
	c.Series, c.first = c.Series[:kept], c.first[:kept]
	if kept == 0 {
		return nil
	}
	return c
}

// over says which network a result is over, as CONDUIT/PROFILE, or which other implementation it is of.
func (r *result) over() string {
	if r.Peer != "" {
		return r.Peer
	}
	return strings.Trim(r.Params["conduit"]+"/"+r.Params["profile"], "/")
}

// distinguish names each result by its network and those of its parameters that are not the same for all, in words. Results that differ
// only by what a figure has as its axis have the same name.
func distinguish(results []*result, ranks bool) []string {
	values := map[string]map[string]bool{}
	params := make([]map[string]string, len(results))
	for i, r := range results {
		p := map[string]string{}
		for k, v := range r.Params {
			p[k] = v
		}
		if ranks {
			p["size"] = fmt.Sprintf("%d bytes", r.Size)
		} else {
			p["np"] = fmt.Sprintf("%d ranks", r.Ranks)
		}
		if r.Contexts > 0 {
			p["contexts"] = fmt.Sprint(r.Contexts)
		}
		params[i] = p
		for k, v := range p {
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
		}
	}
	for k := range values {
		for _, p := range params {
			values[k][p[k]] = true // "" where a result lacks it
		}
	}
	order := []string{"op", "category", "mpi"}
	var others []string
	for k := range values {
		if !slices.Contains(order, k) && k != "conduit" && k != "profile" {
			others = append(others, k)
		}
	}
	slices.Sort(others)
	names := make([]string, len(results))
	for i, p := range params {
		var parts []string
		if over := results[i].over(); over != "" {
			parts = append(parts, over)
		}
		for _, k := range append(order, others...) {
			v := p[k]
			if v == "" || len(values[k]) < 2 || k == "size" && v == "0 bytes" {
				continue
			}
			if k == "np" || k == "size" {
				parts = append(parts, v)
			} else {
				parts = append(parts, words(k, v))
			}
		}
		names[i] = cmp.Or(strings.Join(parts, ", "), results[i].Title, results[i].Name)
	}
	return names
}
