package udp

import (
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// BenchmarkRoundTrip is a short request and its reply between two ranks that one goroutine
// serves in turn: what both processors do for it together, without any waiting. What the kernel
// takes of it is BenchmarkKernel of package socket.
func BenchmarkRoundTrip(b *testing.B) {
	for _, security := range []string{"none", "auth"} {
		b.Run(security, func(b *testing.B) {
			cfg := core.Config{Conduit: "udp", Threads: core.Single, Settings: map[string]string{"security": security}}
			var eps [2]*core.Endpoint
			var attached, measured sync.WaitGroup
			attached.Add(2)
			measured.Add(1)
			err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
				replies := 0
				ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
					{Index: onRequest, Func: func(t *core.Token, _ []uint32, _ []byte) { _ = t.ReplyShort(onReply) }},
					{Index: onReply, Func: func(*core.Token, []uint32, []byte) { replies++ }},
				}})
				eps[j.Rank()] = ep
				attached.Done()
				if err != nil {
					return err
				}
				if j.Rank() == 1 {
					measured.Wait()
					return nil
				}
				defer measured.Done()
				attached.Wait()
				for b.Loop() {
					if err := ep.RequestShort(1, onRequest); err != nil {
						return err
					}
					for want := replies + 1; replies < want; {
						if err := eps[1].Poll(); err != nil {
							return err
						}
						if err := ep.Poll(); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
