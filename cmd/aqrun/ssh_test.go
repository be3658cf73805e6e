package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// network is a cluster on which aqrun runs jobs.
type network struct{ *cluster.Cluster }

// newNetwork makes hosts of these names, each with an sshd.
func newNetwork(t *testing.T, names ...string) network {
	t.Helper()
	n := network{cluster.New(t, names...)}
	n.ServeSSH(t)
	return n
}

// aqrun is a command for a job of a role over the hosts.
func (n network) aqrun(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	return n.Command(cluster.Front, slices.Concat([]string{aqrun, "-x", roleEnv + "=" + role}, args, []string{self(t)})...)
}

func TestJobsOverSSH(t *testing.T) {
	n := newNetwork(t, "alpha", "beta", "gamma")
	all := n.File("all") // starts a command on all of a list of hosts
	if err := os.WriteFile(all, []byte("#!/bin/sh\nhosts=$1; shift\nfor h in $(echo $hosts | tr , ' '); do "+n.Enter()+" $h \"$@\" & done; wait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	key := n.File("job-key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string // so often as there are ranks
		err    string
	}{
		{"job", []string{"--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"by node", []string{"-n", "6", "--host", "alpha:2,beta:2,gamma:2", "--map-by", "node"}, 0, "ring closed\n", ""},
		{"pushed", []string{"--push", "-n", "6", "--host", "alpha:6"}, 0, "ring closed\n", ""},
		{"template", []string{"--launcher", n.Enter() + " %H %C", "--host", "alpha:2,beta"}, 0, "ring closed\n", ""},
		{"tree", []string{"--tree-width", "1", "--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"pushed tree", []string{"--push", "--tree-width", "1", "--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"together", []string{"--launcher", all + " %L %C", "--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"together, a tree", []string{"--launcher", all + " %L %C", "--tree-width", "1", "--host", "alpha:2,beta,gamma:3"}, 0, "ring closed\n", ""},
		{"together, by address", []string{"--launcher", all + " alpha,beta %C", "--host", n.Address("alpha") + ":2," + n.Address("beta")}, 0, "ring closed\n", ""},
		{"together, a key in a file", []string{"--launcher", "env -u AQUEDUCT_AGENT_KEY " + all + " %L %C", "--key-file", key, "--host", "alpha:2,beta"}, 0, "ring closed\n", ""},
		{"together, without the key", []string{"--launcher", "env -u AQUEDUCT_AGENT_KEY " + all + " %L %C", "--start-timeout", "2s", "--host", "alpha:2,beta"}, 125, "",
			"host alpha: its agent has not answered within 2s; host beta: its agent has not answered within 2s"},
		{"together, one too few", []string{"--launcher", all + " alpha %C", "--start-timeout", "2s", "--host", "alpha:2,beta"}, 125, "", "host beta: its agent has not answered within 2s"},
		{"together, a failure", []string{"--launcher", "cat /nonexistent %C", "--host", "alpha:2,beta"}, 125, "", "launcher cat could not start the agents: cat exited with status 1; it said last: "},
		{"unknown below", []string{"--tree-width", "1", "--host", "alpha,beta,nowhere"}, 125, "", "host nowhere: ssh exited with status 255; it said last: ssh: Could not resolve hostname nowhere: "},
		{"path", []string{"--agent", "/nonexistent/" + filepath.Base(aqrun), "--host", "alpha"}, 125, "", "host alpha: ssh exited with status 127; it said last: there is no /nonexistent/"},
		{"unknown host", []string{"--host", "alpha,nowhere"}, 125, "", "host nowhere: ssh exited with status 255; it said last: ssh: Could not resolve hostname nowhere: "},
		{"unreachable", []string{"--host", "alpha,10.77.5.200"}, 125, "", "host 10.77.5.200: ssh exited with status 255; it said last: ssh: connect to host 10.77.5.200 port 22: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := n.aqrun(t, "ring", c.args...)
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(errs.String(), c.err) {
				t.Errorf("status %d, want %d\nstderr:\n%s", status, c.status, errs.String())
			}
			if want := strings.Repeat(c.out, strings.Count(out.String(), "\n")); c.status == 0 && (out.Len() == 0 || out.String() != want || errs.Len() > 0) {
				t.Errorf("stdout:\n%s\nstderr:\n%s", out.String(), errs.String())
			}
			n.AwaitNothing(t, deadline)
		})
	}
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "aqueduct-push-*")); len(dirs) > 0 {
		t.Errorf("what was pushed is left: %v", dirs)
	}
}
