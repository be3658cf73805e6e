package exttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"

	"golang.org/x/sync/errgroup"
)

var atomicCases = []coretest.Case{{
	Name:  "atomic/hosts",
	Rule:  "atomics of a team whose members reach each other are done in place, without messages, also where the job has ranks that do not; those of all ranks count every one",
	Ranks: []int{2, 4, 5}, Body: atomicHosts,
}, {
	Name:  "atomic/operations",
	Rule:  "every operation on every type, fetching or not, blocking, with an event or implicit, whatever it orders, does what its definition says and touches nothing else",
	Ranks: []int{1, 2, 3}, Body: atomicOperations,
}, {
	Name:  "atomic/names",
	Rule:  "the methods named after operations do them",
	Ranks: []int{1, 2}, Body: atomicNames,
}, {
	Name:  "atomic/tickets",
	Rule:  "concurrent fetch-adds of all ranks return each value once",
	Ranks: []int{1, 2, 4}, Body: atomicTickets,
}, {
	Name:  "atomic/compare-swap",
	Rule:  "of concurrent compare-and-swaps one succeeds, and none fails without cause; a lock made of them protects plain puts and gets",
	Ranks: []int{1, 2, 3}, Body: atomicCompareSwap,
}, {
	Name:  "atomic/implicit",
	Rule:  "implicit atomics belong to the categories put (Set), get (Get) and rmw (the rest), or to the open access region (gex_AD_OpNBI)",
	Ranks: []int{1, 2}, Body: atomicImplicit,
}, {
	Name:  "atomic/many",
	Rule:  "thousands of atomics of all kinds may be under way together, each done once",
	Ranks: []int{2, 3}, Body: atomicMany,
}, {
	Name:  "atomic/teams",
	Rule:  "ranks are those of the domain's team; domains of several teams and types exist side by side, and are made and freed many times",
	Ranks: []int{1, 3}, Body: atomicTeams,
}, {
	Name:  "atomic/goroutines",
	Rule:  "atomics of several goroutines of a rank are atomic among each other too",
	Ranks: []int{1, 2}, Needs: coretest.Threads, Body: atomicGoroutines,
}, {
	Name:  "atomic/misuse",
	Rule:  "misaligned or outside offsets, strange ranks and operations, and freed domains are refused, with rank and operation named, and nothing is changed",
	Ranks: []int{2}, Config: lenient, Body: atomicMisuse,
}, {
	Name:  "atomic/mismatch",
	Rule:  "members that ask for different domains all learn it",
	Ranks: []int{2, 3}, Config: lenient, Body: atomicMismatch,
}, {
	Name:  "atomic/allocations",
	Rule:  "atomics allocate nothing",
	Ranks: []int{1, 2}, Needs: coretest.Plain, Body: atomicAllocations,
	Config: func(cfg *core.Config) { cfg.Sleep = time.Minute }, // going to sleep may allocate
}}

// plainOps are the operations that do not fetch.
var plainOps = []extended.Op{extended.And, extended.Or, extended.Xor, extended.Add, extended.Sub, extended.Mult,
	extended.Min, extended.Max, extended.Inc, extended.Dec, extended.Set, extended.CAS}

// defined is what an operation makes of x.
func defined[T extended.Number](op extended.Op, x, a, b T) T {
	switch op.ToNonfetching() {
	case extended.And:
		return T(uint64(x) & uint64(a))
	case extended.Or:
		return T(uint64(x) | uint64(a))
	case extended.Xor:
		return T(uint64(x) ^ uint64(a))
	case extended.Add:
		return x + a
	case extended.Sub:
		return x - a
	case extended.Mult:
		return x * a
	case extended.Min:
		if a < x {
			return a
		}
	case extended.Max:
		if a > x {
			return a
		}
	case extended.Inc:
		return x + 1
	case extended.Dec:
		return x - 1
	case extended.Set:
		return a
	case extended.CAS:
		if x == a {
			return b
		}
	}
	return x
}

