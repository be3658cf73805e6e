package sci

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

func BenchmarkSelf(b *testing.B) {
	core.RunGoroutines(1, core.Config{Conduit: "sci", Threads: core.Single}, func(j *core.Job) error {
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
		b.ResetTimer()
		for i := range b.N {
			if err := ep.RequestShort(0, 200); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return got > i }); err != nil {
				return err
			}
		}
		return nil
	})
}
func BenchmarkSelfFlood(b *testing.B) {
	core.RunGoroutines(1, core.Config{Conduit: "sci", Threads: core.Single}, func(j *core.Job) error {
		var got int
		hs := []core.HandlerEntry{
			{Index: 202, Func: func(t *core.Token, a []uint32, d []byte) { got++ }},
		}
		ep, err := j.Attach(core.AttachSpec{Segment: "4MB", Handlers: hs})
		if err != nil {
			return err
		}
		b.ResetTimer()
		for range b.N {
			if err := ep.RequestShort(0, 202); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return got >= b.N })
	})
}
