//go:build !race

package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/record/recordtest"
)

// TestWatched has a program in C watched: every message is in the figures and in the trace, and the program says that its
// messages cross into Go.
func TestWatched(t *testing.T) {
	for _, mode := range []string{"seq", "par"} {
		dir := t.TempDir()
		stats, trace := filepath.Join(dir, "job.jsonl"), filepath.Join(dir, "job.json")
		out, status := launch(t, 2, []string{"--conduit", "sci", "--stats=" + stats, "--trace", trace}, client{source: "watched", mode: mode}.build(t))
		if status != 0 || strings.Count(out, "its programs in C send and take messages by calls into Go") != 1 {
			t.Errorf("%s: status %d\n%s", mode, status, out)
		}
		checkFigures(t, stats)
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := recordtest.CheckTrace(text); err != nil || got.Flows < 2*100 {
			t.Errorf("%s: %v, %+v", mode, err, got)
		}
	}
}

// checkFigures wants the figures of two ranks of watched.c.
func checkFigures(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		rank int
		what string
	}
	type count struct{ n, bytes uint64 }
	got := map[key]count{}
	for line := range strings.Lines(string(text)) {
		var l struct {
			Kind, Name, Category string
			Rank, To             int
			Count, Bytes         uint64
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch l.Kind {
		case "handler":
			got[key{l.Rank, l.Name}] = count{l.Count, l.Bytes}
		case "received":
			k := key{l.To, l.Category}
			got[k] = count{got[k].n + l.Count, got[k].bytes + l.Bytes}
		}
	}
	for rank := range 2 {
		for what, want := range map[string]count{
			"handler 200": {30, 0}, "handler 201": {20, 2000}, "handler 202": {50, 0}, // those of the program
			"short reply": {50, 0}, // of which the library sends none itself
		} {
			if n := got[key{rank, what}]; n != want {
				t.Errorf("rank %d, %s: %v; want %v, in\n%s", rank, what, n, want, text)
			}
		}
		mediums, own := got[key{rank, "medium request"}], got[key{rank, "collective"}]
		if mediums.n != 20+own.n || mediums.bytes != 2000+own.bytes {
			t.Errorf("rank %d: mediums %v, the library's %v; want 20 of 2000 bytes more, in\n%s", rank, mediums, own, text)
		}
	}
}
