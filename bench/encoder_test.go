package bench_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct/bench"
)

func exampleHeader() *bench.Header {
	return &bench.Header{
		Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		CPU:  "Example CPU", Cores: 8, Usable: 4, Governor: "unknown", Kernel: "6.1.0", Go: "go1.26",
		GOOS: "linux", GOARCH: "amd64", Commit: "0123456789ab",
		Conduit: "sci", Profile: "live", Threads: "single", Mode: "live", Pinning: "0,1", Ranks: 2,
		Method: "2 samples, interleaved",
	}
}

// outcome makes one with a dropped sample if it has several.
func outcome(placement bench.Placement, samples ...bench.Sample) bench.Outcome {
	for i := range samples {
		samples[i].Placement = placement
	}
	return bench.Outcome{Samples: samples, Placement: placement, Uneven: len(samples) - 1}
}

func pingpong() *bench.Series {
	return &bench.Series{
		Family: "AM", Title: "short AM round trip", Quantity: bench.RoundTrip,
		Params: []bench.Param{{Key: "op", Value: "pingpong"}, {Key: "category", Value: "short"}, {Key: "conduit", Value: "sci"}, {Key: "profile", Value: "live"}},
		Results: []bench.Result{
			{Size: 0, Ranks: 2, Iters: 1000, Outcome: outcome(bench.Near,
				bench.Sample{Ns: 120, Metrics: map[string]float64{"x-floor": 1.2, "allocs/op": 0}},
				bench.Sample{Ns: 140, Metrics: map[string]float64{"x-floor": 1.3}})},
			{Size: 4096, Ranks: 2, Iters: 100, Outcome: outcome(bench.Far, bench.Sample{Ns: 26_000})},
		},
		Against: []bench.Param{{Key: "x-floor", Value: "flag alone"}, {Key: "x-peer", Value: "never measured"}},
	}
}

func flood() *bench.Series {
	return &bench.Series{
		Family: "AM", Title: "medium AM flood", Quantity: bench.Stream,
		Params: []bench.Param{{Key: "op", Value: "flood"}},
		Results: []bench.Result{
			{Size: 512, Ranks: 2, Iters: 10, Outcome: outcome(bench.Mid, bench.Sample{Ns: 51.2, Metrics: map[string]float64{"x-floor": 2}})},
		},
	}
}

func poll() *bench.Series {
	return &bench.Series{
		Family: "AM", Title: "empty poll", Quantity: bench.Duration, Axis: bench.Ranks,
		Params: []bench.Param{{Key: "op", Value: "poll"}},
		Results: []bench.Result{
			{Ranks: 64, Iters: 10, Outcome: outcome(bench.Unknown, bench.Sample{Ns: 3.5})},
		},
	}
}

