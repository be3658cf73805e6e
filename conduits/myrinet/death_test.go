package myrinet_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// deaths are jobs of four ranks in which one ends in a flood. With two ranks on a host, rank 2 has the NIC of its host, and rank 3 has not.
var deaths = []*coretest.Case{
	{Name: "death/kill-nic", Rule: "the death of the process that has a host's NIC ends the job", Body: func(t *coretest.T) error { return flood(t, 2, kill) }, Want: ends(core.StatusLost, "rank 2 was killed")},
	{Name: "death/kill-neighbour", Rule: "the death of a rank whose NIC another process has ends the job", Body: func(t *coretest.T) error { return flood(t, 3, kill) }, Want: ends(core.StatusLost, "rank 3 was killed")},
	{Name: "death/exit-nic", Rule: "a process that exits, and takes a NIC with it, ends the job with its status", Body: func(t *coretest.T) error { return flood(t, 2, exit) }, Want: ends(5, "rank 2 exited with status 5")},
	{Name: "death/exit-neighbour", Rule: "a process that exits ends the job with its status", Body: func(t *coretest.T) error { return flood(t, 3, exit) }, Want: ends(5, "rank 3 exited with status 5")},
	{Name: "death/return", Rule: "ranks whose part is over serve the others, and so do their NICs", Body: returnEarly, Want: ends(0, "myrinet: counts (host h0, ", "myrinet: counts (host h1, ")},
}

func init() {
	for _, c := range deaths {
		c.Ranks, c.Needs = []int{4}, coretest.Processes|coretest.Kills
	}
}

func kill(t *coretest.T) {
	t.Kill(t.Rank())
	select {}
}

func exit(*coretest.T) { os.Exit(5) }

// flood has each rank send requests to all others, without an end, until one of them, which has had some hundred from each, ends in its handler. The others see the failure of the job.
func flood(t *coretest.T, victim core.Rank, end func(*coretest.T)) error {
	fmt.Printf("process %d\n", os.Getpid())
	had := 0
	ep, err := t.Attach(core.AttachSpec{Segment: "64KB", Handlers: []core.HandlerEntry{{Index: 128, Func: func(*core.Token, []uint32, []byte) {
		if had++; t.Rank() == victim && had == 300 {
			end(t)
		}
	}}}})
	for err == nil {
		err = t.Others(func(r core.Rank) error {
			return errors.Join(ep.RequestMedium(r, 128, make([]byte, 1000)), ep.RequestLong(r, 128, make([]byte, 5000), 0))
		})
	}
	return err
}

// returnEarly has all ranks but the first return at once. The first writes to all of them, reads what it has written, and has its requests answered.
func returnEarly(t *coretest.T) error {
	fmt.Printf("process %d\n", os.Getpid())
	told := 0
	ep, err := attach(t.Job, &told)
	if err != nil || t.Rank() != 0 {
		return err
	}
	return t.Others(func(r core.Rank) error {
		for i := range 100 {
			var wrote, read core.Completion
			in, out, asked := pattern(5000+i), make([]byte, 5000+i), told
			if _, err := ep.PutNative(r, uint64(i), in, nil, &wrote); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return wrote.Pending() == 0 }); err != nil {
				return err
			}
			if _, err := ep.GetNative(out, r, uint64(i), &read); err != nil {
				return err
			}
			if err := errors.Join(ep.RequestShort(r, ask, uint32(i)), ep.WaitUntil(func() bool { return read.Pending() == 0 && told > asked })); err != nil {
				return err
			}
			if string(in) != string(out) {
				return fmt.Errorf("%d B that rank %d has returned are not what was written", len(out), r)
			}
		}
		return nil
	})
}

// pattern returns n bytes that differ from place to place, and from n to n.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(n + i + i>>8)
	}
	return b
}

// ends wants a status, and soon; what the launcher says of it; and no process nor descriptor of shared memory left.
func ends(status int, says ...string) func(*coretest.Outcome) error {
	return func(o *coretest.Outcome) error {
		errs := []error{o.Says(says...)}
		if o.Status != status {
			errs = append(errs, fmt.Errorf("status %d, want %d", o.Status, status))
		}
		if o.Elapsed > 20*time.Second {
			errs = append(errs, fmt.Errorf("the job has ended after %v", o.Elapsed))
		}
		processes := 0
		for line := range strings.Lines(o.Output) {
			var pid int
			if _, err := fmt.Sscanf(line, "process %d", &pid); err != nil {
				continue
			}
			processes++
			if err := unix.Kill(pid, 0); err != unix.ESRCH {
				errs = append(errs, fmt.Errorf("process %d lives on: %v", pid, err))
			}
		}
		if processes != 4 {
			errs = append(errs, fmt.Errorf("%d ranks have said which process they are", processes))
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			errs = append(errs, err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, "/memfd:aqueduct") {
				errs = append(errs, fmt.Errorf("the launcher has kept %s", to))
			}
		}
		return errors.Join(errs...)
	}
}

// TestDeath has ranks end in the middle of a flood, the NIC of their host with them or not.
func TestDeath(t *testing.T) {
	for _, c := range deaths {
		t.Run(c.Name, func(t *testing.T) {
			coretest.RunCase(t, spawntest.Processes, core.Config{
				Conduit: "myrinet", Profile: "live", Sleep: 1, Settings: map[string]string{"per-host": "2", "topology": "mesh:2x2", "counts": "on"},
			}, c)
		})
	}
}
