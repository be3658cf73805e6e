// Package spawntest runs the conformance suite's jobs as real processes.
package spawntest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// Processes launches each rank as a process that runs this test binary again; its TestMain
// must call coretest.RankMain with spawner.Connect.
var Processes coretest.Launcher = &processes{}

// Behind is Processes with a launch prefix (see spawner.Spec.Prefix).
func Behind(prefix ...string) coretest.Launcher { return &processes{prefix: prefix} }

// Over is Processes with ranks on hosts of these names, in turn, each with an agent that a launcher starts: see spawner.Launch.
func Over(launcher string, hosts ...string) coretest.Launcher {
	return &processes{launcher: launcher, hosts: hosts}
}

// Started is Processes with ranks that another launcher starts: by returns, for a number of ranks,
// what spawner.Spec.Starter is.
func Started(by func(n int) (*core.Starter, error)) coretest.Launcher {
	return &processes{by: by}
}

type processes struct {
	prefix   []string
	hosts    []string // nil: this host, without an agent
	launcher string
	by       func(n int) (*core.Starter, error) // nil: the spawner itself
}

// Offers implements coretest.Launcher.
func (*processes) Offers() coretest.Offer {
	return coretest.Live | coretest.Processes | coretest.Kills
}

// running is a job that has been started.
type running struct {
	job *spawner.Job
	out *coretest.Output
}

// start starts a job of n ranks, with what spec says besides. dir is a directory that they share; "": none.
func (p *processes) start(t testing.TB, n int, dir string, spec spawner.Spec) *running {
	t.Helper()
	prog, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{out: &coretest.Output{Dir: dir}}
	spec.N, spec.Prog, spec.Prefix, spec.Stdout, spec.Stderr = n, prog, p.prefix, r.out, r.out
	spec.Unseen = true // else who looks has this process open descriptors, while a case that runs in it counts them
	if p.hosts != nil {
		spec.Hosts, spec.Launch.Launcher = p.hosts[:min(n, len(p.hosts))], p.launcher
		for r := range n {
			spec.HostOf = append(spec.HostOf, r%len(spec.Hosts))
		}
	}
	if p.by != nil {
		if spec.Starter, err = p.by(n); err != nil {
			t.Fatal(err)
		}
	}
	if r.job, err = spawner.Start(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	r.out.Kill(func(rank core.Rank) { _ = r.job.Kill(rank) })
	return r
}

// Launch implements coretest.Launcher.
func (p *processes) Launch(t testing.TB, l *coretest.Launch) *coretest.Outcome {
	t.Helper()
	r := p.start(t, l.Ranks, l.Dir, spawner.Spec{Env: l.Env(), Timeout: l.Timeout})
	status, err := r.job.Wait()
	out := r.out.String()
	if status == 124 {
		t.Errorf("the job did not end within %v\n%s", l.Timeout, out)
	}
	if status != 0 && err == nil {
		err = errors.New(strings.TrimSpace(out))
	}
	return &coretest.Outcome{Err: err, Status: status, Output: out}
}
