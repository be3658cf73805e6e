package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyComparison are the arguments of a comparison over one conduit.
var tinyComparison = []string{"compare", "--quick", "--conduits", "live:loopback,modelled:loopback", "--op", "put,barrier", "--sizes", "8", "-n", "2"}

// TestCompare measures a little, and wants a table, with its file another one, and the file read by diff, check and report.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "new.jsonl")
	status, out, errs := aqbench(t, append(tinyComparison, "--write", file)...)
	if status != 0 || !strings.Contains(out, "LIVE") || !strings.Contains(out, "MODELLED") || !strings.Contains(out, "put, us") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	if strings.Contains(errs, " of ") && strings.Contains(errs, "left") {
		t.Errorf("progress where there is no terminal: %s", errs)
	}
	if status, out, errs := aqbench(t, append(tinyComparison, "--resume", file, "--format", "json")...); status != 0 || strings.Count(out, "\n") != 4 {
		t.Errorf("continued, status %d: %s%s", status, out, errs)
	}
	if status, _, errs := aqbench(t, append(tinyComparison, "--write", file)...); status != 2 || !strings.Contains(errs, "--resume") {
		t.Errorf("a file that is there: status %d: %s", status, errs)
	}
	if status, out, errs := aqbench(t, "diff", file, file); status != 0 || !strings.Contains(out, "4 values compared: 0 more, 0 less") {
		t.Errorf("diff: status %d: %s%s", status, out, errs)
	}
	if status, out, errs := aqbench(t, "check", file, file); status != 0 || !strings.Contains(out, "2 values checked, 0 regressions") {
		t.Errorf("check: status %d: %s%s", status, out, errs)
	}
	page := filepath.Join(dir, "report.html")
	if status, out, errs := aqbench(t, "report", file, "--output", page); status != 0 {
		t.Errorf("report: status %d: %s%s", status, out, errs)
	}

	// A baseline in which the model was faster.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var faster strings.Builder
	for line := range strings.Lines(string(text)) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		for _, s := range l["samples"].([]any) {
			sample := s.(map[string]any)
			sample["ns/op"] = sample["ns/op"].(float64) / 2
		}
		again, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		faster.Write(append(again, '\n'))
	}
	baseline := filepath.Join(dir, "baseline.jsonl")
	if err := os.WriteFile(baseline, []byte(faster.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := aqbench(t, "check", baseline, file); status != 3 || strings.Count(out, "+100.0 %") != 2 {
		t.Errorf("against a faster model: status %d: %s", status, out)
	}

	// Without a second file what the baseline has is measured now; models say the same again.
	if status, out, errs := aqbench(t, "check", file); status != 0 || !strings.Contains(out, "2 values checked, 0 regressions") {
		t.Errorf("check of now: status %d: %s%s", status, out, errs)
	}
	if status, out, errs := aqbench(t, "check", baseline); status != 3 || strings.Count(out, "+100.0 %") != 2 {
		t.Errorf("check of now against a faster model: status %d: %s%s", status, out, errs)
	}
}

// TestCompareMisuse wants what cannot be compared refused, and said.
func TestCompareMisuse(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"compare", "--quick", "--full"}, 2, "exclude"},
		{[]string{"compare", "--conduits", "none"}, 2, "modelled:sci"},
		{[]string{"compare", "--sizes", "7"}, 2, "multiples of 8"},
		{[]string{"compare", "-n", "1"}, 2, "2 to"},
		{[]string{"compare", "--samples", "0"}, 2, "at least 1"},
		{[]string{"compare", "--op", "fly"}, 2, "fly"},
		{[]string{"compare", "--format", "fly"}, 2, "fly"},
		{[]string{"compare", "--write", "a", "--resume", "b"}, 2, "exclude"},
		{[]string{"compare", "--resume", filepath.Join(t.TempDir(), "none")}, 2, "no such file"},
		{[]string{"compare", "--conduits", "modelled:sci", "--op", "startup"}, 2, "none of these operations"},
		{[]string{"diff", empty}, 2, "two"},
		{[]string{"diff", empty, empty}, 1, "no result in common"},
		{[]string{"diff", "compare_test.go", empty}, 1, "compare_test.go"},
		{[]string{"check"}, 2, "baseline"},
		{[]string{"check", empty, empty, "--tolerance", "-1"}, 2, "tolerance"},
		{[]string{"check", empty, empty}, 1, "no ratio in common"},
		{[]string{"check", empty}, 1, "has no result"},
	} {
		if status, _, errs := aqbench(t, c.args...); status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("%v: status %d, want %d, and %q in: %s", c.args, status, c.status, c.says, errs)
		}
	}
}