func encode(t *testing.T, format string, series ...*bench.Series) string {
	t.Helper()
	var b strings.Builder
	enc, err := bench.NewEncoder(format, &b)
	if err != nil {
		t.Fatal(err)
	}
	if err := enc.Header(exampleHeader()); err != nil {
		t.Fatal(err)
	}
	for _, s := range series {
		if err := enc.Series(s); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

const headerText = `# date: 2026-01-02T03:04:05Z
# goos: linux
# goarch: amd64
# cpu: Example CPU
# cores: 8 (4 usable)
# governor: unknown
# kernel: 6.1.0
# go: go1.26
# commit: 0123456789ab
# conduit: sci
# profile: live
# threads: single
# mode: live
# ranks: 2
# pinning: 0,1
# oversubscribed: no
# method: 2 samples, interleaved
`

func TestTable(t *testing.T) {
	want := headerText + `
# Aqueduct AM Test: short AM round trip
# op=pingpong category=short conduit=sci profile=live: medians; latency is half the round trip, ratios compare whole round trips
# x-floor: flag alone
# samples at 0: 2; dropped: 1 disturbed, 0 of another placement
# Size            Latency (us)           allocs/op             x-floor           Placement
0                      0.06500                0.00               1.250                near
4096                     13.00                   -                   -                 far

# Aqueduct AM Test: medium AM flood
# op=flood: medians; MB is 10^6 bytes
# Size                    MB/s          Messages/s             x-floor           Placement
512                   10000.00         19531250.00               2.000                 mid

# Aqueduct AM Test: empty poll
# op=poll: medians
# Ranks              Time (us)           Placement
64                    0.003500             unknown
`
	if diff := cmp.Diff(want, encode(t, "table", pingpong(), flood(), poll())); diff != "" {
		t.Error(diff)
	}
}

// unmeasured is a series one of whose results has no samples.
func unmeasured() *bench.Series {
	return &bench.Series{
		Family: "AM", Title: "many contexts", Quantity: bench.Rate, Axis: bench.Contexts,
		Params: []bench.Param{{Key: "op", Value: "contexts"}},
		Results: []bench.Result{
			{Ranks: 2, Iters: 10, Contexts: 4, Outcome: outcome(bench.Near, bench.Sample{Ns: 0.000002, Metrics: map[string]float64{"p50-ns": 1}})},
			{Ranks: 2, Iters: 10, Contexts: 16, Outcome: bench.Outcome{Uneven: 2}},
		},
	}
}

func TestOSU(t *testing.T) {
	want := headerText + `
# Aqueduct Latency Test: short AM round trip
# op=pingpong category=short conduit=sci profile=live: medians; latency is half the round trip
# placement from 0 on: near
# placement from 4096 on: far
# samples at 0: 2; dropped: 1 disturbed, 0 of another placement
# Size            Latency (us)
0                      0.06500
4096                     13.00

# Aqueduct Bandwidth / Message Rate Test: medium AM flood
# op=flood: medians; MB is 10^6 bytes
# placement from 512 on: mid
# Size                    MB/s          Messages/s
512                   10000.00         19531250.00

# Aqueduct Time Test: empty poll
# op=poll: medians
# placement from 64 on: unknown
# Ranks              Time (us)
64                    0.003500

# Aqueduct Operation Rate Test: many contexts
# op=contexts: medians
# placement from 4 on: near
# samples at 16: 0; dropped: 2 disturbed, 0 of another placement
# Contexts        Operations/s
4           500000000000000.00
`
	got := encode(t, "osu", pingpong(), flood(), poll(), unmeasured())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tables := []osuTable{
		{"Latency", []string{"Size", "Latency (us)"}, [][]float64{{0, 0.065}, {4096, 13}}},
		{"Bandwidth / Message Rate", []string{"Size", "MB/s", "Messages/s"}, [][]float64{{512, 10000, 19531250}}},
		{"Time", []string{"Ranks", "Time (us)"}, [][]float64{{64, 0.0035}}},
		{"Operation Rate", []string{"Contexts", "Operations/s"}, [][]float64{{4, 5e14}}},
	}
	if diff := cmp.Diff(tables, readOSU(t, got), cmp.AllowUnexported(osuTable{})); diff != "" {
		t.Error(diff)
	}
}

// osuTable is what a program has of a table of OSU's.
type osuTable struct {
	test   string
	titles []string
	rows   [][]float64
}

// What programs that read OSU's tables look for: the line that names the test, the line with the columns' titles, two spaces at
// least between these, and rows of a whole number and decimal ones. All else is a comment or empty.
var (
	osuTest   = regexp.MustCompile(`^# Aqueduct (.*) Test: `)
	osuTitles = regexp.MustCompile(`^# (Size|Ranks|Contexts)( {2,}\S+( \S+)*)+$`)
	osuRow    = regexp.MustCompile(`^\d+( +\d+\.\d+)+$`)
	gap       = regexp.MustCompile(` {2,}`)
)

// readOSU reads tables as such programs do. A row stands in a table, and has as many values as that has titles; nothing else
// stands between the rows.
func readOSU(t *testing.T, text string) (tables []osuTable) {
	t.Helper()
	test := ""
	within := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		last := len(tables) - 1
		switch f := strings.Fields(line); {
		case osuRow.MatchString(line) && within && len(f) == len(tables[last].titles):
			var row []float64
			for _, cell := range f {
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					t.Error(err)
				}
				row = append(row, v)
			}
			tables[last].rows = append(tables[last].rows, row)
		case line == "":
			within = false
		case !strings.HasPrefix(line, "# ") || within:
			t.Errorf("a line is out of place: %q", line)
		case osuTitles.MatchString(line):
			within = true
			tables = append(tables, osuTable{test: test, titles: gap.Split(line[2:], -1)})
		default:
			if m := osuTest.FindStringSubmatch(line); m != nil {
				test = m[1]
			}
		}
	}
	return tables
}

