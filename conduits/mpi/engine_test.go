package mpi_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	"github.com/aqueduct-go/aqueduct/core"
)

var names atomic.Int32

// register makes the conduit known over a network of a test's own.
func register(t testing.TB, o mpitest.Options) (conduit string) {
	conduit = fmt.Sprintf("mpi for %s, %d", t.Name(), names.Add(1))
	mpi.Register(conduit, mpitest.Network("network", o))
	return conduit
}

const (
	request = core.ClientHandlers + iota
	answer
)

// counters registers a handler that counts requests, and answers if it is told to, and one
// that counts the answers.
func counters(asked, told *int) core.AttachSpec {
	return core.AttachSpec{Segment: "4096", Handlers: []core.HandlerEntry{
		{Index: request, Func: func(tok *core.Token, args []uint32, _ []byte) {
			if *asked++; args[0] == 1 {
				if err := tok.ReplyShort(answer); err != nil {
					panic(err)
				}
			}
		}},
		{Index: answer, Func: func(*core.Token, []uint32, []byte) { *told++ }},
	}}
}

// sendAll sends until there is no room, without polling, and returns how many that were.
func sendAll(ep *core.Endpoint, dst core.Rank) (n int, err error) {
	for ; err == nil; n++ {
		err = ep.TryShort(dst, request, 0)
	}
	if err == core.ErrNoRoom {
		err = nil
	}
	return n - 1, err
}

