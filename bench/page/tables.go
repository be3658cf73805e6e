package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// A table has a heading for each column, and cells of text.
type table struct {
	Head []string
	Rows [][]string
}

// Numeric reports whether a column has numbers, which stand at its right.
func (t *table) Numeric(column int) bool {
	return !slices.ContainsFunc(t.Rows, func(cells []string) bool {
		return strings.Trim(cells[column], "0123456789.,–−() \u202fto") != ""
	})
}

// A row is one result of the large table. Values that are missing are NaN and shown as a dash.
type row struct {
	What, Conduit, Profile, Mode, Others, Placement string
	Size, Ranks                                     int
	Median, P5, P95, Rate, Floor                    float64 // µs; MB/s; ratio
}

// heading is that of a column of the large table. Its rows have their cells in the same order.
type heading struct {
	Text   string
	Number bool
}

var headings = []heading{{"Operation", false}, {"Conduit", false}, {"Profile", false}, {"Mode", false}, {"Also", false}, {"Bytes", true}, {"Ranks", true},
	{"Median, µs", true}, {"5 %, µs", true}, {"95 %, µs", true}, {"MB/s", true}, {"Over floor", true}, {"Placement", false}}

func rows(results []*result) (list []row) {
	shown := []string{"conduit", "profile"}
	for _, r := range results {
		v, ok := r.value(bench.NsPerOp)
		if !ok {
			continue
		}
		v = v.times(1e-3)
		x := row{What: cmp.Or(r.Title, r.op(), r.Name), Conduit: cmp.Or(r.Peer, r.Params["conduit"]), Profile: r.Params["profile"], Mode: cmp.Or(r.mode(), "not said"),
			Placement: string(r.Placement), Size: r.Size, Ranks: r.Ranks, Median: v.median, P5: v.low, P95: v.high, Rate: math.NaN(), Floor: math.NaN()}
		if slices.Contains(streams, r.op()) && r.Size > 0 {
			x.Rate = float64(r.Size) / v.median
		}
		if f, ok := r.value("x-floor"); ok {
			x.Floor = f.median
		}
		var others []string
		for _, k := range slices.Sorted(maps.Keys(r.Params)) {
			if !slices.Contains(shown, k) && k != "op" && k != "category" {
				others = append(others, words(k, r.Params[k]))
			}
		}
		x.Others = strings.Join(others, ", ")
		list = append(list, x)
	}
	return list
}

// number writes a value with four significant digits, and all of its whole ones. NaN is a dash.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case v == 0:
		return "0"
	case a >= 1e15 || a < 1e-6:
		return strconv.FormatFloat(v, 'g', 4, 64)
	default:
		digits := max(0, 3-int(math.Floor(math.Log10(a))))
		s := strconv.FormatFloat(v, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return thousands(s)
	}
}

// thousands sets narrow spaces between groups of three whole digits, of five digits and more.
func thousands(s string) string {
	whole, rest, dot := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "\u202f" + whole[i:]
		}
	}
	if dot {
		rest = "." + rest
	}
	return sign + whole + rest
}