func TestGobench(t *testing.T) {
	want := headerText
	for _, key := range []string{"goos", "goarch", "cpu", "mode"} {
		want = strings.Replace(want, "# "+key+": ", key+": ", 1)
	}
	want = strings.Replace(want, "# threads", "settings:\n# threads", 1) + `# x-floor: flag alone
# placement: near
BenchmarkAM/op=pingpong/category=short/conduit=sci/profile=live/size=0/np=2	1000	120.00 ns/op	0.00 allocs/op	1.200 x-floor
BenchmarkAM/op=pingpong/category=short/conduit=sci/profile=live/size=0/np=2	1000	140.00 ns/op	1.300 x-floor
# placement: far
BenchmarkAM/op=pingpong/category=short/conduit=sci/profile=live/size=4096/np=2	100	26000.00 ns/op
# placement: mid
BenchmarkAM/op=flood/size=512/np=2	10	51.20 ns/op	10000.00 MB/s	2.000 x-floor
# placement: unknown
BenchmarkAM/op=poll/size=0/np=64	10	3.500 ns/op
`
	got := encode(t, "gobench", pingpong(), flood(), poll())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	checkBenchfmt(t, got)
}

// The rules of golang.org/x/perf/benchfmt: a configuration key starts with a lower-case
// letter and holds no upper case and no space; a benchmark's name starts with Benchmark
// and not a lower-case letter after it; then the iterations and pairs of value and unit. What
// starts otherwise is skipped.
var (
	configLine = regexp.MustCompile(`^[a-z][^A-Z\s:]*:([ \t]|\n$)`)
	benchName  = regexp.MustCompile(`^Benchmark[^\sa-z][^\s]*$`)
)

func checkBenchfmt(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if configLine.MatchString(line) || strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 || len(f)%2 != 0 || !benchName.MatchString(f[0]) {
			t.Errorf("neither configuration nor benchmark: %q", line)
			continue
		}
		if n, err := strconv.Atoi(f[1]); err != nil || n < 1 {
			t.Errorf("iterations %q: %v", f[1], err)
		}
		units := map[string]bool{}
		for i := 2; i < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err != nil || math.IsNaN(v) {
				t.Errorf("value %q: %v", f[i], err)
			}
			if units[f[i+1]] {
				t.Errorf("unit %q twice: %q", f[i+1], line)
			}
			units[f[i+1]] = true
		}
		if !units["ns/op"] {
			t.Errorf("no ns/op: %q", line)
		}
	}
}

func TestJSON(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(encode(t, "json", pingpong(), flood()), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one per result", len(lines))
	}
	var got struct {
		Name      string
		Params    map[string]string
		Size, NP  int
		Placement string
		Uneven    int `json:"dropped_uneven"`
		Summary   map[string]bench.Summary
		Samples   []map[string]float64
		Against   map[string]string
		Header    bench.Header
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "BenchmarkAM/op=pingpong/category=short/conduit=sci/profile=live/size=0/np=2" ||
		got.Params["category"] != "short" || got.NP != 2 || got.Placement != "near" || got.Uneven != 1 {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(*exampleHeader(), got.Header); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"x-floor": "flag alone"}, got.Against); diff != "" {
		t.Error(diff)
	}
	if s := got.Summary["x-floor"]; s.Median != 1.25 || s.N != 2 {
		t.Errorf("x-floor %+v", s)
	}
	want := []map[string]float64{{"ns/op": 120, "x-floor": 1.2, "allocs/op": 0}, {"ns/op": 140, "x-floor": 1.3}}
	if diff := cmp.Diff(want, got.Samples); diff != "" {
		t.Error(diff)
	}
}

