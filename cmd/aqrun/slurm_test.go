package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// In an allocation of Slurm aqrun has the ranks on its nodes, where srun starts the agents: without a buffer, as their output is
// a stream of frames.
func TestAllocationOfSlurm(t *testing.T) {
	c := cluster.New(t, "n1", "n2")
	env := c.ServeSlurm(t)
	const (
		each     = "srun --unbuffered --mpi=none --overlap --nodes=1 --ntasks=1 --nodelist=%H %C"
		together = "srun --mpi=none --overlap --nodes=%N --ntasks=%N %C"
	)
	for _, x := range []struct {
		template  string
		role      string
		args      []string
		status    int
		out, says string
	}{
		{each, "where", []string{self(t)}, 0, "0 0 1 1\n", "the ranks are on the hosts that Slurm has allocated"},
		{together, "where", []string{self(t)}, 0, "0 0 1 1\n", "the ranks are on the hosts that Slurm has allocated"},
		{each, "where", []string{"-n", "2", "--map-by", "node", self(t)}, 0, "0 1\n", ""},
		{together, "barrier", []string{self(t)}, 0, "nbrhd\n", ""},
		{each, "", []string{"-n", "2", "sh", "-c", "exit 7"}, 7, "", "exited with status 7"},
		{together, "", []string{"-n", "2", "sh", "-c", "exit 7"}, 7, "", "exited with status 7"},
	} {
		t.Run(x.role, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := c.Command(cluster.Front, append([]string{"salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2",
				aqrun, "-x", roleEnv + "=" + x.role, "--launcher", x.template}, x.args...)...)
			cmd.Env = append(cmd.Env, env)
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if status := cmd.ProcessState.ExitCode(); status != x.status || out.String() != x.out || !strings.Contains(errs.String(), x.says) {
				t.Errorf("status %d, want %d; output %q, want %q; want %q\nstderr:\n%s", status, x.status, &out, x.out, x.says, &errs)
			}
			c.AwaitNothing(t, deadline)
		})
	}
}
