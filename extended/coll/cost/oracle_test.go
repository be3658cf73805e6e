package cost_test

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// naive does what Simulation.Run does in the plainest way: it looks at all ranks for the
// one whose next step is due first, over and over. It returns when every rank ends.
func naive(t *testing.T, n int, s cost.Schedules, m cost.Model, start []vtime.Time) []vtime.Time {
	t.Helper()
	type key struct{ src, dst, number int }
	now, done := make([]vtime.Time, n), make([]int, n)
	copy(now, start)
	schedules := make([]*coll.Schedule, n)
	left := 0
	for i := range n {
		var b coll.Builder
		if err := s(i, &b); err != nil {
			t.Fatal(err)
		}
		schedules[i] = b.Schedule()
		left += len(schedules[i].Steps)
	}
	sent := map[key]vtime.Time{}
	for ; left > 0; left-- {
		next, due := -1, vtime.Time(0)
		for i := range n {
			if done[i] == len(schedules[i].Steps) {
				continue
			}
			at := now[i]
			if step := schedules[i].Steps[done[i]]; step.Kind == coll.Await {
				r := schedules[i].Recvs[step.Msg]
				arrival, ok := sent[key{r.Peer, i, r.Number}]
				if !ok {
					continue
				}
				at = max(at, arrival)
			}
			if next < 0 || at < due {
				next, due = i, at
			}
		}
		if next < 0 {
			t.Fatal("deadlock")
		}
		i, step := next, schedules[next].Steps[done[next]]
		done[i]++
		switch step.Kind {
		case coll.Send:
			now[i], sent[key{i, step.Peer, step.Number}] = m.Send(i, step.Peer, step.From.Len, now[i])
		case coll.Await:
			r := schedules[i].Recvs[step.Msg]
			now[i] = m.Receive(i, r.Peer, r.To.Len, now[i], sent[key{r.Peer, i, r.Number}])
		case coll.Copy:
			now[i] = m.Copy(i, step.From.Len, now[i])
		case coll.Combine:
			now[i] = m.Combine(i, step.From.Len, now[i])
		}
	}
	return now
}

// bus is a model whose ranks share one wire, so that the order of calls decides all times.
// Its costs are taken from a hash; with few different ones there are many ties.
type bus struct {
	seed     maphash.Seed
	variety  uint64
	free     vtime.Time
	sequence uint64
}

func (b *bus) cost(a ...int) vtime.Time {
	b.sequence++ // whoever calls earlier gets other costs
	return vtime.Time(maphash.Comparable(b.seed, fmt.Sprint(a, b.sequence)) % b.variety)
}

func (b *bus) Send(src, dst, bytes int, now vtime.Time) (free, arrival vtime.Time) {
	b.free = max(b.free, now) + b.cost(0, src, dst, bytes)
	return now + b.cost(1, src), b.free + b.cost(2, dst)
}

func (b *bus) Receive(dst, src, bytes int, since, arrival vtime.Time) vtime.Time {
	return max(since, arrival) + b.cost(3, dst, src, bytes, int(since), int(arrival))
}

func (b *bus) Copy(rank, bytes int, now vtime.Time) vtime.Time {
	b.free = max(b.free, now) + b.cost(4, rank, bytes)
	return b.free
}

func (b *bus) Combine(rank, bytes int, now vtime.Time) vtime.Time {
	return now + b.cost(5, rank, bytes)
}

