package sci

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
)

// faulty returns what the device asks about faults: one in p.faults operations fails, at
// random by the seed, in all the ways there are. It is nil, and the network perfect, unless
// the setting asks for faults.
func (p *params) faulty(seed uint64) func(sisci.Fault) sisci.Status {
	if p.faults == 0 {
		return nil
	}
	var asked atomic.Uint64
	return func(sisci.Fault) sisci.Status {
		var rng rand.PCG
		rng.Seed(seed, asked.Add(1))
		if rng.Uint64()%uint64(p.faults) != 0 {
			return sisci.OK
		}
		return sisci.Retriable + sisci.Status(rng.Uint64()%3)
	}
}
