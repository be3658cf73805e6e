package vtime_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func TestNilProcChargesNothing(t *testing.T) {
	var p *vtime.Proc
	p.Charge(vtime.Second)
	p.Sync()
}

func TestProcTime(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	n := &note{k: k}
	expect := func(when string, p *vtime.Proc, own, kernel vtime.Time, fired int) {
		t.Helper()
		if p.Now() != own || k.Now() != kernel || len(n.log) != fired {
			t.Errorf("%s: own time %v, kernel at %v, %d events fired; want %v, %v, %d",
				when, p.Now(), k.Now(), len(n.log), own, kernel, fired)
		}
	}
	k.At(5, n, 0, 0)
	k.At(10, n, 0, 0)
	k.At(11, n, 0, 0)
	p := k.Spawn("p", func(p *vtime.Proc) {
		expect("at first", p, 0, 0, 0)
		p.Charge(4)
		p.Charge(6)
		expect("after Charge", p, 10, 0, 0)
		k.At(10, do(func() { k.At(10, n, 0, 0) }), 0, 0)
		p.Sync()
		expect("after Sync", p, 10, 10, 3)
		p.Sync()
		expect("after a second Sync", p, 10, 10, 3)
		p.Charge(90)
	})
	run(t, k)
	expect("at the end", p, 100, 100, 4)
	if p.Kernel() != k || p.Name() != "p" {
		t.Errorf("proc %q belongs to the wrong kernel or has the wrong name", p.Name())
	}
}

// TestEndOfTime goes beyond the last point in time in every way that there is.
func TestEndOfTime(t *testing.T) {
	t.Parallel()
	const last = vtime.Time(math.MaxInt64)
	for name, body := range map[string]func(*vtime.Proc){
		"charged at once":    func(p *vtime.Proc) { p.Charge(last); p.Charge(1) },
		"charged, then Sync": func(p *vtime.Proc) { p.Charge(2); p.Sync(); p.Charge(last); p.Sync() },
		"charged, then Park": func(p *vtime.Proc) { p.Charge(2); p.Sync(); p.Charge(last); p.Park(1) },
		"poll grid": func(p *vtime.Proc) {
			p.Kernel().At(last, do(p.Arrive), 0, 0)
			p.Charge(2)
			p.Park(last - 3)
		},
	} {
		k := vtime.New(1)
		k.Spawn("p", body)
		err := k.Run()
		if p := new(vtime.PanicError); !errors.As(err, &p) || !strings.Contains(err.Error(), "of virtual time") && !strings.Contains(err.Error(), "is over") {
			t.Errorf("%s: %v", name, err)
		}
	}
	k := vtime.New(1)
	k.Spawn("p", func(p *vtime.Proc) {
		p.Charge(last)
		p.Sync()
	})
	if err := k.Run(); err != nil || k.Now() != last {
		t.Errorf("until the last point in time: %v at %v", err, k.Now())
	}
}

// TestProcsTieByNumber has three procs that are due at the same times, in
// spite of having come there in different ways.
func TestProcsTieByNumber(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	var log []string
	say := func(p *vtime.Proc) { log = append(log, fmt.Sprint(k.Now(), " ", p.Name())) }
	parked := k.Spawn("parked", func(p *vtime.Proc) {
		say(p)
		p.Park(10)
		say(p)
	})
	k.Spawn("late", func(p *vtime.Proc) {
		say(p)
		p.Charge(10)
		p.Sync()
		say(p)
	})
	k.Spawn("early", func(p *vtime.Proc) {
		say(p)
		for range 2 {
			p.Charge(5)
			p.Sync()
			say(p)
		}
	})
	k.At(10, do(func() { log = append(log, "10ps event") }), 0, 0)
	k.At(10, wake{parked}, 0, 0)
	run(t, k)
	wantLog(t, log, "0s parked", "0s late", "0s early", "5ps early",
		"10ps event", "10ps parked", "10ps late", "10ps early")
}

func TestParkWakesOnGrid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ parked, period, arrival, want vtime.Time }{
		{parked: 100, period: 30, arrival: 40, want: 100},
		{parked: 100, period: 30, arrival: 100, want: 100},
		{parked: 100, period: 30, arrival: 101, want: 130},
		{parked: 100, period: 30, arrival: 130, want: 130},
		{parked: 100, period: 30, arrival: 131, want: 160},
		{parked: 100, period: 30, arrival: 1e12 + 100, want: 1e12 + 120},
		{parked: 100, period: 0, arrival: 40, want: 100},
		{parked: 100, period: 0, arrival: 117, want: 117},
	} {
		k := vtime.New(1)
		var woke vtime.Time
		p := k.Spawn("p", func(p *vtime.Proc) {
			p.Charge(c.parked)
			p.Park(c.period)
			woke = p.Now()
		})
		k.At(c.arrival, wake{p}, 0, 0)
		k.At(c.arrival+1, wake{p}, 0, 0) // changes nothing
		run(t, k)
		if woke != c.want {
			t.Errorf("%+v: woke at %v", c, woke)
		}
	}
}