// TestCSV wants a row of titles and nothing but rows like it, though the conditions change.
func TestCSV(t *testing.T) {
	var b strings.Builder
	enc, err := bench.NewEncoder("csv", &b)
	if err != nil {
		t.Fatal(err)
	}
	h := exampleHeader()
	for _, s := range []*bench.Series{pingpong(), flood()} {
		if err := errors.Join(enc.Header(h), enc.Series(s)); err != nil {
			t.Fatal(err)
		}
		h.Settings, h.Peers = "gso=off,security=none", "x-peer one"
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll() // which wants as many cells in every row
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, strings.Join(row[1:], " "))
	}
	const (
		machine = " 2026-01-02T03:04:05Z linux amd64 Example CPU  8 (4 usable) unknown 6.1.0 go1.26 0123456789ab sci live "
		job     = " single live 2 0,1 no 2 samples, interleaved "
		first   = machine + job
		second  = machine + "gso=off,security=none" + job + "x-peer one"
	)
	want := []string{
		"size np contexts placement unit samples dropped min p25 median p75 p99 max against" +
			" date goos goarch cpu caches cores governor kernel go commit conduit profile settings threads mode ranks pinning oversubscribed method peers",
		"0 2  near ns/op 2 1 120 125 130 135 139.8 140 " + first,
		"0 2  near allocs/op 1 1 0 0 0 0 0 0 " + first,
		"0 2  near x-floor 2 1 1.2 1.225 1.25 1.275 1.299 1.3 flag alone" + first,
		"4096 2  far ns/op 1 0 26000 26000 26000 26000 26000 26000 " + first,
		"512 2  mid ns/op 1 0 51.2 51.2 51.2 51.2 51.2 51.2 " + second,
		"512 2  mid x-floor 1 0 2 2 2 2 2 2 " + second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := bench.NewEncoder("xml", nil); err == nil || !strings.Contains(err.Error(), "table, osu, gobench, json, csv") {
		t.Errorf("error %v", err)
	}
}

// TestBadNames checks that what would break the format is refused.
func TestBadNames(t *testing.T) {
	for _, format := range []string{"gobench", "json", "csv"} {
		for _, spoil := range []func(*bench.Series){
			func(s *bench.Series) { s.Family = "am" },
			func(s *bench.Series) { s.Family = "" },
			func(s *bench.Series) { s.Params[0].Value = "ping pong" },
			func(s *bench.Series) { s.Params[0].Value = "a/b" },
			func(s *bench.Series) { s.Params[0].Key = "" },
			func(s *bench.Series) { s.Params[0].Key = "a=b" },
		} {
			s := pingpong()
			spoil(s)
			var b strings.Builder
			enc, err := bench.NewEncoder(format, &b)
			if err != nil {
				t.Fatal(err)
			}
			if err := enc.Series(s); err == nil {
				t.Errorf("%s: no error for %q %v", format, s.Family, s.Params)
			}
		}
	}
}

// TestHeaderOversubscribed checks that more ranks than CPUs are reported, and nothing of
// the kind for a model.
func TestHeaderOversubscribed(t *testing.T) {
	for _, c := range []struct {
		ranks int
		mode  string
		want  string
	}{{16, "live", "# oversubscribed: yes\n"}, {4, "live", "# oversubscribed: no\n"}, {16, "modelled", ""}} {
		h := exampleHeader()
		h.Ranks, h.Mode = c.ranks, c.mode
		var b strings.Builder
		enc, _ := bench.NewEncoder("osu", &b)
		if err := enc.Header(h); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "oversubscribed"); got != (c.want != "") || !strings.Contains(b.String(), c.want) {
			t.Errorf("%d ranks, %s: %s", c.ranks, c.mode, &b)
		}
	}
}

// TestConditions checks that this machine can be described.
func TestConditions(t *testing.T) {
	h := bench.Conditions()
	if h.Kernel == "" || h.CPU == "" || h.Commit == "" || h.Cores < 1 || h.Usable < 1 || h.Date.IsZero() {
		t.Errorf("incomplete: %+v", h)
	}
}
