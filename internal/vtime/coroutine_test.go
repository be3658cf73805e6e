package vtime

import (
	"slices"
	"testing"
)

// TestAnyGoroutineYields has goroutines sleep on coroutines that they were not made with, and
// end while others than their makers sleep there: what the documentation of package iter
// neither promises nor forbids, and the kernel stands on.
func TestAnyGoroutineYields(t *testing.T) {
	var order []string
	ran := func(who string) { order = append(order, who) }
	var x, y coroutine
	y.start(func() {
		ran("y")
		x.swap() // wakes the test
		ran("y")
	}) // wakes the test, which sleeps on y
	x.start(func() {
		ran("x")
		y.swap() // starts y
		ran("x")
		x.swap() // wakes y
		ran("x")
	}) // wakes the test, which sleeps on x
	x.swap()
	ran("test")
	y.swap() // wakes x
	ran("test")
	x.swap()
	ran("test")
	if want := []string{"x", "y", "test", "x", "y", "test", "x", "test"}; !slices.Equal(order, want) {
		t.Errorf("ran %v, want %v", order, want)
	}
}

// TestAfterwards has the caller of Run close what the job has left, which may tell procs.
func TestAfterwards(t *testing.T) {
	k := New(1)
	var procs []*Proc
	for range 3 {
		procs = append(procs, k.Spawn("proc", func(p *Proc) {
			defer p.Charge(5)
			p.Park(1)
		}))
	}
	k.At(1, unwinder{k}, 0, 0)
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		p.Arrive()
	}
	k.At(k.Now(), unwinder{k}, 0, 0)
}

// unwinder is an event that ends the run.
type unwinder struct{ k *Kernel }

func (u unwinder) Fire(_, _ uint64) { u.k.Unwind(nil) }
