package mpi_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	"github.com/aqueduct-go/aqueduct/core"
)

// lendingSpec registers a handler that counts requests and checks that their payload is all of one
// byte, which is the argument.
func lendingSpec(t testing.TB, got *int) core.AttachSpec {
	return core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
		{Index: request, Func: func(_ *core.Token, args []uint32, data []byte) {
			if len(bytes.Trim(data, string([]byte{byte(args[0])}))) != 0 {
				t.Errorf("message %d came with other bytes than were sent", args[0])
			}
			*got++
		}},
	}}
}

// TestPinned sends payloads of the Go heap that are lent, and collected as soon as that is possible.
func TestPinned(t *testing.T) {
	const n, size = 100, 10_000
	for _, reach := range []bool{false, true} {
		name := register(t, mpitest.Options{Unruly: true, Reach: reach})
		err := core.RunGoroutines(2, core.Config{Conduit: name}, func(j *core.Job) error {
			got := 0
			ep, err := j.Attach(lendingSpec(t, &got))
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				return ep.WaitUntil(func() bool { return got >= 2*n })
			}
			var lent core.Completion
			under := 0 // requests whose payloads were leaving when they returned
			for i := range n {
				for _, m := range []core.Message{
					{Kind: core.Medium, Handler: request, LC: &lent},
					{Kind: core.Long, Handler: request, LC: &lent, Off: uint64(i) * size},
				} {
					m.Data = bytes.Repeat([]byte{byte(i)}, size)
					if err := ep.Request(1, m, uint32(i)); err != nil {
						return err
					}
					if lent.Pending() > 0 {
						under++
					}
				}
				if i%10 == 0 {
					runtime.GC()
				}
			}
			if under == 0 {
				t.Errorf("reach %v: no payload was lent", reach)
			}
			return ep.WaitLocal(&lent)
		})
		if err != nil {
			t.Errorf("reach %v: %v", reach, err)
		}
	}
}

// TestPinnedNotWaitedFor ends jobs while payloads are leaving: nothing stays pinned, which the collector
// would notice.
func TestPinnedNotWaitedFor(t *testing.T) {
	name := register(t, mpitest.Options{Unruly: true})
	for range 10 {
		err := core.RunGoroutines(2, core.Config{Conduit: name}, func(j *core.Job) error {
			got := 0
			ep, err := j.Attach(lendingSpec(t, &got))
			if err != nil || j.Rank() == 1 {
				return err
			}
			var lent core.Completion
			return ep.Request(1, core.Message{Kind: core.Long, Handler: request, Data: make([]byte, 100_000), LC: &lent}, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
	}
}

// TestPinnedAllocates: sending what is lent allocates nothing.
func TestPinnedAllocates(t *testing.T) {
	for _, reach := range []bool{false, true} {
		name := register(t, mpitest.Options{Reach: reach})
		err := core.RunGoroutines(1, core.Config{Conduit: name, Threads: core.Single}, func(j *core.Job) error {
			got, want := 0, 0
			ep, err := j.Attach(lendingSpec(t, &got))
			if err != nil {
				return err
			}
			var lent core.Completion
			data := make([]byte, 100_000)
			arrived := func() bool { return got >= want }
			for _, kind := range []core.Kind{core.Medium, core.Long} {
				m := core.Message{Kind: kind, Handler: request, LC: &lent, Data: data[:ep.MaxPayload(0, core.Medium, false)]}
				if n := testing.AllocsPerRun(100, func() {
					want++
					err := ep.Request(0, m, 0)
					if err == nil {
						err = ep.WaitUntil(arrived)
					}
					if err == nil {
						err = ep.WaitLocal(&lent)
					}
					if err != nil {
						panic(err)
					}
				}); n > 0 {
					t.Errorf("reach %v: a %v that is lent takes %v allocations", reach, kind, n)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
