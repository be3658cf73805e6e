package libmpi_test

import (
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// computing is about a rank that sends and then computes: the service calls MPI in its place.
var computing = &coretest.Case{
	Name:  "service/computing",
	Rule:  "what a rank has sent arrives while it computes: messages that wait to be packed, and one that moves only while both ends call MPI",
	Ranks: []int{2},
	Body: func(t *coretest.T) error {
		const shorts, size, arrived = 5, 32 << 10, "all has arrived"
		var got int
		ep, err := t.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: core.ClientHandlers, Func: func(*core.Token, []uint32, []byte) { got++ }},
		}})
		if err != nil {
			return err
		}
		if t.Rank() == 1 {
			err := t.Wait(&ep.Context, func() bool { return got > shorts })
			t.Note(arrived)
			return err
		}
		for range shorts {
			if err := ep.RequestShort(1, core.ClientHandlers); err != nil {
				return err
			}
		}
		if err := ep.RequestMedium(1, core.ClientHandlers, make([]byte, size)); err != nil {
			return err
		}
		for !t.Noted(arrived) {
			runtime.Gosched()
		}
		return nil
	},
}

func TestService(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			coretest.RunCase(t, libmpitest.Launcher(t, library), core.Config{Conduit: "mpi", Profile: library, Threads: core.Single}, computing)
		})
	}
}
