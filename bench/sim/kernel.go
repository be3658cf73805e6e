package sim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// holder has each event schedule another one, at distances by chance.
type holder struct {
	kernel *vtime.Kernel
	left   int
	delays [1024]vtime.Time
}

// Fire implements vtime.Target.
func (h *holder) Fire(a, b uint64) {
	if h.left > 0 {
		h.left--
		h.kernel.At(h.kernel.Now()+h.delays[h.left%len(h.delays)], h, a, b)
	}
}

// holdEvents keeps as many events scheduled as there are ranks until n more have fired.
func holdEvents(ranks, n int) (speed, error) {
	k := vtime.New(1)
	h := &holder{kernel: k, left: n}
	random := k.Rand("delay")
	for i := range h.delays {
		h.delays[i] = vtime.Time(random.ExpFloat64() * float64(vtime.Microsecond))
	}
	for i := range ranks {
		k.At(h.delays[i%len(h.delays)], h, 0, 0)
	}
	v, err := timed(n+ranks, k)
	if fired := k.Events(); err == nil && fired != uint64(n+ranks) {
		err = fmt.Errorf("%d events fired of %d", fired, n+ranks)
	}
	return v, err
}

// takeTurns has ranks take turns, about n in all.
func takeTurns(ranks, n int) (speed, error) {
	k := vtime.New(1)
	turns := max(1, n/ranks)
	for range ranks {
		k.Spawn("turn", func(p *vtime.Proc) {
			for range turns {
				p.Charge(vtime.Nanosecond)
				p.Sync()
			}
		})
	}
	return timed(turns*ranks, k)
}