func atomicOperations(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	bits := func(r *rand.Rand) uint64 { return r.Uint64() }
	real := func(r *rand.Rand) float64 { return float64(r.Int32()) / 64 }
	return errors.Join(
		operationsOn(t, ep, func(r *rand.Rand) int32 { return int32(bits(r)) }),
		operationsOn(t, ep, func(r *rand.Rand) uint32 { return uint32(bits(r)) }),
		operationsOn(t, ep, func(r *rand.Rand) int64 { return int64(bits(r)) }),
		operationsOn(t, ep, bits),
		operationsOn(t, ep, func(r *rand.Rand) int { return int(bits(r)) }),
		operationsOn(t, ep, func(r *rand.Rand) uint { return uint(bits(r)) }),
		operationsOn(t, ep, func(r *rand.Rand) float32 { return float32(real(r)) }),
		operationsOn(t, ep, real),
	)
}

// operationsOn does every operation on elements of T at every rank, in every form, each rank
// on a place of its own.
func operationsOn[T extended.Number](t *coretest.T, ep *extended.Endpoint, random func(*rand.Rand) T) error {
	c, w, r := &ep.Context, ep.World(), t.Rand()
	typ := extended.TypeOf[T]()
	a, err := extended.NewAtomic[T](c, w, typ.Ops())
	if err != nil {
		return err
	}
	size := uint64(typ.Size())
	off := 4096 + 64*uint64(w.Rank()) // the element after the next is what is operated on
	guard := make([]T, w.Size())
	x := make([]T, w.Size())
	for i := range w.Size() {
		guard[i], x[i] = random(r), random(r)
		for k, v := range []T{guard[i], guard[i], x[i], guard[i], guard[i]} {
			if err := a.Set(c, i, off+uint64(k)*size, v); err != nil {
				return err
			}
		}
	}
	off += 2 * size
	for round := range t.Times(3) {
		for i := range w.Size() {
			ops := []extended.Op{extended.Get}
			for _, op := range plainOps {
				ops = append(ops, op, op.ToFetching())
			}
			for _, op := range ops {
				if op&typ.Ops() == 0 {
					continue
				}
				u, v := random(r), random(r)
				if r.IntN(2) == 0 {
					u = x[i] // what CAS succeeds with
				}
				got, err := perform(a, c, round%3, i, off, op, u, v, orders[r.IntN(len(orders))]...)
				if err != nil {
					return err
				}
				if op.Fetching() && got != x[i] || !op.Fetching() && got != 0 {
					t.Errorf("%v of %v: fetched %v, want %v", op, typ, got, x[i])
				}
				want := defined(op, x[i], u, v)
				if x[i], err = a.Get(c, i, off); err != nil {
					return err
				}
				if x[i] != want {
					t.Errorf("%v of %v with %v and %v: now %v, want %v", op, typ, u, v, x[i], want)
					return t.Err()
				}
			}
		}
	}
	for i := range w.Size() {
		for _, o := range []uint64{off - 2*size, off - size, off + size, off + 2*size} {
			if got, err := a.Get(c, i, o); err != nil || got != guard[i] {
				t.Errorf("%v: a neighbour is %v, want %v (%v)", typ, got, guard[i], err)
			}
		}
	}
	return errorsOf(t, a.Free(c))
}

// perform does an operation in one of three forms.
func perform[T extended.Number](a *extended.Atomic[T], c *extended.Context, form, rank int, off uint64, op extended.Op, u, v T, orders ...extended.Order) (T, error) {
	var got T
	switch form {
	case 0:
		return a.Do(c, rank, off, op, u, v, orders...)
	case 1:
		ev, err := a.DoNB(c, &got, rank, off, op, u, v, orders...)
		if err != nil {
			return 0, err
		}
		err = c.Wait(ev)
		return got, err
	}
	if err := a.DoNBI(c, &got, rank, off, op, u, v, orders...); err != nil {
		return 0, err
	}
	err := c.WaitNBI(extended.All)
	return got, err
}

