package loopback_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// received runs a job in which rank 0 sends n words at times by chance, and returns when rank 1,
// which waits for each by wait, saw them.
func received(t *testing.T, n int, wait func(ep *core.Endpoint, done func() bool) error) (at []core.Time) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	err := core.RunModel(2, modelled(), func(job *core.Job) error {
		came := 0
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 200, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		for i := range n {
			if job.Rank() == 0 {
				job.Compute(time.Duration(random.IntN(3000)))
				if err := ep.RequestShort(1, 200); err != nil {
					return err
				}
				continue
			}
			if err := wait(ep, func() bool { return came > i }); err != nil {
				return err
			}
			at = append(at, job.Now())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestIdleIsPolling wants a wait, which parks where the conduit is idle, to end at the
// picosecond at which polling without a break ends.
func TestIdleIsPolling(t *testing.T) {
	const words = 200
	parked := received(t, words, (*core.Endpoint).WaitUntil)
	polled := received(t, words, func(ep *core.Endpoint, done func() bool) error {
		for !done() {
			if err := ep.Poll(); err != nil {
				return err
			}
		}
		return nil
	})
	if !slices.Equal(parked, polled) {
		t.Errorf("seen at %v, by polling at %v", parked, polled)
	}
}
