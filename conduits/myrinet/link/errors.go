package link

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// Errors are the chances of a packet on a cable, each cable that it crosses anew: fabric.Constants has the same of a modelled network.
type Errors struct {
	Corrupt  machine.Chance // a bit is changed
	Truncate machine.Chance // it ends early
	Lose     machine.Chance // it vanishes
}

// check returns an error if there can be no such chances, or if nothing decides by them.
func (e Errors) check(chance *rand.Rand) error {
	for _, c := range []machine.Chance{e.Corrupt, e.Truncate, e.Lose} {
		if c < 0 || c > machine.Certain {
			return fmt.Errorf("an error of a cable has a chance of %d ppb; it can have 0 to %d", c, machine.Certain)
		}
	}
	if e != (Errors{}) && chance == nil {
		return errors.New("there are errors of cables, and no Rand that decides when")
	}
	return nil
}

// cross has a packet cross a cable. It reports false if the packet is lost. A packet that has been damaged is not changed a second time.
func (p *Port) cross(w *walk, damaged bool) bool {
	e := &p.errors
	if p.happens(e.Lose) {
		p.counts.Lost++
		return false
	}
	left := w.end - w.hops
	if p.happens(e.Truncate) && left > 1 {
		p.counts.Truncated++
		left = 1 + p.chance.IntN(left-1)
		w.end = w.hops + left
	}
	if p.happens(e.Corrupt) && left > 0 && !damaged && w.mask == 0 && w.end == w.packet.Len() {
		p.counts.Corrupted++
		w.wrong, w.mask = w.hops+p.chance.IntN(left), 1<<p.chance.IntN(8)
	}
	return true
}

func (p *Port) happens(c machine.Chance) bool {
	return c > 0 && p.chance.Int64N(int64(machine.Certain)) < int64(c)
}