func atomicNames(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, off := &ep.Context, 8*uint64(t.Rank())
	a, err := extended.NewAtomic[uint32](c, ep.World(), extended.Uint32.Ops())
	if err != nil {
		return err
	}
	for i := range t.Size() {
		steps := []struct {
			name string
			do   func() (uint32, error)
			was  uint32
			is   uint32
		}{
			{"Set", func() (uint32, error) { return 0, a.Set(c, i, off, 12) }, 0, 12},
			{"Swap", func() (uint32, error) { return a.Swap(c, i, off, 13) }, 12, 13},
			{"CompareSwap of another", func() (uint32, error) { return a.CompareSwap(c, i, off, 12, 1) }, 13, 13},
			{"CompareSwap", func() (uint32, error) { return a.CompareSwap(c, i, off, 13, 1<<31) }, 13, 1 << 31},
			{"Add", func() (uint32, error) { return 0, a.Add(c, i, off, 1<<31+6) }, 0, 6},
			{"FetchAdd", func() (uint32, error) { return a.FetchAdd(c, i, off, ^uint32(0)) }, 6, 5},
			{"FetchAnd", func() (uint32, error) { return a.FetchAnd(c, i, off, 6) }, 5, 4},
			{"FetchOr", func() (uint32, error) { return a.FetchOr(c, i, off, 3) }, 4, 7},
			{"FetchXor", func() (uint32, error) { return a.FetchXor(c, i, off, 2) }, 7, 5},
			{"Sub", func() (uint32, error) { return 0, a.Sub(c, i, off, 7) }, 0, 1<<32 - 2},
			{"FetchSub", func() (uint32, error) { return a.FetchSub(c, i, off, 1<<32-5) }, 1<<32 - 2, 3},
			{"Inc", func() (uint32, error) { return 0, a.Inc(c, i, off) }, 0, 4},
			{"FetchInc", func() (uint32, error) { return a.FetchInc(c, i, off) }, 4, 5},
			{"Dec", func() (uint32, error) { return 0, a.Dec(c, i, off) }, 0, 4},
			{"FetchDec", func() (uint32, error) { return a.FetchDec(c, i, off) }, 4, 3},
			{"Max", func() (uint32, error) { return 0, a.Max(c, i, off, 1<<31) }, 0, 1 << 31},
			{"FetchMax", func() (uint32, error) { return a.FetchMax(c, i, off, 7) }, 1 << 31, 1 << 31},
			{"Min", func() (uint32, error) { return 0, a.Min(c, i, off, 15) }, 0, 15},
			{"FetchMin", func() (uint32, error) { return a.FetchMin(c, i, off, 1<<31) }, 15, 15},
			{"And", func() (uint32, error) { return 0, a.And(c, i, off, 6) }, 0, 6},
			{"Or", func() (uint32, error) { return 0, a.Or(c, i, off, 9) }, 0, 15},
			{"Xor", func() (uint32, error) { return 0, a.Xor(c, i, off, 5) }, 0, 10},
		}
		for _, s := range steps {
			was, err := s.do()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if is, err := a.Get(c, i, off); err != nil || was != s.was || is != s.is {
				t.Errorf("%s: returned %d, want %d; now %d, want %d; %v", s.name, was, s.was, is, s.is, err)
				return t.Err()
			}
		}
	}
	return errorsOf(t, ep.World().Barrier(c))
}

func atomicTickets(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	return errors.Join(ticketsOf[int32](t, ep), ticketsOf[uint64](t, ep), ticketsOf[float32](t, ep), ticketsOf[float64](t, ep))
}

