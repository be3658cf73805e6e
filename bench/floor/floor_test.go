package floor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench/floor"
)

// cpus returns n different CPUs this process may use, or skips the test.
func cpus(t *testing.T, n int) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var list []int
	for cpu := range 1024 {
		if set.IsSet(cpu) && len(list) < n {
			list = append(list, cpu)
		}
	}
	if len(list) < n {
		t.Skipf("needs %d CPUs, may use %v", n, list)
	}
	return list
}

func start(t *testing.T, kind floor.Kind, cpus []int, args ...int) *floor.Floor {
	t.Helper()
	f, err := floor.Start(t.Context(), kind, cpus, args...)
	if errors.Is(err, floor.ErrNoCompiler) || errors.Is(err, floor.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestSample(t *testing.T) {
	two := cpus(t, 2)
	for _, c := range []struct {
		kind     floor.Kind
		cpus     []int
		args     []int
		iters    int
		variants string
	}{
		{floor.PingPong, two, nil, 2000, "flag64 flag128 flag4096 reclaim slot64 slot128 rotate"},
		{floor.Handoff, two, nil, 2000, "word line"},
		{floor.Ring, two, nil, 10000, "128 128own2 128own4 64 64own2"},
		{floor.Copy, two, []int{1}, 1000, "2x64k 256k 1m 4m 8m"},
		{floor.Copy, two, []int{100_001}, 100, "2x64k 256k 1m 4m 8m"},
		{floor.Copy, two, []int{floor.MaxSize}, 3, "2x64k 256k 1m 4m 8m"},
		{floor.Echo, two, []int{1}, 1000, "apart rotate front"},
		{floor.Echo, two, []int{floor.MaxSize}, 3, "apart rotate front"},
		{floor.Memcpy, two[:1], []int{65536}, 100, "libc shift string vectors"},
		{floor.Fetch, two[:1], []int{65536}, 100, "libc shift string vectors"},
		{floor.FetchAdd, two[:1], nil, 1000, "seq relaxed"},
		{floor.Barrier, two[:1], nil, 100, "yield poll64 poll256 pause4 pause20"},
		{floor.Barrier, slices.Repeat(two, 5)[:9], nil, 100, "yield poll64 poll256 pause4 pause20"},
		{floor.UDPTrip, two, []int{8, 8}, 200, "connected addressed"},
		{floor.UDPTrip, two, []int{100_001, 1}, 20, "connected addressed"},
		{floor.UDPTrip, two, []int{1, floor.MaxSize}, 3, "connected addressed"},
		{floor.UDPShared, two, []int{8, 8}, 100, "addressed"},
		{floor.UDPSleep, two, []int{8, 8}, 100, "connected addressed"},
		{floor.UDPSleep, two, []int{1, floor.MaxSize}, 3, "connected addressed"},
		{floor.UDPStream, two, []int{1}, 1000, "connected addressed"},
		{floor.UDPStream, two, []int{8192}, 300, "connected addressed"},
		{floor.UDPStream, two, []int{floor.MaxSegment}, 50, "connected addressed"},
		{floor.UDPStream, two, []int{floor.MaxSize}, 3, "connected addressed"},
		{floor.UDPSegments, two, []int{1}, 10_001, "64 32"},
		{floor.UDPSegments, two, []int{1400}, 10_001, "64 32"},
		{floor.UDPSegments, two, []int{20_479}, 101, "64 32"},
		{floor.UDPSegments, two, []int{floor.MaxSegment}, 50, "64 32"},
		{floor.UDPBarrier, two[:1], nil, 100, "yield poll20"},
		{floor.UDPBarrier, slices.Repeat(two, 5)[:9], nil, 20, "yield poll20"},
		{floor.TCPTrip, two, []int{8, 100_001}, 100, "spin"},
		{floor.TCPStream, two, []int{1}, 1000, "spin block"},
		{floor.TCPStream, two, []int{100_001}, 50, "spin block"},
		{floor.TCPStream, two, []int{floor.MaxSize}, 3, "spin block"},
	} {
		t.Run(fmt.Sprint(c.kind, c.args, len(c.cpus)), func(t *testing.T) {
			f := start(t, c.kind, c.cpus, c.args...)
			for range 2 {
				r, err := f.Sample(c.iters)
				if err != nil {
					t.Fatal(err)
				}
				check(t, r, c.variants)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func check(t *testing.T, r floor.Result, variants string) {
	t.Helper()
	var names []string
	best := math.Inf(1)
	for _, v := range r.All {
		names = append(names, v.Name)
		best = min(best, v.Ns)
	}
	if got := strings.Join(names, " "); got != variants {
		t.Errorf("variants %q, want %q", got, variants)
	}
	if r.Ns != best || !slices.Contains(r.All, r.Variant) {
		t.Errorf("best of %v is %v", r.All, r.Variant)
	}
}

func TestMeter(t *testing.T) {
	f := start(t, floor.Memcpy, cpus(t, 1), 64)
	if ns, err := f.Meter(1000)(); err != nil || !(ns > 0) {
		t.Errorf("meter: %v, %v", ns, err)
	}
}

func TestRefused(t *testing.T) {
	two := cpus(t, 2)
	start(t, floor.PingPong, two).Close()
	for _, c := range []struct {
		kind floor.Kind
		cpus []int
		args []int
		want string
	}{
		{"juggling", two, nil, "usage: floor"},
		{floor.PingPong, two, []int{8}, "usage: floor"},
		{floor.Copy, two, nil, "usage: floor"},
		{floor.PingPong, []int{two[0], two[0]}, nil, "needs two different CPUs"},
		{floor.PingPong, two[:1], nil, "wrong list or number of CPUs"},
		{floor.Ring, nil, nil, "wrong list or number of CPUs"},
		{floor.Barrier, []int{-1}, nil, "wrong list or number of CPUs"},
		{floor.Barrier, slices.Repeat(two, 200), nil, "wrong list or number of CPUs"},
		{floor.PingPong, []int{two[0], 1023}, nil, "cannot use CPU 1023"},
		{floor.Copy, two, []int{0}, "message size must be"},
		{floor.Copy, two, []int{floor.MaxSize + 1}, "message size must be"},
		{floor.UDPTrip, two, []int{8}, "usage: floor"},
		{floor.UDPTrip, two, []int{8, 0}, "message size must be"},
		{floor.UDPSegments, two, []int{floor.MaxSegment + 1}, "segment must be"},
		{floor.TCPStream, []int{two[0], two[0]}, []int{8}, "needs two different CPUs"},
	} {
		f, err := floor.Start(t.Context(), c.kind, c.cpus, c.args...)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %v, %v: error %v, want %q", c.kind, c.cpus, c.args, err, c.want)
		}
	}
}

func TestSampleRefused(t *testing.T) {
	f := start(t, floor.Memcpy, cpus(t, 1), 64)
	for _, n := range []int{0, -1, floor.MaxIters + 1} {
		if r, err := f.Sample(n); err == nil {
			t.Errorf("%d operations: %v", n, r)
		}
	}
	if _, err := f.Sample(1); err != nil {
		t.Errorf("after refusals: %v", err)
	}
	f.Close()
	if r, err := f.Sample(1); err == nil {
		t.Errorf("after Close: %v", r)
	}
}

// TestIdle checks that all processes sleep once a sample has been taken.
func TestIdle(t *testing.T) {
	f := start(t, floor.PingPong, cpus(t, 2))
	if _, err := f.Sample(1000); err != nil {
		t.Fatal(err)
	}
	pids := family(t)
	if len(pids) != 3 {
		t.Fatalf("processes %v, want three", pids)
	}
	deadline := time.Now().Add(time.Minute)
	for _, pid := range pids {
		for state(pid) != "S" {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is in state %q", pid, state(pid))
			}
			runtime.Gosched()
		}
	}
}

// TestNoOrphans checks that no process outlives its starter or any of the others.
func TestNoOrphans(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(f *floor.Floor, cancel func(), pids []int)
	}{
		{"close", func(f *floor.Floor, _ func(), _ []int) { f.Close() }},
		{"cancel", func(_ *floor.Floor, cancel func(), _ []int) { cancel() }},
		{"kill server", func(_ *floor.Floor, _ func(), pids []int) { unix.Kill(pids[0], unix.SIGKILL) }},
		{"kill worker", func(_ *floor.Floor, _ func(), pids []int) { unix.Kill(pids[1], unix.SIGKILL) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			two := cpus(t, 2)
			start(t, floor.PingPong, two).Close() // skips without a compiler
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f, err := floor.Start(ctx, floor.PingPong, two)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			pids := family(t)
			var fds []unix.PollFd
			for _, pid := range pids {
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fd)
				fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			}
			c.end(f, cancel, pids)
			for i := range fds {
				if n, err := unix.Poll(fds[i:i+1], 10_000); n != 1 {
					t.Errorf("process %d of %v is still there: %v", pids[i], pids, err)
				}
			}
		})
	}
}

// TestCancelSample checks that cancelling ends a sample that would take minutes.
func TestCancelSample(t *testing.T) {
	two := cpus(t, 2)
	start(t, floor.PingPong, two).Close() // skips without a compiler
	ctx, cancel := context.WithCancel(t.Context())
	f, err := floor.Start(ctx, floor.PingPong, two)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failed := make(chan error)
	go func() {
		_, err := f.Sample(floor.MaxIters)
		failed <- err
	}()
	cancel()
	if err := <-failed; err == nil {
		t.Error("a sample of a killed floor succeeded")
	}
}

func TestBuild(t *testing.T) {
	start(t, floor.Memcpy, cpus(t, 1), 64).Close() // skips without a compiler
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	first, err := floor.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := floor.Build(t.Context())
	if err != nil || again != first {
		t.Fatalf("second build: %q, %v; first %q", again, err, first)
	}
	if kept, err := os.Stat(again); err != nil || !os.SameFile(made, kept) {
		t.Errorf("compiled twice: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(cache, "aqueduct", "floor", "*")); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestBuildFailures(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CC", "false")
	if exe, err := floor.Build(t.Context()); err == nil || errors.Is(err, floor.ErrNoCompiler) {
		t.Errorf("a compiler that fails: %q, %v", exe, err)
	}
	t.Setenv("PATH", "")
	t.Setenv("CC", "")
	if exe, err := floor.Build(t.Context()); !errors.Is(err, floor.ErrNoCompiler) {
		t.Errorf("no compiler: %q, %v", exe, err)
	}
}

// family returns the floor processes below this one, each parent before its children.
func family(t *testing.T) []int {
	t.Helper()
	pids := []int{os.Getpid()}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		if i == 0 && len(tasks) == 0 {
			t.Skip("this kernel does not list child processes (CONFIG_PROC_CHILDREN)")
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range strings.Fields(string(text)) {
				var pid int
				fmt.Sscan(w, &pid)
				pids = append(pids, pid)
			}
		}
	}
	return pids[1:]
}

// state returns the scheduler's letter for a process: R running, S sleeping.
func state(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	return after[:min(1, len(after))]
}

// TestCommand runs another program that answers as the floors do, and one that does not.
func TestCommand(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	f, err := floor.Command(t.Context(), "script", sh, "-c", `echo ready; while read run n; do echo ok a=$n b=7.5; done`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Sample(9)
	if err != nil || r.Ns != 7.5 || r.Name != "b" || len(r.All) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for status, unsupported := range map[int]bool{1: false, 2: false, 3: true} {
		f, err := floor.Command(t.Context(), "broken", sh, "-c", fmt.Sprintf("echo out of order >&2; exit %d", status))
		if err == nil || !strings.Contains(err.Error(), "broken: out of order") || errors.Is(err, floor.ErrUnsupported) != unsupported {
			t.Errorf("status %d: %v, error %v", status, f, err)
		}
	}
}

// TestCompile makes a program of sources of the test, which a mistake in them prevents.
func TestCompile(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	src := fstest.MapFS{"main.c": {Data: []byte("int main(void) { return 7; }")}}
	exe, err := floor.Compile(t.Context(), []string{cc}, src)
	if err != nil {
		t.Fatal(err)
	}
	var status *exec.ExitError
	if err := exec.Command(exe).Run(); !errors.As(err, &status) || status.ExitCode() != 7 {
		t.Errorf("it ended with %v, want status 7", err)
	}
	if again, err := floor.Compile(t.Context(), []string{cc}, src); err != nil || again != exe {
		t.Errorf("again: %s, %v; want %s", again, err, exe)
	}
	src["main.c"].Data = []byte("int main(void) { return seven; }")
	if exe, err := floor.Compile(t.Context(), []string{cc}, src); err == nil || !strings.Contains(err.Error(), "seven") {
		t.Errorf("%s, error %v", exe, err)
	}
}

// TestCloseBusy closes a program whose child holds on to its standard error, as on a machine that is too busy to end it.
func TestCloseBusy(t *testing.T) {
	f, err := floor.Command(t.Context(), "busy", "sh", "-c", "echo ready; sleep 60 >/dev/null & read line; exit 0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("a child that ends later is a failure: %v", err)
	}
}
