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
var Processes coretest.Launcher = processes{}

// Behind is Processes with a launch prefix (see spawner.Spec.Prefix).
func Behind(prefix ...string) coretest.Launcher { return processes{prefix: prefix} }

// Started is Processes with ranks that another launcher starts: by returns, for a number of ranks,
// what spawner.Spec.Starter and RankVar are.
func Started(by func(n int) (starter []string, rankVar string, err error)) coretest.Launcher {
	return processes{by: by}
}

type processes struct {
	prefix []string
	by     func(n int) (starter []string, rankVar string, err error) // nil: the spawner itself
}

// Offers implements coretest.Launcher.
func (processes) Offers() coretest.Offer {
	return coretest.Live | coretest.Processes | coretest.Kills
}

// Launch implements coretest.Launcher.
func (p processes) Launch(t testing.TB, l *coretest.Launch) *coretest.Outcome {
	t.Helper()
	prog, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := coretest.Output{Dir: l.Dir}
	spec := spawner.Spec{
		N: l.Ranks, Prog: prog, Prefix: p.prefix, Env: l.Env(), Timeout: l.Timeout, Stdout: &out, Stderr: &out,
	}
	if p.by != nil {
		if spec.Starter, spec.RankVar, err = p.by(l.Ranks); err != nil {
			t.Fatal(err)
		}
	}
	job, err := spawner.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	out.Kill(func(r core.Rank) { _ = job.Kill(r) })
	status, err := job.Wait()
	if status == 124 {
		t.Errorf("the job did not end within %v\n%s", l.Timeout, out.String())
	}
	if status == 0 && err == nil {
		return &coretest.Outcome{Output: out.String()}
	}
	if err == nil {
		err = errors.New(strings.TrimSpace(out.String()))
	}
	return &coretest.Outcome{Err: err, Status: status, Output: out.String()}
}
