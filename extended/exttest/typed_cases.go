package exttest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

var typedCases = []coretest.Case{{
	Name:  "typed/collective",
	Rule:  "typed calls, blocking and with events, several under way together, do what loops over the members do, for 1 to 7 members, elements of any size, and blocks of different lengths, none and gaps included",
	Ranks: []int{7}, Body: typedCollective,
}}

// typedCollective has teams of the first members of the world, backwards, and the world.
func typedCollective(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for size := 1; size <= w.Size(); size++ {
		team := w
		if size < w.Size() {
			color := 0
			if w.Rank() >= size {
				color = -1
			}
			if team, err = w.Split(c, color, -w.Rank()); err != nil {
				return err
			}
		}
		if team == nil {
			continue
		}
		add := func(a, b uint64) uint64 { return a + b }
		if err := trials(t, c, team, pgas.Add[uint64](), add, func(x uint64) uint64 { return x }); err != nil {
			return err
		}
		if err := trials(t, c, team, pgas.Ordered(combineAll(compose)), compose, newMap); err != nil {
			return err
		}
	}
	return errorsOf(t, w.Barrier(c))
}

// linear is x → a·x+b modulo 2¹⁶. Composition is associative and does not commute.
type linear struct{ A, B, Tag uint16 }

func newMap(x uint64) linear     { return linear{A: uint16(x), B: uint16(x >> 16)} }
func compose(f, g linear) linear { return linear{A: f.A * g.A, B: g.A*f.B + g.B} }

// combineAll returns the operator that combines element by element.
func combineAll[T any](combine func(a, b T) T) func(dst, src []T) {
	return func(dst, src []T) {
		for i := range dst {
			dst[i] = combine(dst[i], src[i])
		}
	}
}

// trial is one call: all members have the same but for what they get.
type trial[T comparable] struct {
	c       *extended.Context
	team    *extended.Team
	op      pgas.Op[T]
	combine func(a, b T) T
	value   func(uint64) T

	seed      uint64
	nb        bool // with an event
	root      int
	len       int // where it is the same for all
	dst, want []T
}

// trials makes every typed call twice, in an order of its own, some at a time.
func trials[T comparable](t *coretest.T, c *extended.Context, team *extended.Team, op pgas.Op[T], combine func(a, b T) T, value func(uint64) T) error {
	r := rand.New(rand.NewPCG(uint64(team.Size()), 13)) // the same for all members
	calls := typedCalls[T]()
	order := r.Perm(2 * len(calls))
	for len(order) > 0 {
		some := order[:min(len(order), 1+r.IntN(6))]
		order = order[len(some):]
		var evs []extended.Event
		var begun []*trial[T]
		for _, i := range some {
			x := &trial[T]{c: c, team: team, op: op, combine: combine, value: value, seed: r.Uint64(),
				nb: i%2 == 0, root: r.IntN(team.Size()), len: []int{0, 1, 5, 300}[r.IntN(4)]}
			ev, err := calls[i/2].begin(x)
			if err != nil {
				return fmt.Errorf("%s: %w", calls[i/2].name, err)
			}
			evs, begun = append(evs, ev), append(begun, x)
		}
		if err := c.WaitAll(evs); err != nil {
			return err
		}
		for k, x := range begun {
			if !slices.Equal(x.dst, x.want) {
				t.Errorf("%s of %T with root %d, %d elements, %v with an event: got %v, want %v", calls[some[k]/2].name, x.dst, x.root, x.len, x.nb, x.dst, x.want)
				return t.Err()
			}
		}
	}
	return nil
}

// block returns the n elements that a member has for another.
func (x *trial[T]) block(from, to, n int) []T {
	r := rand.New(rand.NewPCG(x.seed, uint64(from)<<32|uint64(to)))
	b := make([]T, n)
	for i := range b {
		b[i] = x.value(r.Uint64())
	}
	return b
}

// lens returns how many elements the member has for another: often none.
func (x *trial[T]) lens(from, to int) int {
	return []int{0, 0, 1, 2, 7, 500}[rand.New(rand.NewPCG(x.seed, uint64(to)<<32|uint64(from))).IntN(6)]
}

// blocks puts a block for every member into one buffer, and tells where they lie: with gaps,
// or one after the other.
func (x *trial[T]) blocks(block func(i int) []T) (all []T, where extended.Blocks) {
	gaps := x.seed%3 > 0
	for i := range x.team.Size() {
		b := block(i)
		if gaps {
			all = append(all, make([]T, (int(x.seed>>8)+i)%3)...)
			where.Offs = append(where.Offs, len(all))
		}
		where.Lens = append(where.Lens, len(b))
		all = append(all, b...)
	}
	return all, where
}

