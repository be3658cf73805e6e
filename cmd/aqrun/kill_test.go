package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// deadline is how long the remains of a job are waited for. They are gone in a fraction of
// a second; what it took is logged.
const deadline = time.Minute

// traffic has every rank send requests of all categories to every other one, for ever, with a rest after each round. When
// a rank has heard from all, it writes its process id.
func traffic(rest time.Duration) {
	const onMessage, onAnswer = 128, 129
	aqueduct.Run(func(job *core.Job) error {
		heard := make([]bool, job.Size())
		silent := job.Size()
		ep, err := job.Attach(core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
			{Index: onMessage, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				check(tok.ReplyShort(onAnswer))
			}},
			{Index: onAnswer, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				if src := tok.Src(); !heard[src] {
					heard[src] = true
					if silent--; silent == 0 {
						fmt.Println("ready", os.Getpid())
					}
				}
			}},
		}})
		if err != nil {
			return err
		}
		data := make([]byte, 900)
		for {
			for r := range core.Rank(job.Size()) {
				if err := ep.RequestShort(r, onMessage); err != nil {
					return err
				}
				if err := ep.RequestMedium(r, onMessage, data); err != nil {
					return err
				}
				if err := ep.RequestLong(r, onMessage, data, 4096*uint64(job.Rank())); err != nil {
					return err
				}
			}
			time.Sleep(rest)
		}
	})
}

// process is a process of a job under test: a descriptor that becomes readable at its end.
type process struct{ pid, fd int }

func watch(t *testing.T, pid int) process {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("pidfd_open(%d): %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return process{pid, fd}
}

// endsBy waits for the end of the process.
func (p process) endsBy(limit time.Time) bool {
	for {
		left := max(0, time.Until(limit).Milliseconds())
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left))
		if err != unix.EINTR {
			return n == 1
		}
	}
}

// Whichever process of a job with traffic is killed, nothing of the job is left: no process,
// no shared memory, no socket.
func TestKillLeavesNothing(t *testing.T) {
	for _, profile := range []string{"live", "paper"} {
		for _, victim := range []string{"rank 0", "rank 2", "aqrun"} {
			t.Run(profile+"/"+victim, func(t *testing.T) {
				dir := t.TempDir()
				t.Setenv("TMPDIR", dir)
				others := entries(t, "/dev/shm")
				const ranks = 4
				cmd := command(t, "traffic", "-n", strconv.Itoa(ranks), "--conduit", "sci", "--profile", profile, self(t))
				var errs bytes.Buffer
				cmd.Stderr = &errs
				run := start(t, cmd)
				launcher := watch(t, cmd.Process.Pid)
				var job []process
				for _, line := range run.await(t, "ready ", ranks) {
					pid, err := strconv.Atoi(strings.TrimPrefix(line, "ready "))
					if err != nil {
						t.Fatalf("a rank says %q", line)
					}
					job = append(job, watch(t, pid))
				}
				mine := sharedMemory(t, job[0].pid)
				if len(mine) != 2*ranks { // of each an arena for messages and one for its segment
					t.Fatalf("rank has %d objects of shared memory, want %d", len(mine), 2*ranks)
				}

				dies := launcher
				if victim != "aqrun" {
					dies = job[victim[len("rank ")]-'0']
				}
				began := time.Now()
				if err := unix.PidfdSendSignal(dies.fd, unix.SIGKILL, nil, 0); err != nil {
					t.Fatal(err)
				}
				for _, p := range append(job, launcher) {
					if !p.endsBy(began.Add(deadline)) {
						t.Errorf("process %d lives on\n%s", p.pid, &errs)
					}
				}
				t.Logf("all ended after %v", time.Since(began))
				if status := run.status(); victim != "aqrun" && status != 128+int(unix.SIGKILL) {
					t.Errorf("aqrun exits with %d\n%s", status, &errs)
				}
				for pid := range entries(t, "/proc") {
					n, err := strconv.Atoi(pid)
					if err != nil {
						continue
					}
					for object := range sharedMemory(t, n) {
						if mine[object] {
							t.Errorf("process %d still holds %s", n, object)
						}
					}
				}
				for name := range entries(t, "/dev/shm") {
					// Jobs over MPI that run beside this one have a directory there, and tests of spawner more.
					if strings.Contains(name, "aqueduct") && !strings.HasPrefix(name, "aqueduct-job") && !others[name] {
						t.Errorf("/dev/shm/%s is left", name)
					}
				}
				for name := range entries(t, dir) {
					t.Errorf("%s is left", filepath.Join(dir, name))
				}
			})
		}
	}
}