// TestUnexpected has all ranks send to one that does not poll, as much as they can. Before
// that one knows them they have one credit, afterwards all; the unexpected queue is no deeper
// than these.
func TestUnexpected(t *testing.T) {
	const ranks, depth = 12, 8
	for _, met := range []bool{false, true} {
		t.Run(fmt.Sprintf("met=%v", met), func(t *testing.T) {
			credits := 1
			if met {
				credits = depth
			}
			var peak atomic.Int64
			name := register(t, mpitest.Options{Unexpected: &peak})
			var known, sent sync.WaitGroup
			known.Add(ranks)
			sent.Add(ranks - 1)
			settings := map[string]string{"depth": strconv.Itoa(depth), "receives": "1"}
			err := core.RunGoroutines(ranks, core.Config{Conduit: name, Threads: core.Single, Settings: settings}, func(j *core.Job) error {
				var asked, told int
				ep, err := j.Attach(counters(&asked, &told))
				if err != nil {
					return err
				}
				want := 0
				if met && j.Rank() == 0 {
					want = ranks - 1
					err = ep.WaitUntil(func() bool { return asked >= want })
				} else if met {
					if err = ep.RequestShort(0, request, 1); err == nil {
						err = ep.WaitUntil(func() bool { return told == 1 })
					}
				}
				known.Done()
				if err != nil {
					return err
				}
				if j.Rank() == 0 {
					sent.Wait()
					want += (ranks - 1) * credits
					return ep.WaitUntil(func() bool { return asked >= want })
				}
				known.Wait()
				n, err := sendAll(ep, 0)
				sent.Done()
				if n != credits {
					t.Errorf("rank %d could send %d requests, want %d", j.Rank(), n, credits)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if most := peak.Load(); most < int64(credits)*(ranks-1)/2 || most > int64(credits)*(ranks-1) {
				t.Errorf("%d messages were unexpected at once; want about %d, not more", most, credits*(ranks-1))
			}
		})
	}
}

// traffic has rank 0 send n requests to rank 1, in virtual time, and wait for what answers
// there are; it returns how many messages of the network that took, and how long.
func traffic(t *testing.T, n int, answered bool, settings map[string]string) (messages int64, took core.Time) {
	t.Helper()
	var count atomic.Int64
	o := modelled
	o.Messages = &count
	arg := uint32(0)
	if answered {
		arg = 1
	}
	err := core.RunModel(2, core.Config{Conduit: register(t, o), Settings: settings}, func(j *core.Job) error {
		var asked, told int
		ep, err := j.Attach(counters(&asked, &told))
		if err != nil {
			return err
		}
		start := j.Now()
		if j.Rank() == 1 {
			err := ep.WaitUntil(func() bool { return asked >= n })
			messages = count.Load()
			return err
		}
		for range n {
			if err := ep.RequestShort(1, request, arg); err != nil {
				return err
			}
		}
		err = ep.WaitUntil(func() bool { return !answered || told >= n })
		took = j.Now() - start
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return messages, took
}

// TestPacking compares the numbers of messages of the network. A message that finds nothing
// before it is not delayed by packing.
func TestPacking(t *testing.T) {
	settings := func(pack string) map[string]string { return map[string]string{"pack": pack} }
	_, alone := traffic(t, 1, true, settings("off"))
	off, slow := traffic(t, 1000, true, settings("off"))
	for _, pack := range []string{"replies", "all"} {
		if _, took := traffic(t, 1, true, settings(pack)); took != alone {
			t.Errorf("%s: one exchange takes %v, without packing %v", pack, took, alone)
		}
	}
	replies, _ := traffic(t, 1000, true, settings("replies"))
	all, fast := traffic(t, 1000, true, settings("all"))
	if replies >= off || 4*all > off {
		t.Errorf("a thousand exchanges take %d messages, with packed replies %d, with all packed %d", off, replies, all)
	}
	if fast >= slow {
		t.Errorf("they take %v, packed %v", slow, fast)
	}
	t.Logf("a thousand exchanges: %d messages in %v; packed replies %d; all packed %d in %v", off, slow, replies, all, fast)
}

// TestCredits counts the messages of a flood that nobody answers: credits are returned half of
// them at a time.
func TestCredits(t *testing.T) {
	const n = 1024
	for _, depth := range []int{1, 2, 3, 32} {
		messages, _ := traffic(t, n, false, map[string]string{"pack": "off", "depth": strconv.Itoa(depth)})
		every := max(1, depth/2)
		if extra := messages - n; extra < int64((n-depth)/every) || extra > int64(n/every+4) {
			t.Errorf("depth %d: %d messages besides %d requests; want one for %d requests", depth, extra, n, every)
		}
	}
}

// TestManyTags sends more payloads of their own than there are tags.
func TestManyTags(t *testing.T) {
	const n = mpi.MaxTag + 1000
	name := register(t, mpitest.Options{Unruly: true})
	err := core.RunGoroutines(2, core.Config{Conduit: name, Threads: core.Single, Settings: map[string]string{"packet": "512"}}, func(j *core.Job) error {
		got, data := 0, make([]byte, 600)
		ep, err := j.Attach(core.AttachSpec{Segment: "4096", Handlers: []core.HandlerEntry{
			{Index: request, Func: func(_ *core.Token, args []uint32, b []byte) {
				if len(b) != len(data) || b[0] != byte(args[0]) || b[len(b)-1] != byte(args[0]) {
					t.Errorf("message %d has %d bytes, from %d to %d", args[0], len(b), b[0], b[len(b)-1])
				}
				got++
			}},
		}})
		if err != nil {
			return err
		}
		if j.Rank() == 1 {
			return ep.WaitUntil(func() bool { return got >= n })
		}
		for i := range n {
			data[0], data[len(data)-1] = byte(i), byte(i)
			if err := ep.RequestMedium(1, request, data, uint32(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Networks that cannot run in the job's kind of time are refused by name.
func TestTime(t *testing.T) {
	attach := func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{Segment: "0"})
		return err
	}
	name := fmt.Sprint(t.Name(), names.Add(1))
	mpi.Register(name, mpitest.Network("live", mpitest.Options{}), mpitest.Network("model", modelled))
	for _, err := range []error{
		core.RunGoroutines(1, core.Config{Conduit: name, Profile: "model"}, attach),
		core.RunModel(1, core.Config{Conduit: name, Profile: "live"}, attach),
	} {
		if err == nil {
			t.Error("a network runs in the wrong kind of time")
		}
	}
	if err := core.RunGoroutines(1, core.Config{Conduit: name}, attach); err != nil {
		t.Error(err)
	}
}

// BenchmarkExchange is a request of a rank to itself and the reply: the work of both ends
// without a change of goroutines.
func BenchmarkExchange(b *testing.B) {
	benchmark(b, func(ep *core.Endpoint, asked, told *int) error {
		for i := range b.N {
			if err := ep.RequestShort(0, request, 1); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return *told > i }); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkFlood is a stream of requests of a rank to itself that are not answered.
func BenchmarkFlood(b *testing.B) {
	benchmark(b, func(ep *core.Endpoint, asked, told *int) error {
		for range b.N {
			if err := ep.RequestShort(0, request, 0); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return *asked >= b.N })
	})
}

func benchmark(b *testing.B, run func(ep *core.Endpoint, asked, told *int) error) {
	b.ReportAllocs()
	name := register(b, mpitest.Options{})
	err := core.RunGoroutines(1, core.Config{Conduit: name, Threads: core.Single}, func(j *core.Job) error {
		var asked, told int
		ep, err := j.Attach(counters(&asked, &told))
		if err != nil {
			return err
		}
		b.ResetTimer()
		err = run(ep, &asked, &told)
		b.StopTimer()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// TestSegmentLater has ranks that know each other come to segments that they reach as memory: a Long is
// then stored in its place as if the segments had been there from the first.
func TestSegmentLater(t *testing.T) {
	sends := func(later bool) (n int64) {
		var count atomic.Int64
		name := register(t, mpitest.Options{Reach: true, Messages: &count})
		err := core.RunGoroutines(2, core.Config{Conduit: name}, func(j *core.Job) error {
			var asked, told int
			spec := counters(&asked, &told)
			spec.Segment, spec.SegmentLater = "1MB", later
			ep, err := j.Attach(spec)
			if err != nil {
				return err
			}
			if err := ep.RequestShort(1-j.Rank(), request, 1); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return asked > 0 && told > 0 }); err != nil {
				return err
			}
			if later {
				if err := ep.AttachSegment(spec.Segment); err != nil {
					return err
				}
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
			if j.Rank() == 1 {
				return ep.WaitUntil(func() bool { return asked > 2 })
			}
			before := count.Load()
			if err := ep.RequestLong(1, request, make([]byte, 100_000), 0, 1); err != nil {
				return err
			}
			err = ep.WaitUntil(func() bool { return told > 1 })
			n = count.Load() - before
			return errors.Join(err, ep.RequestShort(1, request, 0))
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if at, later := sends(false), sends(true); at != later {
		t.Errorf("a Long and its answer take %d messages, %d after a segment that has come later", at, later)
	}
}