// TestArriveFromProcAhead has a proc call Arrive when it is ahead of the
// kernel: the other one must neither wake nor count the arrival before.
func TestArriveFromProcAhead(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	var woke []vtime.Time
	sleeper := k.Spawn("sleeper", func(p *vtime.Proc) {
		for range 2 {
			p.Park(0)
			woke = append(woke, p.Now())
		}
	})
	k.Spawn("caller", func(p *vtime.Proc) {
		p.Charge(50)
		sleeper.Arrive()
		k.At(20, wake{sleeper}, 0, 0)
		if sleeper.Arrivals != 0 {
			t.Errorf("arrival counted %v before its time", p.Now()-k.Now())
		}
		p.Arrive()
		if p.Arrivals != 1 {
			t.Errorf("caller counts %d arrivals of its own, want 1", p.Arrivals)
		}
	})
	run(t, k)
	if len(woke) != 2 || woke[0] != 20 || woke[1] != 50 || sleeper.Arrivals != 2 {
		t.Errorf("woke at %v after %d arrivals, want 20ps and 50ps after 2", woke, sleeper.Arrivals)
	}
}

// workload runs procs that exchange messages along a random permutation each
// round, and returns all that happened. Its times are few, so that ties abound.
func workload(t *testing.T, seed uint64, spin bool) (log string, events uint64) {
	const procs, rounds = 8, 30
	k := vtime.New(seed)
	plan := k.Rand("plan")
	var to [rounds][]int
	for r := range to {
		to[r] = plan.Perm(procs)
	}
	var boxes [procs]box
	var text strings.Builder
	for i := range procs {
		mine := &boxes[i]
		mine.spin = spin
		mine.proc = k.Spawn(fmt.Sprint("rank ", i), func(p *vtime.Proc) {
			random := k.Rand(p.Name())
			for r := range rounds {
				p.Charge(vtime.Time(random.IntN(4)))
				delay := vtime.Time(1 + random.IntN(3))
				if r%10 == 9 {
					delay += 300
				}
				k.At(p.Now()+delay, &boxes[to[r][i]], 1, 0)
				mine.await(p, uint64(r+1), vtime.Time(1+random.IntN(3)))
				fmt.Fprintln(&text, p.Now(), k.Now(), p.Name(), "round", r, "got", mine.got, p.Arrivals)
			}
		})
	}
	run(t, k)
	return text.String(), k.Events()
}

func TestDeterminism(t *testing.T) {
	t.Parallel()
	logs := map[string]uint64{}
	for seed := range uint64(20) {
		first, events := workload(t, seed, false)
		again, eventsAgain := workload(t, seed, false)
		if first != again || events != eventsAgain {
			t.Errorf("seed %d: two runs differ:\n%s\n%s", seed, first, again)
		}
		logs[first] = seed
	}
	if len(logs) != 20 {
		t.Errorf("20 seeds gave only %d different runs", len(logs))
	}
}

func TestParkEqualsSpin(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		parked, few := workload(t, seed, false)
		spun, many := workload(t, seed, true)
		if parked != spun {
			t.Fatalf("seed %d: parked:\n%s\nspun:\n%s", seed, parked, spun)
		}
		if few*2 > many {
			t.Errorf("seed %d: %d events when parking, %d when spinning", seed, few, many)
		}
	}
}

// TestArrivalDuringPoll has a message arrive while the poll, which has already
// looked, is in a second Sync. Who compares Arrivals gets it; who parks without
// comparing has lost the wake-up.
func TestArrivalDuringPoll(t *testing.T) {
	t.Parallel()
	for _, compare := range []bool{true, false} {
		k := vtime.New(1)
		x := &box{}
		x.proc = k.Spawn("poller", func(p *vtime.Proc) {
			for {
				seen := p.Arrivals
				t0 := p.Now()
				p.Sync()
				got := x.got
				p.Charge(10)
				p.Sync()
				if got > 0 {
					return
				}
				if !compare || p.Arrivals == seen {
					p.Park(p.Now() - t0)
				}
			}
		})
		k.At(5, x, 1, 0)
		err := k.Run()
		var deadlock *vtime.DeadlockError
		switch {
		case compare && (err != nil || k.Now() != 20):
			t.Errorf("ended at %v with %v, want 20ps", k.Now(), err)
		case !compare && !errors.As(err, &deadlock):
			t.Errorf("without the comparison: %v, want a deadlock", err)
		}
	}
}

// looks counts how often a proc was about to look, and when last.
type looks struct {
	k  *vtime.Kernel
	n  int
	at vtime.Time
}

func (l *looks) Look() { l.n, l.at = l.n+1, l.k.Now() }

// TestBeforeLook has a proc synchronise alone, and with another one due before, and park. Its looker is called each
// time before it goes on, at its time.
func TestBeforeLook(t *testing.T) {
	k := vtime.New(1)
	l := &looks{k: k}
	first := k.Spawn("first", func(p *vtime.Proc) {
		for i := 1; i <= 3; i++ {
			p.Charge(2 * vtime.Nanosecond)
			if i == 3 {
				p.Park(0)
			} else {
				p.Sync()
			}
			if l.n != i || l.at != p.Now() {
				t.Errorf("%d looks, the last at %v, want %d and %v", l.n, l.at, i, p.Now())
			}
		}
	})
	first.BeforeLook(l)
	k.Spawn("second", func(p *vtime.Proc) {
		p.Charge(3 * vtime.Nanosecond)
		p.Sync()
		p.Charge(4 * vtime.Nanosecond)
		p.Sync()
		first.Arrive()
	})
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
}
