package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
	"golang.org/x/sys/unix"
)

// atOnce is a job of a role over the hosts of a cluster, whose agents a script of sh starts all: $@ is the command, and enter executes
// one on a host.
func atOnce(t *testing.T, c *cluster.Cluster, role, script string, args ...string) *exec.Cmd {
	t.Helper()
	path := c.File("together")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nenter() { '"+c.Enter()+"' \"$@\"; }\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return c.Command(cluster.Front, slices.Concat([]string{aqrun, "-x", roleEnv + "=" + role, "--launcher", path + " %C"}, args, []string{self(t)})...)
}

// allThree starts an agent on each of the hosts alpha, beta and gamma.
const allThree = `for host in gamma beta alpha; do enter $host "$@" & done; wait`

// Whatever is lost of a job whose agents one command has started ends it in time, and leaves nothing.
func TestTogetherLoses(t *testing.T) {
	for _, x := range []struct {
		name   string
		falls  func(*testing.T, *victim)
		status int
		says   string
	}{
		{"agent", func(t *testing.T, v *victim) { v.kill(t, v.host, "aqueduct-agent", false) }, 137, "host beta is lost: its agent is gone"},
		{"cable", func(t *testing.T, v *victim) { v.Unplug(t, v.host) }, 137, "host beta is lost: "},
		{"power", func(t *testing.T, v *victim) { v.Down(t, v.host) }, 137, "host beta is lost: "},
		{"from there", func(t *testing.T, v *victim) { v.Lose(t, v.host, v.above) }, 137, "host beta is lost: "},
		{"to there", func(t *testing.T, v *victim) { v.Lose(t, v.above, v.host) }, 137, "host beta is lost: "},
		{"aqrun", func(t *testing.T, v *victim) { v.kill(t, cluster.Front, "-x\x00"+roleEnv, false) }, -1, ""},
	} {
		for width, above := range map[string]string{"3": cluster.Front, "1": "alpha"} {
			t.Run(x.name+"/"+width, func(t *testing.T) {
				t.Parallel()
				v := &victim{network: network{cluster.New(t, "alpha", "beta", "gamma")}, host: "beta", above: above}
				var errs bytes.Buffer
				cmd := atOnce(t, v.Cluster, "barriers", allThree, "--tree-width", width, "--host", "alpha:2,beta:2,gamma:2")
				cmd.Stderr = &errs
				job := start(t, cmd)
				job.await(t, "ready", 6)
				began := time.Now()
				x.falls(t, v)
				if status := job.status(); status != x.status || !strings.Contains(errs.String(), x.says) {
					t.Errorf("status %d, want %d and %q\n%s", status, x.status, x.says, &errs)
				}
				v.AwaitNothing(t, deadline)
				if gone := time.Since(began); gone > limit {
					t.Errorf("all ended after %v", gone)
				}
			})
		}
	}
}

// An agent that waits for the one above it ends soon when it is cut off from aqrun, or that is killed.
func TestTogetherWaitsInVain(t *testing.T) {
	for name, falls := range map[string]func(*testing.T, *victim){
		"cable": func(t *testing.T, v *victim) { v.Unplug(t, v.host) },
		"aqrun": func(t *testing.T, v *victim) { v.kill(t, cluster.Front, "-x\x00"+roleEnv, false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &victim{network: network{cluster.New(t, "alpha", "beta", "gamma")}, host: "gamma"}
			cmd := atOnce(t, v.Cluster, "barrier", `enter alpha "$@" & enter gamma "$@" & wait`, "-v", "--tree-width", "1", "--start-timeout", "30s", "--host", "alpha,beta,gamma")
			errs, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			job := start(t, cmd)
			said := bufio.NewScanner(errs)
			for !strings.HasPrefix(said.Text(), "aqueduct: host gamma: its agent has come from 10.77.5.") {
				if !said.Scan() {
					t.Fatal("no agent of gamma waits")
				}
			}
			falls(t, v)
			began := time.Now()
			for len(v.Processes("gamma", "aqueduct-agent")) > 0 && time.Since(began) < limit {
				<-time.After(20 * time.Millisecond)
			}
			t.Logf("the agent that waited ended after %v", time.Since(began))
			if left := v.Processes("gamma", "aqueduct-agent"); len(left) > 0 {
				t.Errorf("an agent waits %v later", limit)
			}
			job.Process.Signal(unix.SIGTERM) // if it lives
			job.status()
			v.AwaitNothing(t, deadline)
		})
	}
}

// Strangers at the port, with bytes that say nothing, keep no agent out.
func TestStrangersAmongAgents(t *testing.T) {
	c := cluster.New(t, "alpha", "beta", "gamma")
	const script = `
for word in "$@"; do case $word in call:*) at=${word#*@}; at=${at%%,*};; esac; done
throng() { bash -c 'while exec 3<>/dev/tcp/$0/$1; do head -c 100000 /dev/urandom >&3; echo one; done' ${at%:*} ${at##*:} 2>/dev/null; }
throng | { read one; read one; for host in gamma beta alpha; do enter $host "$@" & done; cat >/dev/null; wait; }`
	var out, errs bytes.Buffer
	cmd := atOnce(t, c, "ring", script, "--tree-width", "1", "--host", "alpha:2,beta,gamma:2")
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	if status := cmd.ProcessState.ExitCode(); status != 0 || out.String() != strings.Repeat("ring closed\n", 5) || !strings.Contains(errs.String(), "refused a connection to the job: 10.77.5.1") {
		t.Errorf("status %d, output:\n%s\nstderr:\n%s", status, &out, &errs)
	}
	c.AwaitNothing(t, deadline)
}
