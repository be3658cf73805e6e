package main

import (
	"fmt"
	"strings"
	"testing"
)

// as makes the ranks of one of several programs take a role.
func as(t *testing.T, n int, role string, more ...string) []string {
	return append(append([]string{"-n", fmt.Sprint(n), "-x", roleEnv + "=" + role}, more...), self(t))
}

// Several programs are one job: their ranks are numbered in the order of the programs and meet.
func TestPrograms(t *testing.T) {
	for _, where := range [][]string{nil, {"--launcher", "local", "--host", "alpha:2,beta:2"}} {
		args := append(append(where, as(t, 1, "where")...), append([]string{":"}, as(t, 3, "where")...)...)
		want := "0 0 0 0\n"
		if where != nil {
			want = "0 0 1 1\n"
		}
		if status, out, errs := output(t, "", args...); status != 0 || out != want {
			t.Errorf("%q: status %d, hosts %q, want %q\n%s", args, status, out, want, errs)
		}
	}
	// A directory and variables are of one program.
	status, out, errs := output(t, "", "--tag-output", "-n", "1", "-x", "A=1", "sh", "-c", "echo $A $PWD", ":",
		"-n", "2", "--wdir", "/", "sh", "-c", "echo none $A $PWD")
	for _, line := range []string{"[0] 1 ", "[1] none /\n", "[2] none /\n"} {
		if status != 0 || !strings.Contains(out, line) {
			t.Errorf("status %d, output lacks %q:\n%s%s", status, line, out, errs)
		}
	}
	// The first failure decides, whichever program has it.
	status, _, errs = output(t, "", append(append(as(t, 1, "wait"), ":", "-n", "2"), "sh", "-c", "test $AQUEDUCT_RANK = 2 && exit 7; exec sleep 1000")...)
	if status != 7 || !strings.Contains(errs, "rank 2 exited with status 7") {
		t.Errorf("status %d, want 7\n%s", status, errs)
	}
}

// Behind -- a colon is an argument.
func TestColonAsArgument(t *testing.T) {
	if status, out, errs := output(t, "", "-n", "1", "--", "echo", "a", ":", "b"); status != 0 || out != "a : b\n" {
		t.Errorf("status %d, output %q\n%s", status, out, errs)
	}
	if status, out, errs := output(t, "", "-n", "1", "true", ":", "-n", "1", "--", "echo", ":"); status != 0 || out != ":\n" {
		t.Errorf("status %d, output %q\n%s", status, out, errs)
	}
}

func TestDryRunOfPrograms(t *testing.T) {
	for _, where := range [][]string{nil, {"--launcher", "local", "--host", "alpha,beta"}} {
		status, out, errs := output(t, "", append(append([]string{"--dry-run"}, where...),
			"-n", "1", "--wdir", "/", "true", "a", ":", "-n", "1", "-x", "B=2", "--wdir", "/tmp", "false")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		first, second := lines[len(lines)-2], lines[len(lines)-1]
		if status != 0 || !strings.Contains(first, "cd / && env ") || !strings.HasSuffix(first, " true a") || strings.Contains(first, "B=2") ||
			!strings.Contains(second, "cd /tmp && env ") || !strings.Contains(second, " B=2 ") || !strings.HasSuffix(second, "/false") && !strings.HasSuffix(second, " false") {
			t.Errorf("status %d\n%s%s", status, out, errs)
		}
	}
}
