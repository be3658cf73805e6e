package mpi_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	"github.com/aqueduct-go/aqueduct/core"
)

// A rank that sends and then computes holds nothing back: neither what waits to be packed nor a
// payload that moves only while its sender calls the transport.
func TestSenderComputes(t *testing.T) {
	const shorts, size = 5, 32 << 10
	for _, threads := range []core.Threads{core.Single, core.Many} {
		name := register(t, mpitest.Options{Async: true})
		arrived := make(chan struct{})
		err := core.RunGoroutines(2, core.Config{Conduit: name, Threads: threads}, func(j *core.Job) error {
			var got int
			count := func(*core.Token, []uint32, []byte) { got++ }
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: request, Func: count}}})
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				err := ep.WaitUntil(func() bool { return got == shorts+1 })
				close(arrived)
				return err
			}
			for range shorts {
				if err := ep.RequestShort(1, request); err != nil {
					return err
				}
			}
			if err := ep.RequestMedium(1, request, make([]byte, size)); err != nil {
				return err
			}
			<-arrived // without a call of the library
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
