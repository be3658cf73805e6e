package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// What one of several hosts lacks is said with its name and what to do, whoever starts its agent, and nothing is left of the job on any.
func TestHostThatLacks(t *testing.T) {
	t.Chdir("/") // which beta has, whatever hides the directory of the test
	n := newNetwork(t, "alpha", "beta")
	on := func(t *testing.T, script string) {
		t.Helper()
		if out, err := n.Command("beta", "sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("beta: %s: %v\n%s", script, err, out)
		}
	}
	text := n.File("text")
	if err := os.WriteFile(text, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	const push = "; have TMPDIR there name a directory with room for "
	for _, c := range []struct {
		name       string
		over, path string // what is mounted there on beta
		args       string
		status     int
		says       []string
	}{
		{"no room", "-t tmpfs -o size=1m tmpfs", "/tmp", "--push", 125, []string{"/tmp: ", "No space left on device" + push}},
		{"read only", "-t tmpfs -o ro tmpfs", "/tmp", "--push", 125, []string{"/tmp: ", "Read-only file system" + push}},
		{"no programs", "-t tmpfs -o noexec tmpfs", "/tmp", "--push", 125, []string{"/tmp: it takes no programs" + push}},
		{"agent", "--bind " + text, aqrun, "", 125, []string{"there is no " + aqrun + " here that may be executed, and no aqrun in PATH"}},
		{"program", "-t tmpfs tmpfs", filepath.Dir(self(t)), "", 127, []string{"program " + self(t) + ": no such file"}},
		{"permission", "--bind " + text, self(t), "", 126, []string{"program " + self(t) + " cannot be executed: permission denied"}},
		{"another program", "--bind /bin/true", self(t), "", 125, []string{"program " + self(t) + " is not the same on hosts alpha and beta"}},
	} {
		for i, width := range []string{"1", "32"} {
			if !coretest.InTurn(t, c.name, i, 2) {
				continue
			}
			t.Run(c.name+"/"+width, func(t *testing.T) {
				on(t, "mount "+c.over+" "+c.path)
				defer on(t, "umount "+c.path)
				var errs bytes.Buffer
				cmd := n.aqrun(t, "ring", append(strings.Fields(c.args), "--host", "alpha,beta", "--tree-width", width)...)
				cmd.Stderr = &errs
				cmd.Run()
				status := cmd.ProcessState.ExitCode()
				for _, says := range append(c.says, "beta") {
					if status != c.status || !strings.Contains(errs.String(), says) {
						t.Errorf("status %d, want %d and %q\n%s", status, c.status, says, &errs)
					}
				}
				n.AwaitNothing(t, deadline)
				on(t, "test -z \"$(find /tmp -maxdepth 1 -name 'aqueduct-push-*')\"")
			})
		}
	}
}
