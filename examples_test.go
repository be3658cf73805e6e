package aqueduct_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesSayOnce asks every example for help, and gives it an option that it does not
// have: whatever runs it, one rank answers.
func TestExamplesSayOnce(t *testing.T) {
	bin := t.TempDir() + string(filepath.Separator)
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/aqrun", "./examples/...").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	mains, err := filepath.Glob("examples/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("examples: %v, %v", mains, err)
	}
	for _, file := range mains {
		name := filepath.Base(filepath.Dir(file))
		for _, launch := range [][]string{{}, {bin + "aqrun", "-n", "3"}, {bin + "aqrun", "-n", "3", "--goroutines"}, {bin + "aqrun", "-n", "3", "--model", "loopback"}} {
			for _, c := range []struct {
				arg    string
				status int
				out    string // once; "": nothing
				lines  int    // of messages
			}{{"--help", 0, "usage: " + name, 0}, {"--no-such-option", 2, "", 1}} {
				status, out, errs := finish(t, under(exec.Command(bin+name, c.arg), launch...))
				if status != c.status || strings.Count(out, c.out) != 1 || strings.Count(errs, "\n") != c.lines {
					t.Errorf("%q %s %s: status %d, want %d\noutput: %s\nmessages: %s", launch, name, c.arg, status, c.status, out, errs)
				}
			}
		}
	}
}