// pointsTable has the points of a figure: what a chart shows, for those who read it.
func pointsTable(f plot.Figure) *table {
	t := &table{Head: []string{f.X.Label}}
	var xs []float64
	for _, s := range f.Series {
		t.Head = append(t.Head, s.Name)
		for _, p := range s.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		cells := []string{number(x)}
		for _, s := range f.Series {
			cell := "–"
			if i := slices.IndexFunc(s.Points, func(p plot.Point) bool { return p.X == x }); i >= 0 {
				p := s.Points[i]
				cell = number(p.Y)
				if p.Low > 0 && p.Low != p.High {
					cell += " (" + number(p.Low) + " to " + number(p.High) + ")"
				}
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// conditionTables are what all measurements have in common, and what they do not.
type conditionTables struct {
	Common  [][2]string
	Differ  *table
	Headers int
}

// conditionNames are the fields of bench.Header in order, and what people call them.
var conditionNames = [][2]string{
	{"date", "Date"}, {"cpu", "Processor"}, {"caches", "Caches"}, {"cores", "CPUs online"}, {"usable", "CPUs usable"}, {"governor", "Frequency governor"},
	{"kernel", "Kernel"}, {"goos", "System"}, {"goarch", "Architecture"}, {"go", "Go"}, {"commit", "Commit"}, {"conduit", "Conduit"}, {"profile", "Profile"},
	{"settings", "Settings"}, {"threads", "Threads"}, {"mode", "Mode"}, {"ranks", "Ranks"}, {"pinning", "Pinned to"}, {"method", "Method"}, {"peers", "Peers"},
}

func conditions(headers []header) (c conditionTables) {
	c.Headers = len(headers)
	if len(headers) == 0 {
		return c
	}
	names := slices.Clone(conditionNames)
	known := func(k string) bool {
		return slices.ContainsFunc(names, func(n [2]string) bool { return n[0] == k })
	}
	for _, h := range headers {
		for _, k := range slices.Sorted(maps.Keys(h)) {
			if !known(k) {
				names = append(names, [2]string{k, strings.ToUpper(k[:1]) + strings.ReplaceAll(k[1:], "_", " ")})
			}
		}
	}
	c.Differ = &table{}
	columns := make([][]string, 0, len(names))
	for _, n := range names {
		var values []string
		for _, h := range headers {
			text := "–"
			if v, ok := h[n[0]]; ok && fmt.Sprint(v) != "" {
				text = fmt.Sprint(v)
			}
			if at, err := moment(text); err == nil && n[0] == "date" {
				text = at
			}
			values = append(values, text)
		}
		switch distinct := len(slices.Compact(slices.Sorted(slices.Values(values)))); {
		case distinct == 1 && values[0] != "–":
			c.Common = append(c.Common, [2]string{n[1], values[0]})
		case n[0] == "date": // of many runs: when they began and ended
			c.Common = append(c.Common, [2]string{n[1], slices.Min(values) + " to " + slices.Max(values)})
		case distinct > 1:
			c.Differ.Head = append(c.Differ.Head, n[1])
			columns = append(columns, values)
		}
	}
	if len(columns) == 0 {
		c.Differ = nil
		return c
	}
	seen := map[string]bool{}
	for i := range headers {
		var cells []string
		for _, column := range columns {
			cells = append(cells, column[i])
		}
		if key := strings.Join(cells, "\x00"); !seen[key] {
			seen[key] = true
			c.Differ.Rows = append(c.Differ.Rows, cells)
		}
	}
	return c
}

// moment writes the time of a header for people, to the minute.
func moment(text string) (string, error) {
	at, err := time.Parse(time.RFC3339, text)
	return at.UTC().Format("2006-01-02 15:04 UTC"), err
}

// metrics makes a table of results, with a column for each unit that any of them has.
func metrics(results []*result, ranks bool) *table {
	if len(results) == 0 {
		return nil
	}
	units := map[string]bool{}
	for _, r := range results {
		for _, unit := range r.units() {
			if !strings.HasPrefix(unit, "x-") {
				units[unit] = true
			}
		}
	}
	t := &table{Head: []string{"Network"}}
	if ranks {
		t.Head = append(t.Head, "Ranks")
	}
	sorted := slices.Sorted(maps.Keys(units))
	for _, unit := range sorted {
		t.Head = append(t.Head, unitName(unit))
	}
	for _, r := range results {
		cells := []string{r.over()}
		if ranks {
			cells = append(cells, strconv.Itoa(r.Ranks))
		}
		for _, unit := range sorted {
			v, ok := r.value(unit)
			if !ok {
				v.median = math.NaN()
			}
			if unit == bench.NsPerOp || unit == "end-ns" {
				v = v.times(1e-6)
			}
			cells = append(cells, number(v.median))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// unitName says in words what a unit counts in the tables of start-up and memory.
func unitName(unit string) string {
	switch unit {
	case bench.NsPerOp:
		return "Until attached, ms"
	case "end-ns":
		return "Until the job has ended, ms"
	case "B/rank":
		return "Memory of a rank, bytes"
	}
	return unit
}

// startAndMemory has what starting takes, and the memory of ranks, or nil.
func startAndMemory(results []*result) *table {
	var of []*result
	for _, r := range results {
		if slices.Contains(r.units(), "B/rank") || r.op() == "startup" || r.op() == "memory" {
			of = append(of, r)
		}
	}
	return metrics(of, true)
}

// logGP has the parameters that were fitted, or is nil.
func logGP(results []*result) *table {
	var of []*result
	for _, r := range results {
		if strings.EqualFold(r.Family, "LogGP") || r.op() == "loggp" {
			of = append(of, r)
		}
	}
	return metrics(of, false)
}