// guardOf returns the guard of an aqrun that runs.
func guardOf(t *testing.T, aqrun int) process {
	t.Helper()
	for pid := range entries(t, "/proc") {
		n, err := strconv.Atoi(pid)
		if err != nil {
			continue
		}
		name, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		status, _ := os.ReadFile("/proc/" + pid + "/status")
		if strings.HasPrefix(string(name), "aqueduct-guard\x00") && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", aqrun)) {
			return watch(t, n)
		}
	}
	t.Fatalf("aqrun %d has no guard", aqrun)
	return process{}
}

// What ranks have started goes with them, even if aqrun has no time to see to it; so does
// the guard that sees to it then.
func TestKillLeavesNoHelpers(t *testing.T) {
	for _, helper := range []string{"sleep 1000", "setsid sleep 1000"} {
		for _, mode := range []string{"--verbose", "--goroutines"} {
			ranks := 2
			script := helper + ` & echo helper $!; wait`
			if mode == "--goroutines" {
				ranks = 1
			}
			s := start(t, command(t, "", "-n", "2", mode, "sh", "-c", script))
			var left []process
			for _, line := range s.await(t, "helper ", ranks) {
				pid, err := strconv.Atoi(strings.TrimPrefix(line, "helper "))
				if err != nil {
					t.Fatalf("a rank says %q", line)
				}
				left = append(left, watch(t, pid))
			}
			left = append(left, guardOf(t, s.Process.Pid))
			s.Process.Kill()
			limit := time.Now().Add(deadline)
			for _, p := range left {
				if !p.endsBy(limit) {
					t.Errorf("%s, %s: process %d lives on", mode, helper, p.pid)
					unix.Kill(p.pid, unix.SIGKILL)
				}
			}
		}
	}
}

// The guard is gone when aqrun is; and should it be killed, the job does not need it.
func TestGuardEndsWithTheJob(t *testing.T) {
	for _, killed := range []bool{false, true} {
		s := start(t, command(t, "signals", "-n", "2", self(t)))
		s.await(t, "ready", 2)
		guard := guardOf(t, s.Process.Pid)
		if killed {
			unix.PidfdSendSignal(guard.fd, unix.SIGKILL, nil, 0)
			guard.endsBy(time.Now().Add(deadline))
		}
		s.Process.Signal(unix.SIGUSR2)
		if status := s.status(); status != 0 {
			t.Errorf("guard killed: %v: status %d", killed, status)
		}
		if !guard.endsBy(time.Now()) {
			t.Error("the guard lives on")
		}
	}
}

// entries returns what a directory holds; nothing, if there is none.
func entries(t *testing.T, dir string) map[string]bool {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	set := make(map[string]bool)
	for _, e := range list {
		set[e.Name()] = true
	}
	return set
}

// sharedMemory returns the numbers of the memory files of this project that a process has
// open or mapped; nothing of a process that is gone or another user's.
func sharedMemory(t *testing.T, pid int) map[string]bool {
	t.Helper()
	objects := make(map[string]bool)
	root := fmt.Sprintf("/proc/%d", pid)
	maps, _ := os.ReadFile(root + "/maps")
	for line := range strings.Lines(string(maps)) {
		// proc(5): range, permissions, offset, device, inode, path
		if f := strings.Fields(line); len(f) >= 6 && strings.HasPrefix(f[5], "/memfd:aqueduct") {
			objects["memory file "+f[4]] = true
		}
	}
	fds, _ := os.ReadDir(root + "/fd")
	for _, fd := range fds {
		name := filepath.Join(root, "fd", fd.Name())
		to, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(to, "/memfd:aqueduct") {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil {
			objects[fmt.Sprint("memory file ", st.Ino)] = true
		}
	}
	return objects
}