// ticketsOf has all ranks draw from a counter at the last rank, and count what was drawn.
func ticketsOf[T extended.Number](t *coretest.T, ep *extended.Endpoint) error {
	c, w := &ep.Context, ep.World()
	a, err := extended.NewAtomic[T](c, w, extended.FAdd|extended.FInc|extended.Set)
	if err != nil {
		return err
	}
	owner, n := w.Size()-1, t.Times(300)
	const off = 512
	if w.Rank() == owner {
		if err := a.Set(c, owner, off, 0); err != nil {
			return err
		}
	}
	if err := w.Barrier(c); err != nil {
		return err
	}
	mine := make([]byte, 8*n)
	last := T(0)
	for i := range n {
		got, err := a.Do(c, owner, off, []extended.Op{extended.FAdd, extended.FInc}[i%2], 1, 0)
		if err != nil {
			return err
		}
		if i > 0 && got <= last {
			t.Errorf("%v: drew %v after %v", a.Type(), got, last)
		}
		last = got
		copy(mine[8*i:], put64(uint64(got)))
	}
	all := make([]byte, len(mine)*w.Size())
	if err := w.AllGather(c, all, mine); err != nil {
		return err
	}
	seen := make([]uint64, n*w.Size())
	for i := range seen {
		seen[i] = get64(all[8*i:])
	}
	slices.Sort(seen)
	for i, v := range seen {
		if v != uint64(i) {
			t.Errorf("%v: ticket %d was drawn in place of %d", a.Type(), v, i)
			break
		}
	}
	return errorsOf(t, a.Free(c))
}

func atomicCompareSwap(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	a, err := extended.NewAtomic[int64](c, w, extended.FCAS|extended.Get|extended.Set)
	if err != nil {
		return err
	}
	const counter, lock, account = 0, 8, 16
	n := t.Times(100)
	for range n { // count, by trying
		was, err := a.Get(c, 0, counter)
		for want := was - 1; err == nil && was != want; {
			want = was
			was, err = a.CompareSwap(c, 0, counter, want, want+1)
		}
		if err != nil {
			return err
		}
	}
	for range n { // count by plain put and get, under a lock
		for {
			was, err := a.CompareSwap(c, 0, lock, 0, int64(t.Rank())+1)
			if err != nil {
				return err
			}
			if was == 0 {
				break
			}
			if err := errors.Join(ep.Poll(), yield(t, ep)); err != nil {
				return err
			}
		}
		var b [8]byte
		if err := ep.Get(b[:], 0, account); err != nil {
			return err
		}
		if err := ep.Put(0, account, put64(get64(b[:])+1)); err != nil {
			return err
		}
		if err := a.Set(c, 0, lock, 0); err != nil {
			return err
		}
	}
	if err := a.Free(c); err != nil {
		return err
	}
	if seg := ep.Segment(); t.Rank() == 0 {
		for _, off := range []int{counter, account} {
			if got := get64(seg[off:]); got != uint64(n*t.Size()) {
				t.Errorf("counted to %d at %d, want %d", got, off, n*t.Size())
			}
		}
	}
	return t.Err()
}

func atomicImplicit(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	a, err := extended.NewAtomic[float64](c, ep.World(), extended.Float64.Ops())
	if err != nil {
		return err
	}
	peer, off := int(t.Next()), 8*uint64(t.Rank())
	var got, was float64
	steps := []struct {
		op    extended.Op
		which extended.Category
		now   float64
	}{
		{extended.Set, extended.Puts, 2.5}, {extended.Get, extended.Gets, 2.5}, {extended.FMult, extended.RMWs, 6.25},
		{extended.Get, extended.Gets, 6.25}, {extended.Add, extended.RMWs, 8.75}, {extended.Swap, extended.RMWs, 2.5}, {extended.Get, extended.Gets, 2.5},
	}
	for round := range t.Times(20) {
		for _, s := range steps {
			if round%2 == 0 {
				err = errors.Join(a.DoNBI(c, &got, peer, off, s.op, 2.5, 0), c.WaitNBI(s.which))
			} else {
				err = inRegion(c, func() error { return a.DoNBI(c, &got, peer, off, s.op, 2.5, 0) })
			}
			if err != nil {
				return err
			}
			if s.op.Fetching() && s.op != extended.Get && got != was || s.op == extended.Get && got != s.now {
				t.Errorf("%v: fetched %v where there was %v and is %v", s.op, got, was, s.now)
				return t.Err()
			}
			was = s.now
		}
	}
	return errorsOf(t, ep.World().Barrier(c))
}

// inRegion does f in an access region of its own, and waits for what that has begun.
func inRegion(c *extended.Context, f func() error) error {
	if err := c.BeginRegion(); err != nil {
		return err
	}
	err := f()
	ev, ended := c.EndRegion()
	return errors.Join(err, ended, c.Wait(ev))
}

