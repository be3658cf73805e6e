package bench_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct/bench"
)

// TestReadLines wants what was written read again as the same series.
func TestReadLines(t *testing.T) {
	trips := pingpong()
	trips.Results[1].Samples[0].Metrics = map[string]float64{"x-floor": 2}
	text := encode(t, "json", trips, flood(), poll())
	lines, err := bench.ReadLines(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	for _, l := range lines {
		s, err := l.Series()
		if err != nil {
			t.Fatal(err)
		}
		line, err := bench.NewLine(l.Header, s, &s.Results[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := line.Write(&again); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(text, again.String()); diff != "" {
		t.Error(diff)
	}
}

// TestReadLinesTorn leaves out a line that a writer did not finish, and refuses what is none.
func TestReadLinesTorn(t *testing.T) {
	text := encode(t, "json", pingpong())
	lines, err := bench.ReadLines(strings.NewReader(text[:len(text)-5]))
	if err != nil || len(lines) != 1 {
		t.Errorf("%d lines of 2, the last one torn: %v", len(lines), err)
	}
	for _, bad := range []string{"fly\n", "{}\n", `{"name":"BenchmarkX"}` + "\n"} {
		if _, err := bench.ReadLines(strings.NewReader(text + bad)); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// TestMerge wants the samples of rounds together, and those of models apart.
func TestMerge(t *testing.T) {
	lines, err := bench.ReadLines(strings.NewReader(strings.Repeat(encode(t, "json", pingpong()), 3)))
	if err != nil {
		t.Fatal(err)
	}
	lines[4].Mode = "modelled"
	merged, err := bench.Merge(lines)
	if err != nil {
		t.Fatal(err)
	}
	if len(merged) != 3 || merged[0].Figures[0].N != 4 || merged[1].Figures[0].N != 3 || merged[2].Figures[0].N != 2 {
		t.Errorf("%d lines, the first %+v", len(merged), merged[0].Figures)
	}
	if n := len(lines[0].Samples); n != 2 {
		t.Errorf("a line that was merged has %d samples now", n)
	}
}

// TestInterval compares with the table of order statistics: of ten values the interval of the median at 95 % lies
// between the second and the ninth; five have none.
func TestInterval(t *testing.T) {
	values := []float64{10, 2, 3, 4, 5, 6, 7, 8, 9, 1}
	if low, high, sure := bench.Interval(values); low != 2 || high != 9 || !sure {
		t.Errorf("of ten: %v to %v, %v", low, high, sure)
	}
	if low, high, sure := bench.Interval(values[:5]); low != 2 || high != 10 || sure {
		t.Errorf("of five: %v to %v, %v", low, high, sure)
	}
	if values[0] != 10 {
		t.Error("the values were put in order")
	}
}
