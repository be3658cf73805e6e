package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// envOverHosts holds a command line that TestOverHosts executes in place of its own: so figures are made. Without --host it is of
// all hosts.
const envOverHosts = "AQBENCH_OVER_HOSTS"

// TestOverHosts measures jobs over hosts made of namespaces, to which ssh leads, and other implementations there.
func TestOverHosts(t *testing.T) {
	c := cluster.New(t, "h1", "h2", "h3", "h4")
	c.ServeSSH(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	aqbench := func(args ...string) string {
		t.Helper()
		cmd := c.Command(cluster.Front, append([]string{self}, args...)...)
		cmd.Env = append(cmd.Env, envSelf+"=1", "UCX_NET_DEVICES=eth0") // else MPICH may hang at its end: docs/troubleshooting.md
		if os.Getenv(envOverHosts) == "" {
			cmd.Env = append(cmd.Env, envEven+"=1")
		}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Errorf("%q: %v\n%s\n%s", args, err, &out, &errs)
		}
		return out.String()
	}
	if line := os.Getenv(envOverHosts); line != "" {
		args := strings.Fields(line)
		if !slices.Contains(args, "--host") {
			args = append(args, "--host", "h1,h2,h3,h4")
		}
		t.Log("\n" + aqbench(args...))
		return
	}
	var peers []string
	for _, p := range mpipeer.Found() {
		if p.Missing == "" && p.Library != "" && p.Library != mpipeer.OpenSHMEM && !p.Multiple {
			peers = append(peers, p.Unit)
		}
	}
	openMPI := slices.DeleteFunc(slices.Clone(peers), func(unit string) bool { return unit != "x-openmpi" })
	for _, x := range []struct {
		args  string
		units []string
	}{
		{"am --conduit udp --op startup -n 4 --host h1,h2,h3,h4", append(peers, "x-ssh")},
		{"coll --conduit nbrhd --op barrier -n 4 --host h1,h2", openMPI},
		{"am --conduit nbrhd --op pingpong --beside udp --host h1,h2", []string{"x-udp"}},
		{"am --conduit nbrhd --op pingpong --beside sci", []string{"x-sci"}},
	} {
		args := append(strings.Fields(x.args), "--profile", "default", "--threads", "single", "--samples", "1", "--quick", "--format", "gobench")
		out := aqbench(args...)
		for _, unit := range x.units {
			if !slices.Contains(strings.Fields(out), unit) {
				t.Errorf("%s: want %s in\n%s", x.args, unit, out)
			}
		}
	}
	c.AwaitNothing(t, time.Minute)
}
