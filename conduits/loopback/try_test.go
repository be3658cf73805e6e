package loopback

import (
	"fmt"
	"github.com/aqueduct-go/aqueduct/core"
	"testing"
)

func body(N int) func(j *core.Job) error {
	return func(j *core.Job) error {
		var got int
		hs := []core.HandlerEntry{
			{Index: 200, Func: func(t *core.Token, a []uint32, d []byte) { t.ReplyShort(201, a...) }},
			{Index: 201, Func: func(t *core.Token, a []uint32, d []byte) { got++ }},
		}
		ep, err := j.Attach(core.AttachSpec{Segment: "1MB", Handlers: hs})
		if err != nil {
			return err
		}
		for i := range N {
			peer := core.Rank((int(j.Rank()) + 1) % j.Size())
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
		return nil
	}
}

func TestTry(t *testing.T) {
	for _, th := range []core.Threads{core.Many, core.Single} {
		if err := core.RunGoroutines(4, core.Config{Conduit: "loopback", Threads: th}, body(1000)); err != nil {
			t.Fatal(err)
		}
		if err := core.RunModel(4, core.Config{Conduit: "loopback", Threads: th}, body(1000)); err != nil {
			t.Fatal(err)
		}
		if err := core.RunGoroutines(1, core.Config{Conduit: "loopback", Threads: th}, body(1000)); err != nil {
			t.Fatal(err)
		}
	}
}
func BenchmarkModel(b *testing.B) { core.RunModel(2, core.Config{Conduit: "loopback"}, body(b.N)) }
func BenchmarkLive(b *testing.B)  { core.RunGoroutines(2, core.Config{Conduit: "loopback"}, body(b.N)) }
