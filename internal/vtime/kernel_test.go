package vtime_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// do is a target that calls a function.
type do func()

func (f do) Fire(_, _ uint64) { f() }

// note is a target that records when it fired and with what.
type note struct {
	k   *vtime.Kernel
	log []string
}

func (n *note) Fire(a, b uint64) {
	n.log = append(n.log, fmt.Sprintf("%v %d %d", n.k.Now(), a, b))
}

// run runs a kernel that must end well.
func run(t *testing.T, k *vtime.Kernel) {
	t.Helper()
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
}

func wantLog(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("log:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// mustPanic calls f, which must panic with a text that contains want.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic: %q, want %q in it", got, want)
		}
	}()
	f()
}

func TestEventsFireInOrder(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	n := &note{k: k}
	k.At(30, n, 1, 0)
	k.At(10, n, 2, 0)
	k.At(20, do(func() {
		k.At(20, n, 3, 0) // now, after what is scheduled for now
		k.At(25, n, 4, 0)
	}), 0, 0)
	k.At(20, n, 5, 0)
	k.At(10, n, 6, 7)
	run(t, k)
	wantLog(t, n.log, "10ps 2 0", "10ps 6 7", "20ps 5 0", "20ps 3 0", "25ps 4 0", "30ps 1 0")
	if k.Events() != 7 || k.Now() != 30 {
		t.Errorf("%d events until %v, want 7 until 30ps", k.Events(), k.Now())
	}
}

func TestAtThePastPanics(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	n := &note{k: k}
	k.At(10, do(func() {
		mustPanic(t, "scheduled at 9ps, but it is already 10ps", func() { k.At(9, n, 0, 0) })
		late := vtime.Time(math.MaxInt64)
		mustPanic(t, "after the end of virtual time", func() { k.At(k.Now()+late, n, 0, 0) })
		k.At(10, n, 0, 0)
	}), 0, 0)
	run(t, k)
	wantLog(t, n.log, "10ps 0 0")
}

func TestRand(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, purpose string) (numbers [4]uint64) {
		random := vtime.New(seed).Rand(purpose)
		for i := range numbers {
			numbers[i] = random.Uint64()
		}
		return numbers
	}
	seen := map[[4]uint64]string{}
	for seed := range uint64(10) {
		for _, purpose := range []string{"", "loss", "jitter"} {
			what := fmt.Sprintf("seed %d, purpose %q", seed, purpose)
			numbers := draw(seed, purpose)
			if other, ok := seen[numbers]; ok {
				t.Errorf("%s and %s draw the same numbers", what, other)
			}
			seen[numbers] = what
			if draw(seed, purpose) != numbers {
				t.Errorf("%s draws different numbers the second time", what)
			}
		}
	}
}

func TestMisusePanics(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	p := k.Spawn("idle", func(*vtime.Proc) {})
	mustPanic(t, "only its own body may wait", p.Sync)
	k.Spawn("other", func(o *vtime.Proc) {
		mustPanic(t, `Park of proc "idle" called by an event or another proc`, func() { p.Park(1) })
		mustPanic(t, "negative poll period", func() { o.Park(-1) })
		mustPanic(t, "negative time charged", func() { o.Charge(-1) })
		mustPanic(t, "spawned after Run", func() { k.Spawn("late", nil) })
	})
	run(t, k)
	mustPanic(t, "Run called twice", func() { _ = k.Run() })
}

// TestNoAllocation covers an event, a switch between procs, a Park and an
// arrival that is put off, once the tables have grown.
func TestNoAllocation(t *testing.T) {
	k := vtime.New(1)
	var echo, main *vtime.Proc
	stop := false
	echo = k.Spawn("echo", func(p *vtime.Proc) {
		for !stop {
			p.Park(3)
			main.Arrive()
		}
	})
	main = k.Spawn("main", func(p *vtime.Proc) {
		p.Charge(vtime.Nanosecond)
		p.Sync() // echo has parked
		allocs := testing.AllocsPerRun(100, func() {
			k.At(p.Now()+10, wake{echo}, 0, 0)
			p.SetWaiting("echo")
			p.Park(7)
			p.Charge(10)
			echo.Arrive()
			p.Park(0)
			p.Charge(5)
			p.Sync()
		})
		if allocs != 0 {
			t.Errorf("%v allocations for each round", allocs)
		}
		stop = true
		echo.Arrive()
	})
	run(t, k)
}

// wake is the event of an arrival.
type wake struct{ p *vtime.Proc }

func (w wake) Fire(_, _ uint64) { w.p.Arrive() }

// TestLastSetUp wants the time of the latest call, and 0 before there was one.
func TestLastSetUp(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	if at := k.LastSetUp(); at != 0 {
		t.Errorf("nothing was set up, at %v", at)
	}
	for _, at := range []vtime.Time{5, 3} {
		k.At(at, setUp{k}, 0, 0)
	}
	if err := k.Run(); err != nil || k.LastSetUp() != 5 {
		t.Errorf("last set up at %v, %v", k.LastSetUp(), err)
	}
}

// setUp is a model that sets something up.
type setUp struct{ *vtime.Kernel }

// Fire implements vtime.Target.
func (s setUp) Fire(_, _ uint64) { s.SetUp() }
