package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

func init() {
	// Each rank sends ten shorts to the next one; then rank 1 dies if it is told to.
	roles["watched"] = func() {
		aqueduct.Run(func(job *core.Job) error {
			got := 0
			ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: 200, Name: "ten", Func: func(*core.Token, []uint32, []byte) { got++ }}}})
			if err != nil {
				return err
			}
			for range 10 {
				if err := ep.RequestShort((job.Rank()+1)%core.Rank(job.Size()), 200); err != nil {
					return err
				}
			}
			if err := ep.WaitUntil(func() bool { return got == 10 }); err != nil {
				return err
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
			if os.Getenv("AQRUN_TEST_DIES") != "" && job.Rank() == 1 {
				unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			return ep.Barrier()
		})
	}
}

// TestStats: the table of a job of processes is exact, and behind the output; that of a job with a rank that dies has the others.
func TestStats(t *testing.T) {
	for _, conduit := range []string{"sci", "udp"} {
		status, _, errs := output(t, "watched", "-n", "3", "--conduit", conduit, "--stats", self(t))
		if status != 0 || !strings.HasPrefix(errs, "stats of 3 ranks over "+conduit+"/") || !strings.Contains(errs, "\nten                 30        0\n") || strings.Count(errs, "\n") < 15 {
			t.Errorf("%s: status %d\n%s", conduit, status, errs)
		}
	}
	status, _, errs := output(t, "watched", "-n", "3", "--stats", "-x", "AQRUN_TEST_DIES=1", self(t))
	if status != 137 || !strings.Contains(errs, "-  (it ended without telling)\n") || !strings.Contains(errs, "\nten           20        0\n") {
		t.Errorf("a rank dies: status %d\n%s", status, errs)
	}
}

// TestStatsOnHosts: records come through agents, and clocks of hosts are compared.
func TestStatsOnHosts(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "job.json")
	status, _, errs := output(t, "watched", "--host", "a,b", "--launcher", "local", "--stats=table,"+filepath.Join(dir, "job.svg"), "--trace", trace, self(t))
	if status != 0 || !strings.Contains(errs, "\n1 on b ") || !strings.Contains(errs, "\nten                 20        0\n") {
		t.Errorf("status %d\n%s", status, errs)
	}
	text, err := os.ReadFile(trace)
	if err != nil || !strings.Contains(string(text), `"rank 1 on b"`) || strings.Contains(string(text), `"clock_error_ns":0,`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "job.svg")); err != nil {
		t.Error(err)
	}
}

// TestTop: top shows the ranks of a job that runs, and what they wait for; with several jobs it lists them.
func TestTop(t *testing.T) {
	job := start(t, command(t, "idle", "-n", "2", "--stats", self(t)))
	job.await(t, "ready", 2)
	pid := strconv.Itoa(job.Process.Pid)
	status, out, errs := output(t, "", "top", "--once", "--interval", "100ms", pid)
	if status != 0 || !strings.Contains(out, ": 2 ranks on 1 host, ") || strings.Count(out, "waits for WaitUntil") != 2 || !strings.Contains(out, " %") || errs != "" {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	other := start(t, command(t, "idle", "-n", "1", "--goroutines", self(t)))
	other.await(t, "ready", 1)
	status, out, errs = output(t, "", "top", "--once")
	if status != 0 || !strings.Contains(out, "\n"+pid+" ") || !strings.Contains(out, "several jobs run") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	status, out, errs = output(t, "", "top", "1")
	if status != 1 || out != "" || !strings.Contains(errs, "process 1 has no job") {
		t.Errorf("of another process: status %d\n%s%s", status, out, errs)
	}
	seen := start(t, command(t, "", "top", "--interval", "100ms", "--json", pid))
	if !seen.lines.Scan() || !strings.HasPrefix(seen.lines.Text(), `{"Process":`+pid) {
		t.Errorf("as JSON: %s", seen.lines.Text())
	}
	job.Process.Signal(unix.SIGKILL)
	for seen.lines.Scan() {
		if seen.lines.Text() == "the job has ended" {
			return
		}
	}
	t.Error("top does not end with the job")
}