func atomicMany(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	a, err := extended.NewAtomic[uint64](c, w, extended.FAdd|extended.Add|extended.Inc|extended.Get)
	if err != nil {
		return err
	}
	n := t.Times(2000)
	evs := make([]extended.Event, n)
	first, second := make([]uint64, n), make([]uint64, n)
	for i := range n { // three to every element of the next, by every kind
		off := 8 * uint64(i%100)
		evs[i], err = a.DoNB(c, &first[i], int(t.Next()), off, extended.FAdd, 1, 0)
		if err == nil {
			err = a.DoNBI(c, &second[i], int(t.Next()), off, extended.FAdd, 1, 0)
		}
		if err == nil {
			err = a.DoNBI(c, nil, int(t.Next()), off, []extended.Op{extended.Add, extended.Inc}[i%2], 1, 0)
		}
		if err != nil {
			return err
		}
	}
	if err := errors.Join(c.WaitNBI(extended.RMWs), c.WaitAll(evs)); err != nil {
		return err
	}
	for off := range min(n, 100) {
		var drawn []uint64
		for i := off; i < n; i += 100 {
			drawn = append(drawn, first[i], second[i])
		}
		total, err := a.Get(c, int(t.Next()), 8*uint64(off))
		if err != nil {
			return err
		}
		slices.Sort(drawn)
		if len(slices.Compact(drawn)) != len(drawn) || drawn[len(drawn)-1] >= total || total != uint64(len(drawn)/2*3) {
			t.Errorf("element %d: drew %v, counted %d", off, drawn, total)
			return t.Err()
		}
	}
	return errorsOf(t, w.Barrier(c))
}

func atomicHosts(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	near, err := ep.NeighborhoodTeam(c)
	if err != nil {
		return err
	}
	const rounds = 50
	for _, team := range []*extended.Team{near, w} {
		d, err := extended.NewAtomic[uint64](c, team, extended.FAdd|extended.Set|extended.Get)
		if err != nil {
			return err
		}
		if d.InPlace() != team.Reach() || team == near && ep.Core().Reaches() && !d.InPlace() {
			t.Errorf("%v: atomics in place: %v, the members reach each other: %v", team, d.InPlace(), team.Reach())
		}
		if team.Rank() == 0 {
			if err := d.Set(c, 0, 64, 0); err != nil {
				return err
			}
		}
		if err := team.Barrier(c); err != nil {
			return err
		}
		before := requests(ep, team.Jobrank(0))
		for range rounds {
			if _, err := d.FetchAdd(c, 0, 64, 1); err != nil {
				return err
			}
		}
		if k := requests(ep, team.Jobrank(0)) - before; d.InPlace() && k > 0 {
			t.Errorf("%v: %d messages for atomics in place", team, k)
		}
		if err := team.Barrier(c); err != nil {
			return err
		}
		if got, err := d.Get(c, 0, 64); err != nil || got != uint64(rounds*team.Size()) {
			t.Errorf("%v: %d members have added %d times, to %d: %v", team, team.Size(), rounds, got, err)
		}
		if err := d.Free(c); err != nil {
			return err
		}
	}
	return errorsOf(t, nil)
}