// random returns schedules that fit together: a random list of messages and computations,
// each rank doing its part of it in order, but for receives that it puts off.
func random(r *rand.Rand, n, length int) cost.Schedules {
	builders := make([]coll.Builder, n)
	type late struct{ rank, msg int }
	var awaits []late
	span := func() coll.Span { return coll.Span{Buf: coll.Tmp, Len: 1 + r.IntN(100)} }
	for range length {
		src, dst := r.IntN(n), r.IntN(n)
		s := span()
		switch {
		case src == dst && r.IntN(2) == 0:
			builders[src].Copy(s.Part(100, s.Len), s)
		case src == dst:
			builders[src].Combine(s.Part(100, s.Len), s)
		default:
			if r.IntN(4) == 0 {
				builders[src].Signal(dst)
				awaits = append(awaits, late{dst, builders[dst].RecvSignal(src)})
			} else {
				builders[src].Send(dst, s)
				awaits = append(awaits, late{dst, builders[dst].Recv(src, s)})
			}
		}
		for len(awaits) > 0 && r.IntN(3) > 0 {
			k := r.IntN(len(awaits))
			builders[awaits[k].rank].Await(awaits[k].msg)
			awaits = slices.Delete(awaits, k, k+1)
		}
	}
	for _, a := range awaits {
		builders[a.rank].Await(a.msg)
	}
	return func(rank int, b *coll.Builder) error {
		*b = builders[rank]
		return nil
	}
}

// agree compares a run with the naive one.
func agree(t *testing.T, n int, s cost.Schedules, model func() cost.Model, start []vtime.Time, inOrder bool) cost.Result {
	t.Helper()
	end := make([]vtime.Time, n)
	got, err := (&cost.Simulation{Ranks: n, Schedules: s, Model: model(), Start: start, End: end, InOrder: inOrder}).Run()
	if err != nil {
		t.Fatal(err)
	}
	if want := naive(t, n, s, model(), start); !slices.Equal(end, want) {
		t.Fatalf("ranks end at %v, want %v", end, want)
	}
	if got.End != slices.Max(end) {
		t.Errorf("the last rank ends at %v, the result says %v", slices.Max(end), got.End)
	}
	return got
}

func starts(r *rand.Rand, n int) []vtime.Time {
	s := make([]vtime.Time, n)
	for i := range s {
		s[i] = vtime.Time(r.IntN(50))
	}
	return s
}

// TestNaive runs random schedules on a shared wire, where one call out of order changes all
// that follow.
func TestNaive(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, hash := 1+r.IntN(40), maphash.MakeSeed()
		s := random(r, n, 20*n)
		variety := []uint64{1, 2, 10, 1 << 40}[seed%4]
		agree(t, n, s, func() cost.Model { return &bus{seed: hash, variety: variety} }, starts(r, n), false)
	}
}

// machine has every parameter, none of which another one hides.
var machine = cost.LogGP{
	Latency: 1009, SendOverhead: 101, RecvOverhead: 203, SendGap: 307, RecvGap: 401,
	Scan: 3, ByteGap: 1.7, Copy: 0.3, Combine: 0.9,
}

// TestIndependent wants the run that does without order to give the same.
func TestIndependent(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(40)
		s, start := random(r, n, 20*n), starts(r, n)
		model := func() cost.Model { return machine.Model(n) }
		if a, b := agree(t, n, s, model, start, false), agree(t, n, s, model, start, true); a.Steps != b.Steps || a.Bytes != b.Bytes || a.Messages != b.Messages {
			t.Errorf("%+v and in order %+v", a, b)
		}
	}
}

// TestAlgorithms runs everything that the table can choose.
func TestAlgorithms(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	seed := maphash.MakeSeed()
	for op := coll.Barrier; op < coll.ScatterV; op++ {
		for _, n := range []int{1, 2, 3, 5, 8, 13, 64} {
			for _, size := range []int{0, 8, 264} {
				c := coll.Call{Op: op, N: n, Bytes: size, Elem: 8, Commutes: true}
				if op.Rooted() {
					c.Root = n / 2
				}
				for _, a := range coll.Algorithms(op) {
					if !a.Applies(&c) {
						continue
					}
					k := 0
					switch a.Param {
					case coll.Radix:
						k = 3
					case coll.Segment:
						k = 40
					}
					s := cost.Collective(c, coll.Choice{Algorithm: a, K: k})
					agree(t, n, s, func() cost.Model { return machine.Model(n) }, nil, false)
					agree(t, n, s, func() cost.Model { return &bus{seed: seed, variety: 100} }, nil, false)
				}
			}
		}
	}
}
