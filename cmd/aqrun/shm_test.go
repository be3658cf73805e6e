package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// fill has every rank write all its segment.
func fill() {
	aqueduct.Run(func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{Segment: "16MB"})
		if err != nil {
			return err
		}
		own := ep.Segment()
		for i := range own {
			own[i] = byte(i) | 1
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		fmt.Println("filled", job.Config().Conduit)
		return nil
	})
}

// Segments take nothing of /dev/shm: a job whose segments are many times as large as that runs, and none of its ranks is killed by a
// SIGBUS.
func TestSegmentsBesideSmallShm(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm").CombinedOutput(); err != nil {
		t.Skipf("needs root that may mount: %s%v", out, err)
	}
	for conduit, where := range map[string][]string{
		"sci":   {"-n", "4", "--conduit", "sci"},
		"nbrhd": {"--launcher", "local", "--host", "alpha:2,beta:2"},
	} {
		args := append([]string{"-m", "sh", "-c", `mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"`, "sh", aqrun, "--timeout", "1m"}, where...)
		cmd := exec.Command("unshare", append(args, self(t))...)
		cmd.Env = append(os.Environ(), roleEnv+"=fill")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "filled "+conduit+"\n") != 4 {
			t.Errorf("%q: %v\n%s", where, err, out)
		}
	}
}
