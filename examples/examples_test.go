// Package examples_test builds the example programs and runs each as a job of every kind.
package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var bin string // where the programs are

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqueduct-examples-*")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = dir
		var out []byte
		out, err = exec.Command("go", "build", "-o", dir+"/", "./...", "../cmd/aqrun").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// kinds are the ways to run a job of four.
var kinds = []struct {
	name string
	args []string
}{
	{"alone", nil},
	{"processes", []string{"-n", "4"}},
	{"processes-paper", []string{"-n", "3", "--profile", "paper"}},
	{"goroutines", []string{"-n", "4", "--goroutines"}},
	{"goroutines-loopback", []string{"-n", "4", "--goroutines", "--conduit", "loopback"}},
	{"model", []string{"-n", "4", "--model", "loopback"}},
}

// each runs the program with its arguments as every kind of job, and checks its output.
func each(t *testing.T, want string, prog string, args ...string) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			line := append([]string{filepath.Join(bin, prog)}, args...)
			if k.args != nil {
				line = append(append([]string{filepath.Join(bin, "aqrun"), "--timeout", "60s"}, k.args...), line...)
			}
			out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%q: %v; want %q in the output:\n%s", line, err, want, out)
			}
		})
	}
}

func TestRing(t *testing.T) { each(t, "the token went round 100 times", "ring", "100") }

func TestWordcount(t *testing.T) {
	each(t, "the sequential count agrees", "wordcount", "--check", "..")
}

// TestWordcountFails loses a rank's file: the job ends with the reason.
func TestWordcountFails(t *testing.T) {
	out, err := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", filepath.Join(bin, "wordcount"), "no-such-folder").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such-folder") {
		t.Errorf("%v; want a failure that names the folder:\n%s", err, out)
	}
}