// each is blocks of the same length.
func (x *trial[T]) each(block func(i int) []T) (all []T) {
	for i := range x.team.Size() {
		all = append(all, block(i)...)
	}
	return all
}

// expect makes a destination for what is expected.
func (x *trial[T]) expect(want []T) []T {
	x.want, x.dst = want, make([]T, len(want))
	return x.dst
}

// fold combines the sources of members 0 to n-1; nothing of none.
func (x *trial[T]) fold(n int) []T {
	var sum []T
	for i := range n {
		if b := x.block(i, 0, x.len); i == 0 {
			sum = b
		} else {
			combineAll(x.combine)(sum, b)
		}
	}
	return sum
}

// run makes the call in one of its forms.
func (x *trial[T]) run(blocking func() error, begin func() (extended.Event, error)) (extended.Event, error) {
	if x.nb {
		return begin()
	}
	return 0, blocking()
}

// single has the result of a call of one element, which has no form with an event.
func (x *trial[T]) single(want []T, got T, err error) (extended.Event, error) {
	if x.expect(want); len(want) > 0 {
		x.dst[0] = got
	}
	return 0, err
}

// typedCall is a typed call, and what it should do.
type typedCall[T comparable] struct {
	name  string
	begin func(x *trial[T]) (extended.Event, error)
}

