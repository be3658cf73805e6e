package bench_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
)

// benchstatProgram is what reports are compared with.
const benchstatProgram = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// benchstat runs benchstat and returns the values that it compares: by name of the result and
// unit, a value for each column.
func benchstat(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", slices.Concat([]string{"run", benchstatProgram, "-format", "csv"}, args)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return compared(t, string(out))
}

// compared reads benchstat's tables. The second row of a table has the unit in the column of
// each value. Of a name that is in several tables, whose values are not compared, the first
// table counts.
func compared(t *testing.T, text string) map[string][]string {
	t.Helper()
	values := map[string][]string{}
	var titles []string
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, row := range rows {
		if len(row) < 2 {
			continue // a configuration key, which begins a table
		}
		if row[0] == "" {
			titles = row
			continue
		}
		unit := titles[1]
		var cells []string
		for i, title := range titles {
			if title == unit && i < len(row) {
				cells = append(cells, row[i])
			}
		}
		if key := row[0] + " " + unit; values[key] == nil {
			values[key] = cells
		}
	}
	return values
}

// report writes one with everything in its header that may differ between two runs of a job.
func report(t *testing.T, name string, h *bench.Header, series ...*bench.Series) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	enc, err := bench.NewEncoder("gobench", file)
	if err != nil {
		t.Fatal(err)
	}
	if err := enc.Header(h); err != nil {
		t.Fatal(err)
	}
	for _, s := range series {
		if err := enc.Series(s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestBenchstat has benchstat compare two runs of the same job without options, and two
// conduits of one run.
func TestBenchstat(t *testing.T) {
	if out, err := exec.Command("go", "run", benchstatProgram, "-h").CombinedOutput(); err != nil {
		t.Skipf("needs benchstat: %v: %s", err, out)
	}
	later := exampleHeader()
	later.Date = later.Date.Add(time.Hour)
	later.Commit, later.Go, later.Kernel, later.Governor = "abcdef012345+", "go1.27", "6.2.0", "performance"
	later.Usable, later.Pinning, later.Method, later.Peers = 8, "2,3", "20 samples", "x-peer one"
	elsewhere := pingpong()
	for i := range elsewhere.Results {
		elsewhere.Results[i].Placement = bench.Unknown
	}
	elsewhere.Against[0].Value = "another flag"
	got := benchstat(t, report(t, "old", exampleHeader(), pingpong(), flood()), report(t, "new", later, elsewhere, flood()))
	name := "AM/op=pingpong/category=short/conduit=sci/profile=live/size=0/np=2 "
	for _, key := range []string{name + "sec/op", name + "x-floor", "AM/op=flood/size=512/np=2 B/s"} {
		if values := got[key]; len(values) != 2 || values[0] == "" || values[0] != values[1] {
			t.Errorf("%s: old and new %q, in %q", key, values, got)
		}
	}

	other := pingpong()
	other.Params = slices.Clone(other.Params)
	other.Params[2].Value = "udp"
	h := exampleHeader()
	h.Settings = "security=none"
	both := report(t, "both", h, pingpong(), other)
	if values := benchstat(t, "-col", "/conduit", both)[strings.Replace(name, "/conduit=sci", "", 1)+"sec/op"]; len(values) != 2 {
		t.Errorf("two conduits: %q", values)
	}
	if values := benchstat(t, "-col", "/conduit", "-row", "/size", both)["0 sec/op"]; len(values) != 2 {
		t.Errorf("two conduits by size: %q", values)
	}
	if got := benchstat(t, report(t, "old", exampleHeader(), pingpong()), both); len(got[name+"sec/op"]) != 1 {
		t.Errorf("jobs with other settings are compared: %q", got)
	}
}
