package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// ForeignBarrier is how code in another language, which sends and takes messages itself (core.Foreign), carries out barriers of the
// world: it does what engine.Barrier does, where a context or a handler would.
type ForeignBarrier struct {
	State   unsafe.Pointer    // what engine.Barrier.Relocate returns
	Handler core.HandlerIndex // of a notice, a short request with the team in two words, the epoch, the number, the flags and the id
	Team    uint64            // the world's id
	// Later has polls in Go go on with a barrier, one of whose notices has found no room. It is called where handlers run.
	Later func()
}

// ForeignBarrier has the world's barrier lie in memory outside the Go heap, which memory returns; see engine.Barrier.Relocate.
func (c *Context) ForeignBarrier(memory func(bytes uintptr) unsafe.Pointer) (*ForeignBarrier, error) {
	t := c.ep.world
	f := &ForeignBarrier{Handler: handlerBarrier, Team: worldID, Later: func() { c.ep.engage(t) }}
	err := c.Exclusively(func() { f.State = t.barrier.Relocate(memory) })
	return f, err
}
