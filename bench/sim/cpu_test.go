package sim

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// sleeper waits on the host in an event, as a process does that is not given a CPU.
type sleeper struct{}

func (sleeper) Fire(_, _ uint64) { <-time.After(200 * time.Millisecond) }

// TestWaitingIsNotCounted times a kernel that waits for the host and does nothing.
func TestWaitingIsNotCounted(t *testing.T) {
	k := vtime.New(1)
	k.At(0, sleeper{}, 0, 0)
	if v, err := timed(1, k); err != nil || v.ns >= 100e6 {
		t.Errorf("%v ns, error %v; want far less than the 200 ms that passed", v.ns, err)
	}
}