func typedCalls[T comparable]() []typedCall[T] {
	type event = extended.Event
	// forRoot returns b at the root, nil elsewhere.
	forRoot := func(x *trial[T], b []T) []T {
		if x.team.Rank() != x.root {
			return nil
		}
		return b
	}
	return []typedCall[T]{
		{"Broadcast", func(x *trial[T]) (event, error) {
			want := x.block(x.root, 0, x.len)
			dst, src := x.expect(want), forRoot(x, want)
			return x.run(func() error { return pgas.Broadcast(x.c, x.team, x.root, dst, src) },
				func() (event, error) { return pgas.BroadcastNB(x.c, x.team, x.root, dst, src) })
		}},
		{"Scatter", func(x *trial[T]) (event, error) {
			src := forRoot(x, x.each(func(i int) []T { return x.block(x.root, i, x.len) }))
			dst := x.expect(x.block(x.root, x.team.Rank(), x.len))
			return x.run(func() error { return pgas.Scatter(x.c, x.team, x.root, dst, src) },
				func() (event, error) { return pgas.ScatterNB(x.c, x.team, x.root, dst, src) })
		}},
		{"Gather", func(x *trial[T]) (event, error) {
			dst := x.expect(forRoot(x, x.each(func(i int) []T { return x.block(i, 0, x.len) })))
			src := x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.Gather(x.c, x.team, x.root, dst, src) },
				func() (event, error) { return pgas.GatherNB(x.c, x.team, x.root, dst, src) })
		}},
		{"AllGather", func(x *trial[T]) (event, error) {
			dst := x.expect(x.each(func(i int) []T { return x.block(i, 0, x.len) }))
			src := x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.AllGather(x.c, x.team, dst, src) },
				func() (event, error) { return pgas.AllGatherNB(x.c, x.team, dst, src) })
		}},
		{"AllToAll", func(x *trial[T]) (event, error) {
			dst := x.expect(x.each(func(i int) []T { return x.block(i, x.team.Rank(), x.len) }))
			src := x.each(func(i int) []T { return x.block(x.team.Rank(), i, x.len) })
			return x.run(func() error { return pgas.AllToAll(x.c, x.team, dst, src) },
				func() (event, error) { return pgas.AllToAllNB(x.c, x.team, dst, src) })
		}},
		{"ScatterV", func(x *trial[T]) (event, error) {
			all, from := x.blocks(func(i int) []T { return x.block(x.root, i, x.lens(x.root, i)) })
			src := forRoot(x, all)
			if src == nil {
				from = extended.Blocks{}
			}
			dst := x.expect(x.block(x.root, x.team.Rank(), x.lens(x.root, x.team.Rank())))
			return x.run(func() error { return pgas.ScatterV(x.c, x.team, x.root, dst, src, from) },
				func() (event, error) { return pgas.ScatterVNB(x.c, x.team, x.root, dst, src, from) })
		}},
		{"GatherV", func(x *trial[T]) (event, error) {
			all, into := x.blocks(func(i int) []T { return x.block(i, 0, x.lens(i, 0)) })
			dst := x.expect(forRoot(x, all))
			src := x.block(x.team.Rank(), 0, x.lens(x.team.Rank(), 0))
			return x.run(func() error { return pgas.GatherV(x.c, x.team, x.root, dst, into, src) },
				func() (event, error) { return pgas.GatherVNB(x.c, x.team, x.root, dst, into, src) })
		}},
		{"AllGatherV", func(x *trial[T]) (event, error) {
			all, into := x.blocks(func(i int) []T { return x.block(i, 0, x.lens(i, 0)) })
			dst := x.expect(all)
			src := x.block(x.team.Rank(), 0, x.lens(x.team.Rank(), 0))
			return x.run(func() error { return pgas.AllGatherV(x.c, x.team, dst, into, src) },
				func() (event, error) { return pgas.AllGatherVNB(x.c, x.team, dst, into, src) })
		}},
		{"AllToAllV", func(x *trial[T]) (event, error) {
			self := x.team.Rank()
			all, into := x.blocks(func(i int) []T { return x.block(i, self, x.lens(i, self)) })
			dst := x.expect(all)
			src, from := x.blocks(func(i int) []T { return x.block(self, i, x.lens(self, i)) })
			return x.run(func() error { return pgas.AllToAllV(x.c, x.team, dst, into, src, from) },
				func() (event, error) { return pgas.AllToAllVNB(x.c, x.team, dst, into, src, from) })
		}},
		{"Reduce", func(x *trial[T]) (event, error) {
			dst, src := x.expect(forRoot(x, x.fold(x.team.Size()))), x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.Reduce(x.c, x.team, x.root, dst, src, x.op) },
				func() (event, error) { return pgas.ReduceNB(x.c, x.team, x.root, dst, src, x.op) })
		}},
		{"AllReduce", func(x *trial[T]) (event, error) {
			dst, src := x.expect(x.fold(x.team.Size())), x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.AllReduce(x.c, x.team, dst, src, x.op) },
				func() (event, error) { return pgas.AllReduceNB(x.c, x.team, dst, src, x.op) })
		}},
		{"Scan", func(x *trial[T]) (event, error) {
			dst, src := x.expect(x.fold(x.team.Rank()+1)), x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.Scan(x.c, x.team, dst, src, x.op) },
				func() (event, error) { return pgas.ScanNB(x.c, x.team, dst, src, x.op) })
		}},
		{"ExScan", func(x *trial[T]) (event, error) {
			want := x.fold(x.team.Rank())
			if want == nil {
				want = make([]T, x.len) // left alone
			}
			dst, src := x.expect(want), x.block(x.team.Rank(), 0, x.len)
			return x.run(func() error { return pgas.ExScan(x.c, x.team, dst, src, x.op) },
				func() (event, error) { return pgas.ExScanNB(x.c, x.team, dst, src, x.op) })
		}},
		{"BroadcastValue", func(x *trial[T]) (event, error) {
			v, err := pgas.BroadcastValue(x.c, x.team, x.root, x.block(x.team.Rank(), 0, 1)[0])
			return x.single(x.block(x.root, 0, 1), v, err)
		}},
		{"ReduceValue", func(x *trial[T]) (event, error) {
			x.len = 1
			v, err := pgas.ReduceValue(x.c, x.team, x.root, x.block(x.team.Rank(), 0, 1)[0], x.op)
			want := forRoot(x, x.fold(x.team.Size()))
			if want == nil {
				want = make([]T, 1)
			}
			return x.single(want, v, err)
		}},
		{"AllReduceValue", func(x *trial[T]) (event, error) {
			x.len = 1
			v, err := pgas.AllReduceValue(x.c, x.team, x.block(x.team.Rank(), 0, 1)[0], x.op)
			return x.single(x.fold(x.team.Size()), v, err)
		}},
		{"ScanValue", func(x *trial[T]) (event, error) {
			x.len = 1
			v, err := pgas.ScanValue(x.c, x.team, x.block(x.team.Rank(), 0, 1)[0], x.op)
			return x.single(x.fold(x.team.Rank()+1), v, err)
		}},
		{"ExScanValue", func(x *trial[T]) (event, error) {
			x.len = 1
			v, err := pgas.ExScanValue(x.c, x.team, x.block(x.team.Rank(), 0, 1)[0], x.op)
			want := x.fold(x.team.Rank())
			if want == nil {
				want = make([]T, 1)
			}
			return x.single(want, v, err)
		}},
	}
}
