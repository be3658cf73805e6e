//go:build !race

package clients_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modelled runs a program in virtual time and returns what it prints, its status and the trace of the run.
func modelled(t *testing.T, n int, model, program string, args ...string) (out string, status int, trace []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	out, status = launch(t, n, []string{"--model", model, "--trace", path}, program, args...)
	trace, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; status %d:\n%s", err, status, out)
	}
	return out, status, trace
}

// sorted returns the lines in order: which rank prints first is the business of ranks that share standard output.
func sorted(text string) string {
	lines := slices.Sorted(strings.Lines(text))
	return strings.Join(lines, "")
}

// TestVirtualTime runs a program in C on models, twice, and one in Go that does the same: all must do the same at the same moments, to the last
// event of the model. The program looks that variables are each rank's own, and that what came before gasnet_init was done once.
func TestVirtualTime(t *testing.T) {
	program := client{source: "virtual", mode: "seq", flags: []string{"-D_DEFAULT_SOURCE"}}.build(t)
	peer := filepath.Join(dir, "govirtual")
	if out, err := exec.Command("go", "build", "-o", peer, "../testdata/govirtual").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		model string
		ranks int
	}{{"sci/d339", 4}, {"loopback/native", 3}, {"sci/d339", 1}} {
		out, status, trace := modelled(t, c.ranks, c.model, program)
		again, _, second := modelled(t, c.ranks, c.model, program)
		inGo, _, third := modelled(t, c.ranks, c.model, peer)
		switch {
		case status != 0 || strings.Count(out, "put of the segment at") != c.ranks || strings.Count(out, "begins") != 1:
			t.Errorf("%d ranks on %s: status %d:\n%s", c.ranks, c.model, status, out)
		case out != again || !bytes.Equal(trace, second):
			t.Errorf("%d ranks on %s: two runs differ\n--- first\n%s--- second\n%s", c.ranks, c.model, out, again)
		case sorted(out) != sorted(inGo) || !bytes.Equal(trace, third):
			t.Errorf("%d ranks on %s: C and Go differ, or their traces do\n--- C\n%s--- Go\n%s", c.ranks, c.model, out, inGo)
		}
	}
}

// TestVirtualPrograms runs other clients in virtual time, that make few calls in loops of their own.
func TestVirtualPrograms(t *testing.T) {
	for _, c := range []struct{ source, mode, model, says string }{
		{"messages", "parsync", "loopback/native", "are right"},
		{"heat", "par", "sci/d339", "is right"},
	} {
		out, status := launch(t, 3, []string{"--model", c.model}, client{source: c.source, mode: c.mode}.build(t))
		if status != 0 || strings.Count(out, c.says) != 3 {
			t.Errorf("%s, %s: status %d; want 0 and %q of each of 3 ranks:\n%s", c.source, c.model, status, c.says, out)
		}
	}
}

// TestVirtualEnds ends modelled jobs of three in every way.
func TestVirtualEnds(t *testing.T) {
	virtual := client{source: "virtual", mode: "par", flags: []string{"-D_DEFAULT_SOURCE"}}.build(t)
	exits := client{source: "exits", mode: "seq", flags: []string{"-D_DEFAULT_SOURCE"}}.build(t)
	for _, c := range []struct {
		program string
		args    string
		status  int
		says    string
	}{
		{virtual, "deadlock", 1, "rank 1 waits for barrier 2 of world, which rank 0 has not reached: rank 0 has returned"},
		{virtual, "thread", 1, "a call of a second thread: under a model one thread of a rank may call the library"},
		{virtual, "eternity", 1, "of the 106 days that virtual time lasts"},
		{virtual, "kill", 128 + 9, "aqueduct: rank 1 was killed by SIGKILL"},
		{exits, "exit waits", 7, "aqueduct: rank 0 called Exit(7)"},
		{exits, "exit barrier", 7, "rank 2 was here"},
		{exits, "exit catches", 7, "told of the end"},
		{exits, "handler waits", 9, "rank 1 was here"},
		{exits, "handlers waits", 0, "rank 1 was here"},
		{exits, "return waits", 11, "rank 0 was here"},
		{exits, "stdlib barrier", 12, "rank 2 was here"},
		{exits, "fault waits", 128 + 11, "aqueduct: rank 0 was killed by SIGSEGV"},
		{exits, "quick waits", 13, "aqueduct: rank 0 exited with status 13"},
		{exits, "zero leaves", 0, "rank 2 was here"},
		{exits, "fork leaves", 0, "called in a child process of a rank"},
	} {
		t.Run(strings.ReplaceAll(c.args, " ", "/"), func(t *testing.T) {
			t.Parallel()
			out, status := launch(t, 3, []string{"--model", "loopback"}, c.program, strings.Fields(c.args)...)
			if status != c.status || !strings.Contains(out, c.says) {
				t.Errorf("status %d; want %d and %q in:\n%s", status, c.status, c.says, out)
			}
			if n := strings.Count(out, "aqueduct: "); n > 1 {
				t.Errorf("the end is told %d times:\n%s", n, out)
			}
		})
	}
	t.Run("lost", func(t *testing.T) {
		out, status := launch(t, 3, []string{"--model", "loopback", "--lose", "1@3us"}, virtual)
		if status != 128+9 || !strings.Contains(out, "rank 1 was lost at 3µs (virtual)") {
			t.Errorf("status %d; want 137:\n%s", status, out)
		}
	})
	t.Run("timeout", func(t *testing.T) { // one that computes for ever keeps the others from their turns
		cmd := exec.Command(aqrun, "-n", "3", "--model", "loopback", "--timeout", "1s", exits, "exit", "computes")
		out, err := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != 124 || !strings.Contains(string(out), "time limit of 1s") {
			t.Errorf("status %d, %v; want 124:\n%s", status, err, out)
		}
		for running(t, exits) {
		}
	})
}

// running reports whether a process executes the program. What was killed may take a moment to be gone.
func running(t *testing.T, program string) bool {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		target, _ := os.Readlink(path)
		return target == program
	})
}
