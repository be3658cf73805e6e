package vtime_test

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// box is a mailbox that events fill and one proc looks into.
type box struct {
	proc *vtime.Proc
	got  uint64
	spin bool // never park
}

// Fire adds a to what has come.
func (x *box) Fire(a, _ uint64) {
	x.got += a
	x.proc.Arrive()
}

// await polls, each poll taking cost, until want has come: the loop of the
// package documentation.
func (x *box) await(p *vtime.Proc, want uint64, cost vtime.Time) {
	for {
		seen := p.Arrivals
		t0 := p.Now()
		p.Sync()
		got := x.got
		p.Charge(cost)
		if got >= want {
			return
		}
		if p.Arrivals == seen && !x.spin {
			p.Park(p.Now() - t0)
		}
	}
}