func atomicTeams(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	back, err := w.Split(c, 0, -w.Rank()) // everybody, in reverse
	if err != nil {
		return err
	}
	for round := range t.Times(100) {
		a, err := extended.NewAtomic[int32](c, back, extended.FAdd)
		if err != nil {
			return err
		}
		d, err := extended.NewDomain(c, w, extended.Uint64, extended.FXor|extended.Set)
		if err != nil {
			return err
		}
		if a.Team() != back || a.Type() != extended.Int32 || a.Ops() != extended.FAdd || a.InPlace() != back.Reach() || d.InPlace() != w.Reach() {
			t.Errorf("domain of %v with %v on %v, in place %v", a.Type(), a.Ops(), a.Team(), a.InPlace())
		}
		for i := range back.Size() {
			if _, err := a.FetchAdd(c, i, 64, int32(back.Jobrank(i))+1); err != nil {
				return err
			}
			if _, err := d.Do(c, i, 128, extended.FXor, 1<<uint(t.Rank()), 0); err != nil {
				return err
			}
		}
		if err := errors.Join(a.Free(c), d.Free(c)); err != nil {
			return err
		}
		seg := ep.Segment()
		got := int32(get64(seg[64:])) // everybody added what is meant for this segment
		if want := int32((round + 1) * w.Size() * (w.Rank() + 1)); got != want {
			t.Errorf("round %d: sum %d, want %d", round, got, want)
			return t.Err()
		}
		if got, want := get64(seg[128:]), uint64((round+1)%2)*(1<<w.Size()-1); got != want {
			t.Errorf("round %d: flags %#x, want %#x", round, got, want)
			return t.Err()
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
	}
	return errorsOf(t, back.Free(c))
}

func atomicGoroutines(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	a, err := extended.NewAtomic[float64](&ep.Context, ep.World(), extended.FAdd|extended.Get)
	if err != nil {
		return err
	}
	const goroutines = 4
	n := t.Times(100)
	var g errgroup.Group
	for range goroutines {
		c := ep.NewContext()
		g.Go(func() error {
			last := -1.0
			for range n {
				got, err := a.FetchAdd(c, 0, 8, 1)
				if err != nil || got <= last {
					return fmt.Errorf("drew %v after %v: %v", got, last, err)
				}
				last = got
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Errorf("%v", err)
		return err
	}
	if err := ep.World().Barrier(&ep.Context); err != nil {
		return err
	}
	if got, err := a.Get(&ep.Context, 0, 8); err != nil || got != float64(n*goroutines*t.Size()) {
		t.Errorf("%v drawn, want %v: %v", got, n*goroutines*t.Size(), err)
	}
	return errorsOf(t, ep.World().Barrier(&ep.Context))
}

func atomicMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	const ops = extended.FAdd | extended.Add | extended.Get | extended.FCAS
	a, err := extended.NewAtomic[int64](c, w, ops)
	if err != nil {
		return err
	}
	freed, err := extended.NewAtomic[int64](c, w, ops)
	if err != nil {
		return err
	}
	if err := freed.Free(c); err != nil {
		return err
	}
	team, err := w.Split(c, 0, 0)
	if err != nil {
		return err
	}
	orphan, err := extended.NewAtomic[int64](c, team, ops)
	if err == nil {
		err = team.Free(c)
	}
	if err != nil {
		return err
	}
	end := uint64(len(ep.Segment()))
	var unmade extended.Domain
	var none *extended.Team
	type try struct {
		a    *extended.Atomic[int64]
		rank int
		off  uint64
		op   extended.Op
	}
	for i, x := range []try{
		{a, 1, 4, extended.FAdd}, {a, 1, 1, extended.Add}, {a, 1, end - 4, extended.Get}, // not aligned
		{a, 1, end, extended.FAdd}, {a, 1, 1 << 63, extended.FAdd}, {a, 1, ^uint64(7), extended.FCAS}, // outside
		{a, 2, 0, extended.FAdd}, {a, -1, 0, extended.Get}, {a, 1 << 40, 0, extended.Add}, // no such member
		{a, 1, 0, extended.Swap}, {a, 1, 0, 0}, {a, 1, 0, extended.FAdd | extended.Get}, {a, 1, 0, 1 << 31}, {a, 1, 0, extended.CAS}, // not an operation of it
		{freed, 1, 0, extended.FAdd}, {freed, 0, 0, extended.Get},
		{orphan, 1, 0, extended.FAdd}, {orphan, 0, 0, extended.Get},
		{&extended.Atomic[int64]{}, 0, 0, extended.Get},
	} {
		var got int64
		_, err1 := x.a.Do(c, x.rank, x.off, x.op, 1, 1)
		_, err2 := x.a.DoNB(c, &got, x.rank, x.off, x.op, 1, 1)
		_, err3 := x.a.Domain.Do(c, x.rank, x.off, x.op, 1, 1)
		for form, err := range []error{err1, err2, err3, x.a.DoNBI(c, &got, x.rank, x.off, x.op, 1, 1)} {
			var usage *core.UsageError
			if !errors.As(err, &usage) || usage.Rank != t.Rank() || usage.Op == "" {
				t.Errorf("misuse %d, form %d: %v", i, form, err)
			}
		}
	}
	_, err1 := a.FetchAdd(c, 1, end, 1)
	_, err2 := a.Get(c, 2, 0)
	_, err3 := a.Swap(c, 1, 0, 1) // of those not asked for
	_, err4 := a.FetchXor(c, 1, 0, 1)
	_, err5 := a.CompareSwap(c, 1, 3, 0, 1)
	_, err6 := a.DoNB(c, nil, 1, 0, extended.FAdd, 1, 0) // nowhere to go
	_, err7 := a.Domain.DoNB(c, make([]byte, 4), 1, 0, extended.FAdd, 1, 0)
	_, err8 := extended.NewDomain(c, none, extended.Int64, extended.Add)
	_, err9 := extended.NewDomain(c, w, extended.Int64|extended.Int32, extended.Add)
	_, err10 := extended.NewDomain(c, w, extended.Int64, 0)
	_, err11 := extended.NewDomain(c, w, extended.Float64, extended.Add|extended.FXor)
	_, err12 := extended.NewDomain(c, w, extended.Uint32, 1<<15)
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12,
		a.Set(c, 1, 0, 1), a.Add(c, 1, 7, 1), a.DoNBI(c, nil, 1, 0, extended.Get, 0, 0), freed.Free(c), unmade.Free(c), orphan.Add(c, 1, 0, 1), orphan.Free(c)} {
		if err == nil {
			t.Errorf("call %d was accepted", i)
		}
	}
	if got, err := a.Get(c, 1, 0); got != 0 || err != nil {
		t.Errorf("a refused operation was done: %d, %v", got, err)
	}
	return errorsOf(t, w.Barrier(c))
}

func atomicMismatch(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	typ, ops := extended.Int64, extended.Add
	if w.Rank() == 1 {
		typ = extended.Uint64
	}
	if d, err := extended.NewDomain(c, w, typ, ops); err == nil || d != nil {
		t.Errorf("different types were accepted")
	}
	if w.Rank() == 1 {
		ops |= extended.FXor
	}
	if d, err := extended.NewDomain(c, w, extended.Float32, ops); err == nil || d != nil {
		t.Errorf("different operations were accepted")
	}
	return errorsOf(t, w.Barrier(c))
}

// atomicAllocations counts the allocations of rank 0, and when the ranks share a process
// those of the others.
func atomicAllocations(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	a, err := extended.NewAtomic[int64](c, ep.World(), extended.Int64.Ops())
	if err != nil {
		return err
	}
	f, err := extended.NewAtomic[float32](c, ep.World(), extended.Float32.Ops())
	if err != nil || t.Rank() != 0 {
		return err
	}
	peer := int(t.Next())
	var x int64
	check := func(err error) {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	for name, do := range map[string]func(){
		"FetchAdd":    func() { _, err := a.FetchAdd(c, peer, 64, 1); check(err) },
		"Add":         func() { check(a.Add(c, peer, 64, 1)) },
		"CompareSwap": func() { _, err := a.CompareSwap(c, peer, 64, 3, 4); check(err) },
		"float":       func() { _, err := f.Do(c, peer, 32, extended.FMax, 2, 0); check(err) },
		"Domain.Do":   func() { _, err := a.Domain.Do(c, peer, 64, extended.FXor, 1, 0); check(err) },
		"NB": func() {
			ev, err := a.DoNB(c, &x, peer, 64, extended.FAdd, 1, 0)
			check(err)
			check(c.Wait(ev))
		},
		"NBI": func() {
			check(a.DoNBI(c, &x, peer, 64, extended.FAdd, 1, 0))
			check(a.DoNBI(c, nil, peer, 64, extended.Inc, 1, 0))
			check(c.WaitNBI(extended.All))
		},
	} {
		if n := testing.AllocsPerRun(200, do); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	return t.Err()
}
