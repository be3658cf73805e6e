package libmpitest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// overHosts is a Launcher by Open MPI's mpiexec alone, over two hosts made of namespaces, with half of the ranks each.
type overHosts struct{ *cluster.Cluster }

// OverHosts launches ranks by Open MPI's mpiexec on two hosts, which it reaches by ssh; TestMain must call coretest.RankMain with
// Connect. It skips the test where there is no Open MPI, or where hosts cannot be made. MPICH's ranks may not return from
// MPI_Finalize there: see the README of the conduit.
func OverHosts(t testing.TB) coretest.Launcher {
	t.Helper()
	Launcher(t, "openmpi")
	c := cluster.New(t, "alpha", "beta")
	c.ServeSSH(t)
	return overHosts{c}
}

// Offers implements coretest.Launcher.
func (overHosts) Offers() coretest.Offer { return coretest.Live | coretest.Processes }

// command returns what starts n processes, which get these variables. Ranks outnumber CPUs, and the sleep that is switched
// off comes when a rank has failed.
func (overHosts) command(n int, env []string) []string {
	near := (n + 1) / 2
	argv := []string{
		"mpiexec.openmpi", "--quiet", "--allow-run-as-root", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
		"--mca", "odls_base_sigkill_timeout", "0", "--host", fmt.Sprintf("alpha:%d,beta:%d", near, max(n-near, 1)), "-n", strconv.Itoa(n),
	}
	for _, setting := range env {
		name, _, _ := strings.Cut(setting, "=")
		argv = append(argv, "-x", name)
	}
	return argv
}

// Launch implements coretest.Launcher.
func (h overHosts) Launch(t testing.TB, l *coretest.Launch) *coretest.Outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := append(l.Env(), libmpi.EnvLib+"="+os.Getenv(libmpi.EnvLib))
	out := &coretest.Output{Dir: l.Dir}
	cmd := h.Command(cluster.Front, append(h.command(l.Ranks, env), self)...)
	cmd.Env = slices.Concat(cmd.Env, env)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(l.Timeout, func() {
		t.Errorf("the job did not end within %v", l.Timeout)
		cmd.Process.Signal(syscall.SIGTERM)
	})
	defer stuck.Stop()
	if err := cmd.Wait(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	o := &coretest.Outcome{Status: cmd.ProcessState.ExitCode(), Output: out.String()}
	if o.Status != 0 {
		o.Err = errors.New(strings.TrimSpace(o.Output))
	}
	return o
}

// SuiteOverHosts runs the cases that are for four ranks with two on each of two hosts, but those of jobs that fail, which mpiexec
// ends in ways of its own. Each job is started through two connections of ssh, so the pairs have only the cases of these names.
func SuiteOverHosts(t *testing.T, cases []*coretest.Case, few ...string) {
	l := OverHosts(t)
	var some []*coretest.Case
	for _, c := range cases {
		if slices.Contains(c.Ranks, 4) && c.Want == nil {
			c := *c
			c.Ranks = []int{4}
			some = append(some, &c)
		}
	}
	for _, name := range few {
		if !slices.ContainsFunc(some, func(c *coretest.Case) bool { return c.Name == name }) {
			t.Fatalf("there is no case %q of four ranks", name)
		}
	}
	coretest.Suite(t, some, coretest.Kind{
		Launcher: l, Config: core.Config{Conduit: "mpi", Profile: "openmpi", Threads: core.Many},
		Rest: func(c *coretest.Case) bool { return !slices.Contains(few, c.Name) },
	})
}
