package myrinet_test

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// pingPong has rank `from` compute, then ask rank `to`, whose answer it waits for, again and again.
func pingPong(t *testing.T, ranks int, cfg core.Config, from, to core.Rank, compute time.Duration, rounds int) {
	t.Helper()
	cfg.Conduit, cfg.Profile = "myrinet", "live"
	over := make(chan error, 1)
	var done = make([]int, ranks)
	go func() {
		over <- core.RunGoroutines(ranks, cfg, func(j *core.Job) error {
			me := int(j.Rank())
			pongs, ends := 0, 0
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: 200, Name: "ping", Func: func(tok *core.Token, _ []uint32, _ []byte) {
					if err := tok.ReplyShort(201); err != nil {
						t.Error(err)
					}
				}},
				{Index: 201, Name: "pong", Func: func(*core.Token, []uint32, []byte) { pongs++ }},
				{Index: 202, Name: "end", Func: func(*core.Token, []uint32, []byte) { ends++ }},
			}})
			if err != nil {
				return err
			}
			if core.Rank(me) == from {
				for i := range rounds {
					for start := time.Now(); time.Since(start) < compute; {
					}
					if err := ep.RequestShort(to, 200); err != nil {
						return err
					}
					if err := ep.WaitUntil(func() bool { return pongs > i }); err != nil {
						return err
					}
					done[me] = i + 1
				}
				for r := range ranks {
					if err := ep.RequestShort(core.Rank(r), 202); err != nil {
						return err
					}
				}
			}
			return ep.WaitUntil(func() bool { return ends > 0 })
		})
	}()
	select {
	case err := <-over:
		if err != nil {
			t.Errorf("%d rounds: %v", done[from], err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("stuck after %d of %d rounds", done[from], rounds)
	}
}

// TestDue has messages lost while nobody looks for them but the card's goroutine: the rank that has sent them computes, and sleeps when it waits. The time-out may be due before the goroutine would have looked.
func TestDue(t *testing.T) {
	lossy := func(more ...string) map[string]string {
		s := map[string]string{"errors": "100000"}
		for i := 0; i < len(more); i += 2 {
			s[more[i]] = more[i+1]
		}
		return s
	}
	for _, c := range []struct {
		name     string
		ranks    int
		cfg      core.Config
		from, to core.Rank
	}{
		{"of the card", 2, core.Config{Sleep: 1, Settings: lossy()}, 0, 1},
		{"of another process", 4, core.Config{Sleep: 1, Settings: lossy("per-host", "2")}, 1, 2},
		{"goroutine alone", 2, core.Config{Sleep: 1, Settings: lossy("nic", "goroutine")}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pingPong(t, c.ranks, c.cfg, c.from, c.to, 3*time.Millisecond, 50)
		})
	}
}
