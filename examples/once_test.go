//go:build !race

package examples_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExamplesSayOnce asks every example for help, and gives it an option that it does not
// have: whatever runs it, one rank answers.
func TestExamplesSayOnce(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("examples: %v, %v", mains, err)
	}
	run := filepath.Join(bin, "aqrun")
	for _, file := range mains {
		name := filepath.Dir(file)
		for _, launch := range [][]string{{}, {run, "-n", "3"}, {run, "-n", "3", "--goroutines"}, {run, "-n", "3", "--model", "loopback"}} {
			for _, c := range []struct {
				arg    string
				status int
				out    string // once; "": nothing
				lines  int    // of messages
			}{{"--help", 0, "usage: " + name, 0}, {"--no-such-option", 2, "", 1}} {
				line := slices.Concat(launch, []string{filepath.Join(bin, name), c.arg})
				cmd := exec.Command(line[0], line[1:]...)
				var out, errs strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &errs
				got := 0
				if err := cmd.Run(); err != nil {
					got = status(err)
				}
				if got != c.status || strings.Count(out.String(), c.out) != 1 || strings.Count(errs.String(), "\n") != c.lines {
					t.Errorf("%q: status %d, want %d\noutput: %s\nmessages: %s", line, got, c.status, &out, &errs)
				}
			}
		}
	}
}
