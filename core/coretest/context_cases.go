package coretest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	"golang.org/x/sync/errgroup"
)

var contextCases = []Case{{
	Name:  "context/one-goroutine",
	Rule:  "one goroutine may use several contexts in turn, in any mode",
	Ranks: []int{1, 2}, Body: contextOneGoroutine,
}, {
	Name:  "context/ping-pong-1",
	Rule:  "goroutines exchange messages each with a context of its own (GASNET_PAR): 1 per rank",
	Ranks: []int{2}, Needs: Threads, Body: func(t *T) error { return contextPingPong(t, 1) },
}, {
	Name:  "context/ping-pong-2",
	Rule:  "goroutines exchange messages each with a context of its own: 2 per rank",
	Ranks: []int{1, 2}, Needs: Threads, Body: func(t *T) error { return contextPingPong(t, 2) },
}, {
	Name:  "context/ping-pong-4",
	Rule:  "goroutines exchange messages each with a context of its own: 4 per rank",
	Ranks: []int{2, 3}, Needs: Threads, Body: func(t *T) error { return contextPingPong(t, 4) },
}, {
	Name:  "context/ping-pong-16",
	Rule:  "goroutines exchange messages each with a context of its own: 16 per rank",
	Ranks: []int{2}, Needs: Threads, Body: func(t *T) error { return contextPingPong(t, 16) },
}, {
	Name:  "context/flood",
	Rule:  "many goroutines may flood at once, in every category and form",
	Ranks: []int{1, 2, 3}, Needs: Threads, Body: contextFlood,
}, {
	Name:  "context/come-and-go",
	Rule:  "goroutines that come and go have contexts of their own, made and closed also by handlers (GASNET_PAR, threads at any time)",
	Ranks: []int{1, 2}, Needs: Threads, Body: contextComeAndGo,
}, {
	Name:  "context/reused",
	Rule:  "a context that was closed costs nothing to make again, and does all that a new one does",
	Ranks: []int{1, 2}, Config: lenient, Body: contextReused,
}, {
	Name:  "context/prepared",
	Rule:  "every context may have a prepared request, to the same rank, committed in any order",
	Ranks: []int{1, 2}, Needs: Threads, Body: contextPrepared,
}}

// together runs f on n goroutines, each with a context of its own, and returns when all
// have ended, with the first error.
func together(ep *core.Endpoint, n int, f func(i int, c *core.Context) error) error {
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { return f(i, ep.NewContext()) })
	}
	return g.Wait()
}

func contextOneGoroutine(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	contexts := []*core.Context{&ep.Context, ep.NewContext(), ep.NewContext()}
	for i := range t.Times(300) {
		a, b := contexts[i%3], contexts[(i+1)%3]
		if a.Endpoint() != ep {
			return fmt.Errorf("a context of another endpoint")
		}
		if _, err := b.Prepare(t.Next(), core.Offer{Kind: core.Medium, Least: 8, Most: 8}); err != nil {
			return err
		}
		if err := a.RequestShort(t.Next(), request); err != nil { // b's prepared request restricts only b
			return err
		}
		if err := t.Wait(a, func() bool { return got > 2*i }); err != nil { // nor does it hold up a's
			return err
		}
		if err := b.Commit(request, 8); err != nil {
			return err
		}
		if err := t.Wait(contexts[i/3%3], func() bool { return got >= 2*(i+1) }); err != nil {
			return err
		}
	}
	return nil
}

func contextPingPong(t *T, width int) error {
	told := make([]int, width)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { tok.ReplyShort(answer, args...) },
		func(_ *core.Token, args []uint32, _ []byte) { told[args[0]]++ })
	if err != nil {
		return err
	}
	n := t.Times(max(400/width, 50))
	return together(ep, width, func(i int, c *core.Context) error {
		for round := range n {
			if err := c.RequestShort(t.Next(), request, uint32(i)); err != nil {
				return err
			}
			if err := t.Wait(c, func() bool { return told[i] > round }); err != nil {
				return err
			}
		}
		return nil
	})
}

