//go:build !race

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench/paper"
)

// TestPaper repeats two experiments, with figures and points in files.
func TestPaper(t *testing.T) {
	dir := t.TempDir()
	table, figures := filepath.Join(dir, "points.csv"), filepath.Join(dir, "figures")
	status, out, errs := aqbench(t, "paper", "sci-short", "sci-pio-dma", "--csv", table, "--svg", figures)
	if status != 0 || !strings.Contains(out, "am-short") || !strings.Contains(out, "predicted, ±34 %") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	file, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 50 || rows[0][0] != "name" || !strings.Contains(rows[1][0], "/experiment=sci-short/") || !strings.Contains(rows[len(rows)-1][0], "/experiment=sci-pio-dma/") {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for _, name := range []string{"sci-short-ranks.svg", "sci-pio-dma-latency.svg", "sci-pio-dma-bandwidth.svg"} {
		if !strings.Contains(errs, name) {
			t.Errorf("%s is not announced in %q", name, errs)
		}
		text, err := os.ReadFile(filepath.Join(figures, name))
		if err == nil {
			err = xml.Unmarshal(text, new(struct{ XMLName xml.Name }))
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPaperDeviates wants status 3 for a machine of which something else was published.
func TestPaperDeviates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.machine")
	text := "about another one\nbase d339-2003\npredict am-short-8 1 us 10% the author of this test\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs := aqbench(t, "paper", "sci-short", "--machine", path)
	if status != deviates || !strings.Contains(out, "DEVIATES") || !strings.Contains(errs, "sci-short: am-short-8") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestPaperMachines runs an experiment on the machines that it is about, and others on a machine of Myrinet in a file, of
// which nothing was published.
func TestPaperMachines(t *testing.T) {
	status, out, errs := aqbench(t, "paper", "gm-latency")
	for _, want := range []string{"myrinet/gm-pci64a", "myrinet/gm-pci64b", "myrinet/gm-pci64c", "gm-short-c"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %s: %s%s", status, want, out, errs)
		}
	}
	path := filepath.Join(t.TempDir(), "slow.machine")
	text := "about a LANai of half the speed\nbase gm-pci64a\ncpu.instruction 33 MHz assumed for the test\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs = aqbench(t, "paper", "itb-overhead", "itb-cost", "gm-latency", "--machine", path)
	if status != 0 || strings.Contains(out, "agrees") || !strings.Contains(out, "slow.machine") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestPaperUnmeasured has a published number that no experiment measures in a machine's file: it is named when all
// experiments of that kind of machine have run, and only then. A file for --csv stays as it is if one cannot run.
func TestPaperUnmeasured(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "misspelt.machine"), filepath.Join(dir, "kept.csv")
	for name, text := range map[string]string{path: "about a misspelt number\nbase gm-pci64a\npredict gm-shrot 12 us 5% the test\n", kept: "as it was"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const said = "gm-shrot is published, and no experiment measures it"
	for experiment, want := range map[string]int{"all": 1, "itb-cost": 0} {
		status, out, errs := aqbench(t, "paper", experiment, "--machine", path)
		if status != 0 || strings.Count(errs, said) != want || strings.Contains(out, "sci-") {
			t.Errorf("%s: status %d: %s%s", experiment, status, out, errs)
		}
	}
	if err := os.WriteFile(path, []byte("about another unit\nbase gm-pci64a\npredict gm-short-switch 12 MB/s 5% the test\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	status, _, errs := aqbench(t, "paper", "gm-latency", "--machine", path, "--csv", kept)
	if text, err := os.ReadFile(kept); status != 1 || string(text) != "as it was" {
		t.Errorf("status %d: %s; the file has %q, %v", status, errs, text, err)
	}
	if status, _, errs := aqbench(t, "paper", "all", "--machine", "nothing"); status != 2 || !strings.Contains(errs, "nothing") {
		t.Errorf("no machine: status %d: %s", status, errs)
	}
}

// TestOutputs wants a file that cannot be written found before anything is measured, and one
// that exists left alone.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "file")
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("as it was"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"paper", "sci-short", "--csv", missing},
		{"paper", "sci-short", "--csv", dir},
		{"paper", "sci-short", "--csv", kept, "--svg", missing + paper.SVGSuffix},
		{"paper", "sci-short", "--csv", kept, "--svg", kept},
		{"tune", "--model", "loopback", "--op", "barrier", "-n", "2", "--write", missing},
		{"tune", "--model", "loopback", "--op", "barrier", "-n", "2", "--write", dir},
	} {
		status, out, errs := aqbench(t, args...)
		if status != 2 || out != "" || !strings.Contains(errs, dir) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d: %s%s", args, status, out, errs)
		}
	}
	if text, err := os.ReadFile(kept); string(text) != "as it was" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPaperSignal: a signal ends a run and is its status, the CSV has the experiments that were complete, and no directory
// is made for figures that there are none of.
func TestPaperSignal(t *testing.T) {
	for when, complete := range map[string]bool{"experiment 1 of 2": false, "experiment 2 of 2": true} {
		dir := t.TempDir()
		table, figures := filepath.Join(dir, "points.csv"), filepath.Join(dir, "new", "figures")
		var once sync.Once
		args := []string{"paper", "itb-cost", "itb-overhead", "--full", "--csv", table, "--svg", figures}
		status := run(t.Context(), args, io.Discard, writer(func(text []byte) {
			if bytes.Contains(text, []byte(when)) {
				once.Do(func() { unix.Kill(os.Getpid(), unix.SIGTERM) })
			}
		}))
		text, _ := os.ReadFile(table)
		if status != 128+int(unix.SIGTERM) || bytes.Contains(text, []byte("\nPaper/experiment=itb-cost/")) != complete || bytes.Contains(text, []byte("\nPaper/experiment=itb-overhead/")) {
			t.Errorf("%s: status %d, CSV of %d bytes", when, status, len(text))
		}
		if _, err := os.Stat(filepath.Dir(figures)); (err == nil) != complete {
			t.Errorf("%s: the directory of figures: %v", when, err)
		}
	}
}

func TestPaperList(t *testing.T) {
	status, out, _ := aqbench(t, "paper", "list")
	for _, e := range paper.All() {
		if status != 0 || !strings.Contains(out, e.Name) {
			t.Errorf("status %d, no %s in %s", status, e.Name, out)
		}
	}
	status, out, _ = aqbench(t, "paper", "--help")
	if status != 0 || !strings.Contains(out, "exit status") {
		t.Errorf("status %d: %s", status, out)
	}
	for _, f := range paper.Families {
		for _, m := range f.Machines() {
			if !strings.Contains(out, m) {
				t.Errorf("no machine %s in %s", m, out)
			}
		}
	}
}

func TestPaperMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "which experiment"},
		{[]string{"fly"}, "no experiment"},
		{[]string{"list", "sci-short"}, "list stands alone"},
		{[]string{"sci-short", "--machine", "fly"}, "d339-2003"},
		{[]string{"itb-cost", "--machine", "fly"}, "gm-pci64a"},
		{[]string{"itb-cost", "--machine", "d339"}, "gm-pci64a"},
		{[]string{"itb-cost", "sci-short", "--machine", "gm-pci64a"}, "experiments of one kind"},
		{[]string{"gm-latency", "--svg", "one.svg"}, "directory"},
		{[]string{"all", "--svg", "one.svg"}, "directory"},
		{[]string{"sci-short", "--fly"}, "unknown flag"},
		{[]string{"itb-cost", "gm-latency", "itb-cost"}, "itb-cost is named twice"},
		{[]string{"itb-cost", "--machine", ""}, "--machine is empty"},
		{[]string{"itb-cost", "--format", "osu"}, "--format osu is of verbs that measure by size or number of ranks; paper has text, json, csv"},
		{[]string{"itb-cost", "--format", "fly"}, `unknown format "fly"; known: text, json, csv`},
		{[]string{"itb-cost", "--format", "csv", "--csv", "points.csv"}, "give one of them"},
		{[]string{"itb-cost", "--csv", ""}, "--csv is empty"},
		{[]string{"itb-cost", "--svg", "-"}, "standard output has the report"},
		{[]string{"itb-cost", "--seed", "-1"}, "want a whole number from 0 to 2^64-1"},
		{[]string{"itb-cost", "--seed", "1", "--seed", "2"}, "given before"},
		{[]string{"itb-cost", "--full=maybe"}, "want true or false"},
	} {
		status, _, errs := aqbench(t, append([]string{"paper"}, c.args...)...)
		if status != 2 || !strings.Contains(errs, c.says) || strings.Contains(errs, "strconv") {
			t.Errorf("%v: status %d; want 2 and %q in %q", c.args, status, c.says, errs)
		}
	}
}

// TestPaperCSV has the CSV on standard output, and nothing else there, with one spelling of each unit; a file - is not made.
func TestPaperCSV(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, errs := aqbench(t, "paper", "gm-latency", "--machine", "gm-pci64c", "--format", "csv") // as --csv -
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if status != 0 || err != nil || len(rows) < 10 {
		t.Fatalf("status %d, %d rows, %v: %s", status, len(rows), err, errs)
	}
	units := map[string]int{}
	for _, row := range rows {
		quantity := strings.Split(row[slices.Index(rows[0], "unit")], ", ")
		units[quantity[len(quantity)-1]]++
	}
	if units["us"] < 10 || units["µs"] > 0 { // a number, and points of a figure
		t.Errorf("units %v", units)
	}
	if files, err := os.ReadDir("."); len(files) > 0 || err != nil {
		t.Errorf("files %v, %v", files, err)
	}
}
