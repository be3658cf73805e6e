package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
	"golang.org/x/sys/unix"
)

// staticRanks are ranks of a static job: processes that nothing has started together.
type staticRanks struct {
	*cluster.Cluster
	cmds []*exec.Cmd
	errs []*bytes.Buffer
}

// staticRoot is where rank 0 of a static job is reached, on the first host of a cluster.
func staticRoot(c *cluster.Cluster) string { return c.Address(c.Names[0]) + ":7077" }

// staticName is an argument of a rank's, by which its process is found.
func staticName(rank int) string { return fmt.Sprintf("rank-%d-of-static-job", rank) }

// static returns two ranks of a role for each host but [cluster.Front].
func static(t *testing.T, c *cluster.Cluster, role string) *staticRanks {
	t.Helper()
	key, size := spawntest.KeyFile(t), 2*len(c.Names)
	s := &staticRanks{c, make([]*exec.Cmd, size), make([]*bytes.Buffer, size)}
	for r := range size {
		cmd := c.Command(c.Names[r/2], self(t), staticName(r))
		cmd.Env = slices.Concat(cmd.Env, []string{roleEnv + "=" + role}, spawntest.Environment(r, size, staticRoot(c), key))
		s.cmds[r], s.errs[r] = cmd, &bytes.Buffer{}
		cmd.Stderr = s.errs[r]
	}
	return s
}

// kill kills a rank, if it runs: what has entered its host for it is another process.
func (s *staticRanks) kill(rank int) {
	for _, pid := range s.Processes(s.Names[rank/2], staticName(rank)) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// begin starts the processes in an order; what they print can be awaited.
func (s *staticRanks) begin(t *testing.T, order []int) (ranks []*started) {
	t.Helper()
	ranks = make([]*started, len(s.cmds))
	for _, r := range order {
		ranks[r] = start(t, s.cmds[r])
		t.Cleanup(func() { s.kill(r) })
	}
	return ranks
}

// text returns what all ranks have said on standard error.
func (s *staticRanks) text() string {
	var b strings.Builder
	for r, e := range s.errs {
		fmt.Fprintf(&b, "rank %d:\n%s", r, e)
	}
	return b.String()
}

// Ranks of a static job find each other in whatever order they start, and strangers at rank 0's port do not hold them up.
func TestStaticJobs(t *testing.T) {
	c := cluster.New(t, "alpha", "beta", "gamma")
	for range 3 {
		order := append(rand.Perm(5), 0) // rank 0 last
		for i := range order[:5] {
			order[i]++
		}
		s := static(t, c, "barrier")
		stranger := c.Command(cluster.Front, "bash", "-c",
			`while true; do exec 3<>/dev/tcp/`+c.Address("alpha")+`/7077 && head -c 100000 /dev/urandom >&3; done`)
		if err := stranger.Start(); err != nil {
			t.Fatal(err)
		}
		ranks := s.begin(t, order)
		for r, rank := range ranks {
			if r == 0 {
				rank.await(t, "nbrhd", 1)
			}
			if status := rank.status(); status != 0 {
				t.Errorf("order %v: rank %d has status %d\n%s", order, r, status, s.text())
			}
		}
		stranger.Process.Kill()
		stranger.Wait()
		c.AwaitNothing(t, deadline)
	}
}

// Whatever breaks, all ranks end with the same status, those that are left say what is lost, and nothing lives on.
func TestStaticJobsLose(t *testing.T) {
	for _, x := range []struct {
		name   string
		breaks func(*testing.T, *staticRanks)
		dies   int    // a rank; -1: none
		says   string // rank 1, which is on the host of rank 0
	}{
		{"rank", func(_ *testing.T, s *staticRanks) { s.kill(3) }, 3, "rank 3 on host "},
		{"root", func(_ *testing.T, s *staticRanks) { s.kill(0) }, 0, "rank 0 at %R is lost: the connection has ended"},
		{"cable", func(t *testing.T, s *staticRanks) { s.Unplug(t, "beta") }, -1, "is lost: it has not been heard for 6s"},
		{"from there", func(t *testing.T, s *staticRanks) { s.Lose(t, "beta", "alpha") }, -1, "is lost: it has not been heard for 6s"},
		{"to there", func(t *testing.T, s *staticRanks) { s.Lose(t, "alpha", "beta") }, -1, "is lost: "},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			c := cluster.New(t, "alpha", "beta")
			order := rand.Perm(4)
			s := static(t, c, "idle")
			ranks := s.begin(t, order)
			for _, rank := range ranks {
				rank.await(t, "ready", 1)
			}
			began := time.Now()
			x.breaks(t, s)
			for r, rank := range ranks {
				if status := rank.status(); status != 128+int(unix.SIGKILL) && r != x.dies {
					t.Errorf("rank %d has status %d\n%s", r, status, s.text())
				}
			}
			t.Logf("the ranks ended after %v", time.Since(began).Round(time.Millisecond))
			if says := strings.ReplaceAll(x.says, "%R", staticRoot(c)); !strings.Contains(s.errs[1].String(), says) {
				t.Errorf("rank 1 does not say %q:\n%s", says, s.text())
			}
			c.AwaitNothing(t, deadline)
		})
	}
}