func contextFlood(t *T) error {
	const width = 4
	asked := make([]*tally, width) // by the sender's goroutine
	told := make([]int, width)
	for i := range asked {
		asked[i] = newTally(t)
	}
	var all int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked[args[0]].add(tok.Src(), args[1])
		if err := checkPayload(data, args[1], len(data)); err != nil {
			t.Errorf("%v from rank %d: %v", tok.Kind(), tok.Src(), err)
		}
		all++
		tok.ReplyShort(answer, args[0])
	}, func(_ *core.Token, args []uint32, _ []byte) { told[args[0]]++ })
	if err != nil {
		return err
	}
	n := t.Times(1000)
	var lc core.Completion
	err = together(ep, width, func(i int, c *core.Context) error {
		for seq := range n {
			dst := core.Rank(seq % t.Size())
			if err := contextSend(t, c, dst, i, seq, &lc); err != nil {
				return err
			}
		}
		return t.Wait(c, func() bool { return told[i] >= n })
	})
	if err != nil {
		return err
	}
	if err := ep.WaitLocal(&lc); err != nil {
		return err
	}
	want := 0 // what each rank's every goroutine sends here
	for seq := range n {
		if seq%t.Size() == int(t.Rank()) {
			want += width * t.Size()
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return all >= want }); err != nil {
		return err
	}
	return ep.Barrier()
}

// contextSend sends message seq of goroutine i in a form that depends on both. Longs have
// places of their own as long as they are under way.
func contextSend(t *T, c *core.Context, dst core.Rank, i, seq int, lc *core.Completion) error {
	args := []uint32{uint32(i), uint32(seq)}
	switch (i + seq) % 5 {
	case 0:
		return c.RequestShort(dst, request, args...)
	case 1:
		return c.RequestMedium(dst, request, pattern(args[1], 200), args...)
	case 2:
		return c.Request(dst, core.Message{Kind: core.Medium, Handler: request, Data: pattern(args[1], 300), LC: lc}, args...)
	case 3:
		off := uint64(int(t.Rank())*4+i)*(segment/64) + uint64(seq)*8%(segment/64)
		return c.RequestLong(dst, request, pattern(args[1], 8), off, args...)
	}
	b, err := c.Prepare(dst, core.Offer{Kind: core.Medium, Least: 10, Most: 100, NArgs: 2})
	if err != nil {
		return err
	}
	return c.Commit(request, copy(b, pattern(args[1], 100)), args...)
}

func contextComeAndGo(t *T) error {
	const width = 4
	told := make([]int, width)
	var ep *core.Endpoint
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		if err := ep.NewContext().Close(); err != nil {
			t.Errorf("made and closed in a handler: %v", err)
		}
		tok.ReplyShort(answer, args...)
	}, func(_ *core.Token, args []uint32, _ []byte) { told[args[0]]++ })
	if err != nil {
		return err
	}
	if err := ep.RequestShort(t.Next(), request, 0); err != nil { // a handler makes the first
		return err
	}
	if err := t.Wait(&ep.Context, func() bool { return told[0] > 0 }); err != nil {
		return err
	}
	n := t.Times(40)
	var g errgroup.Group
	for i := range width {
		g.Go(func() error {
			for round := range n {
				ended := make(chan error)
				go func() {
					c := ep.NewContext()
					err := c.RequestShort(t.Next(), request, uint32(i))
					if err == nil {
						err = t.Wait(c, func() bool { return told[i] > round })
					}
					ended <- errors.Join(err, c.Close())
				}()
				if err := <-ended; err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ep.Barrier()
}

func contextReused(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	var c *core.Context
	for i := range t.Times(20) {
		c = ep.NewContext()
		if err := c.RequestShort(t.Next(), request); err != nil {
			return err
		}
		if err := t.Wait(c, func() bool { return got > i }); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	refused(t, "a request by a closed context", c.RequestShort(t.Next(), request))
	if n := testing.AllocsPerRun(100, func() { ep.NewContext().Close() }); n > 0 && !shm.RaceEnabled {
		t.Errorf("to make and close a context allocates %v times", n)
	}
	return nil
}

func contextPrepared(t *T) error {
	const width = 8
	asked := newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked.add(tok.Src(), args[0])
		if err := checkPayload(data, args[0], 64); err != nil {
			t.Errorf("%v: %v", tok.Kind(), err)
		}
	})
	if err != nil {
		return err
	}
	rounds := t.Times(50)
	var turns [width + 1]chan struct{} // turn i is over when i+1 have committed
	for round := range rounds {
		var ready sync.WaitGroup
		ready.Add(width)
		for i := range turns {
			turns[i] = make(chan struct{})
		}
		close(turns[width])
		err := together(ep, width, func(i int, c *core.Context) error {
			defer close(turns[i])
			b, err := c.Prepare(t.Next(), core.Offer{Kind: kinds[1+i%2], Least: 64, Most: 64, NArgs: 1, Off: uint64(i) * 64})
			ready.Done()
			if err != nil {
				return err
			}
			seq := uint32(round*width + i)
			copy(b, pattern(seq, 64))
			ready.Wait()
			<-turns[i+1] // the last commits first
			return c.Commit(request, 64, seq)
		})
		if err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return asked.n >= (round+1)*width }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil { // the places are used again
			return err
		}
	}
	return nil
}
