package pmi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner/pmi/libpmix"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// Ranks that srun starts on the nodes of a Slurm, which are hosts made of namespaces.
func TestSlurm(t *testing.T) {
	c := cluster.New(t, "n1", "n2", "n3")
	env := c.ServeSlurm(t)
	srun := func(options ...string) *launcher {
		return &launcher{name: "slurm", env: []string{env}, command: func(n int) []string {
			return append([]string{c.Enter(), cluster.Front, "srun", "--quiet", "--ntasks=" + strconv.Itoa(n)}, options...)
		}}
	}
	for _, speaks := range []string{"pmi2", "pmix"} {
		t.Run(speaks, func(t *testing.T) {
			if err := libpmix.Usable(); speaks == "pmix" && err != nil {
				t.Skipf("needs a PMIx library: %v", err)
			}
			testEnds(t, srun("--mpi="+speaks, "--nodes=1"), 3)
		})
	}
	t.Run("nodes", func(t *testing.T) { // srun has a status of its own for ranks that it kills
		testHosts(t, srun("--mpi=pmi2", "--distribution=arbitrary", "--nodelist=n1,n1,n2,n3"), 137)
	})
	t.Run("never joins", func(t *testing.T) {
		l := srun("--mpi=pmi2", "--nodes=1")
		l.rank = "PMI_RANK"
		testNeverJoins(t, l)
	})
	t.Run("no PMI", func(t *testing.T) { testWithoutPMI(t, c, env) })
	c.AwaitNothing(t, time.Minute)
}

// A process of a step without PMI is refused, since it is one of several; the process of a batch script is not.
func testWithoutPMI(t *testing.T, c *cluster.Cluster, env string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\n", self), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		argv []string
		says string
	}{
		{[]string{"srun", "--quiet", "--ntasks=2", self}, "SLURM_STEP_NUM_TASKS=2 says"}, // Slurm's MpiDefault is none
		{[]string{"srun", "--quiet", "--mpi=none", "--ntasks=2", self}, "SLURM_STEP_NUM_TASKS=2 says"},
		{[]string{"sbatch", "--wait", "--ntasks=2", "--output=" + out, script}, "not started by aqrun"},
		{[]string{"salloc", "--quiet", "--ntasks=2", self}, "not started by aqrun"},
	} {
		cmd := c.Command(cluster.Front, x.argv...)
		cmd.Env = append(cmd.Env, env, roleEnv+"=alone")
		text, err := cmd.CombinedOutput()
		if x.argv[0] == "sbatch" {
			more, _ := os.ReadFile(out)
			text = append(text, more...)
		}
		if err != nil || !strings.Contains(string(text), x.says) {
			t.Errorf("%q: %v, want %q\n%s", x.argv, err, x.says, text)
		}
	}
}
