package bench_test

import (
	"io"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
)

func TestPinSelf(t *testing.T) {
	all, err := bench.CPUs()
	if err != nil || len(all) == 0 {
		t.Fatalf("CPUs: %v, %v", all, err)
	}
	defer bench.Pin(0, all...)
	last := all[len(all)-1]
	if err := bench.Pin(0, last); err != nil {
		t.Fatal(err)
	}
	// Goroutines locked to threads of their own see it too.
	const threads = 4
	seen := make(chan []int)
	for range threads {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cpus, _ := bench.CPUs()
			seen <- cpus
		}()
	}
	for range threads {
		if got := <-seen; !slices.Equal(got, []int{last}) {
			t.Errorf("a thread may use CPUs %v, want %d", got, last)
		}
	}
	if err := bench.Pin(0, all...); err != nil {
		t.Fatal(err)
	}
	if got, _ := bench.CPUs(); !slices.Equal(got, all) {
		t.Errorf("after unpinning CPUs %v, want %v", got, all)
	}
}

func TestPinOther(t *testing.T) {
	all, err := bench.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.(io.Closer).Close()
	if err := bench.Pin(cmd.Process.Pid, all[0]); err != nil {
		t.Fatal(err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(cmd.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
	if set.Count() != 1 || !set.IsSet(all[0]) {
		t.Errorf("the process may use %d CPUs", set.Count())
	}
}

func TestPinRefused(t *testing.T) {
	for _, cpu := range []int{-1, 1024, 1023} {
		if err := bench.Pin(0, cpu); err == nil {
			t.Errorf("pinned to CPU %d", cpu)
		}
	}
	if err := bench.Pin(1<<30, 0); err == nil {
		t.Error("pinned a process that does not exist")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		cpus []int
		n    int
		want []int
	}{
		{[]int{0, 2}, 5, []int{0, 2, 0, 2, 0}},
		{[]int{0, 2, 3}, 2, []int{0, 2}},
		{[]int{1}, 0, []int{}},
		{nil, 3, nil},
	} {
		if got := bench.Spread(c.cpus, c.n); !slices.Equal(got, c.want) {
			t.Errorf("Spread(%v, %d) = %v, want %v", c.cpus, c.n, got, c.want)
		}
	}
}

func TestPairs(t *testing.T) {
	got := bench.Pairs([]int{0, 1, 2})
	if len(got) != 3 {
		t.Errorf("pairs of three CPUs: %v", got)
	}
	if got := bench.Pairs([]int{0}); len(got) != 0 {
		t.Errorf("pairs of one CPU: %v", got)
	}
}
