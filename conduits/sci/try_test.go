package sci

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

func body(N int) func(j *core.Job) error {
	return func(j *core.Job) error {
		var got int
		hs := []core.HandlerEntry{
			{Index: 200, Func: func(t *core.Token, a []uint32, d []byte) { t.ReplyShort(201, a...) }},
			{Index: 201, Func: func(t *core.Token, a []uint32, d []byte) { got++ }},
			{Index: 202, Func: func(t *core.Token, a []uint32, d []byte) { got++ }},
		}
		ep, err := j.Attach(core.AttachSpec{Segment: "4MB", Handlers: hs})
		if err != nil {
			return err
		}
		peer := core.Rank((int(j.Rank()) + 1) % j.Size())
		for i := range N {
			if err := ep.RequestShort(peer, 200, uint32(i)); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return got > i }); err != nil {
				return err
			}
		}
		if got != N {
			return fmt.Errorf("got %d", got)
		}
		big := make([]byte, 900)
		ep.Barrier()
		for range N {
			if err := ep.RequestMedium(peer, 202, big, 1, 2, 3); err != nil {
				return err
			}
		}
		if err := ep.WaitUntil(func() bool { return got >= 2*N }); err != nil {
			return err
		}
		big = make([]byte, 100003)
		for range N / 100 {
			if err := ep.RequestLong(peer, 202, big, 77, 1, 2, 3); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return got >= 2*N+N/100 })
	}
}

func TestTry(t *testing.T) {
	for _, pr := range []string{"live", "paper"} {
		for _, n := range []int{1, 4, 20} {
			for _, th := range []core.Threads{core.Many, core.Single} {
				t.Log(pr, n, th)
				if err := core.RunGoroutines(n, core.Config{Conduit: "sci", Profile: pr, Threads: th}, body(2000)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkLive(b *testing.B) {
	core.RunGoroutines(2, core.Config{Conduit: "sci", Threads: core.Single}, body(b.N))
}
