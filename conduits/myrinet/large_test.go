package myrinet_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestLargeToAll has all ranks send large Mediums to all, which are answered, and get from all: over in-transit hosts with and without room for them, and with NICs that refuse what they have no room for.
func TestLargeToAll(t *testing.T) {
	for name, s := range map[string]map[string]string{
		"pool 0": {"topology": "ring:7", "routes": "in-transit", "time-outs": "off", "pool": "0", "buffers": "2"},
		"pool 8": {"topology": "ring:7", "routes": "in-transit", "time-outs": "off"},
		"drop":   {"topology": "ring:7", "routes": "in-transit", "pool": "1", "buffers": "2"},
		"errors": {"topology": "ring:7", "routes": "in-transit", "errors": "3000", "per-host": "1"},
		"shared": {"topology": "ring:4", "routes": "in-transit", "errors": "3000", "per-host": "2"},
		"alone":  {"topology": "ring:4", "per-host": "2", "nic": "goroutine", "controls": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ranks, rounds = 7, 12
			over := make(chan error, 1)
			go func() {
				over <- core.RunGoroutines(ranks, core.Config{Conduit: "myrinet", Profile: "live", Settings: s}, func(j *core.Job) error {
					me := int(j.Rank())
					got, ends := 0, 0
					bad := 0
					ep, err := j.Attach(core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
						{Index: 200, Name: "a", Func: func(tok *core.Token, args []uint32, b []byte) {
							for _, x := range b {
								if x != byte(args[0]) {
									bad++
									break
								}
							}
							if err := tok.ReplyMedium(201, b[:len(b)/2], args[0]); err != nil {
								t.Error(err)
							}
						}},
						{Index: 201, Name: "b", Func: func(_ *core.Token, args []uint32, b []byte) {
							for _, x := range b {
								if x != byte(args[0]) {
									bad++
									break
								}
							}
							got++
						}},
						{Index: 202, Name: "c", Func: func(*core.Token, []uint32, []byte) { ends++ }},
					}})
					if err != nil {
						return err
					}
					r := rand.New(rand.NewPCG(uint64(me), 1))
					buf := make([]byte, 60000)
					sent := 0
					var comp core.Completion
					dst := make([]byte, 30000)
					for i := range rounds {
						for k := range ranks {
							n := 1 + r.IntN(30000)
							v := byte(r.IntN(256))
							b := buf[:n]
							for x := range b {
								b[x] = v
							}
							if err := ep.RequestMedium(core.Rank((me+k)%ranks), 200, b, uint32(v)); err != nil {
								return err
							}
							sent++
							if i%4 == 0 {
								for {
									res, err := ep.GetNative(dst[:n], core.Rank((me+k)%ranks), 0, &comp)
									if err != nil {
										return err
									}
									if res != core.NoRoom {
										break
									}
									if err := ep.Poll(); err != nil {
										return err
									}
								}
							}
						}
					}
					if err := ep.WaitUntil(func() bool { return got == sent }); err != nil {
						return err
					}
					if err := ep.WaitSilent(func() bool { return comp.Pending() == 0 }); err != nil {
						return err
					}
					for k := range ranks {
						if err := ep.RequestShort(core.Rank(k), 202); err != nil {
							return err
						}
					}
					if err := ep.WaitUntil(func() bool { return ends == ranks }); err != nil {
						return err
					}
					if bad > 0 {
						return fmt.Errorf("%d messages are wrong", bad)
					}
					return nil
				})
			}()
			select {
			case err := <-over:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("stuck")
			}
		})
	}
}
