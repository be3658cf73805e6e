//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport makes a page of what an experiment and a model give by --format json.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, args := range map[string][]string{
		"paper": {"paper", "itb-cost", "--format", "json"},
		"am":    {"am", "--model", "loopback", "--op", "pingpong,stream", "--sizes", "8,512", "--format", "json"},
	} {
		status, out, errs := aqbench(t, args...)
		if status != 0 || !strings.HasPrefix(out, "{") {
			t.Fatalf("%v: status %d: %s%s", args, status, out, errs)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "page.html")
	status, _, errs := aqbench(t, append([]string{"report", "-o", page, "--title", "Both"}, files...)...)
	text, err := os.ReadFile(page)
	if status != 0 || err != nil || !strings.Contains(errs, page) {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	for _, want := range []string{"<h1>Both</h1>", `id="modelled-latency"`, `id="modelled-bandwidth"`, `id="paper-itb-cost-gm-pci64a-`, "<td>agrees</td>", "<td>holds</td>"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(string(text), `id="live"`) {
		t.Error("a section of live results")
	}
}

// TestReportMisuse: a page that is there stays as it is when another cannot be made.
func TestReportMisuse(t *testing.T) {
	dir := t.TempDir()
	kept, lines, empty := filepath.Join(dir, "kept.html"), filepath.Join(dir, "lines"), filepath.Join(dir, "empty")
	for name, text := range map[string]string{kept: "as it was", lines: "# Size  Latency (us)\n", empty: "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"-o", kept}, 2, "which files"},
		{[]string{lines, "-o", filepath.Join(dir, "missing", "page.html")}, 2, "missing"},
		{[]string{lines, "-o", kept, "--title", ""}, 2, "--title is empty"},
		{[]string{filepath.Join(dir, "gone"), "-o", kept}, 1, "gone"},
		{[]string{lines, "-o", kept}, 1, lines + ":1:"},
		{[]string{empty, "-o", kept}, 1, "nothing to report"},
	} {
		status, _, errs := aqbench(t, append([]string{"report"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("%v: status %d, %q; want %d and %q", c.args, status, errs, c.status, c.says)
		}
	}
	if text, err := os.ReadFile(kept); string(text) != "as it was" {
		t.Errorf("%q, %v", text, err)
	}
}
