package exttest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// The handlers of atomics: their indices are a matter between peers.
const (
	atomicHandler  = core.ExtendedHandlers + 13
	fetchedHandler = core.ExtendedHandlers + 14
)

// TestMalformedAtomics has rank 1 send what no correct peer sends: rank 0 ends the job.
func TestMalformedAtomics(t *testing.T) {
	const uint64Add = 3<<8 | 3
	for _, x := range []struct {
		handler core.HandlerIndex
		args    []uint32
		says    string
	}{
		{atomicHandler, []uint32{0, uint64Add, 0, 0, 1, 0, 0}, "7 arguments"},
		{atomicHandler, nil, "0 arguments"},
		{atomicHandler, []uint32{0, 6<<8 | 3, 0, 0, 1, 0, 0, 0}, "no atomic operation 0x603"},   // no type
		{atomicHandler, []uint32{0, 3<<8 | 12, 0, 0, 1, 0, 0, 0}, "no atomic operation"},        // no operation
		{atomicHandler, []uint32{0, 5 << 8, 0, 0, 1, 0, 0, 0}, "no atomic operation"},           // And of Float64
		{atomicHandler, []uint32{0, 1 << 31, 0, 0, 1, 0, 0, 0}, "no atomic operation"},          // neither
		{atomicHandler, []uint32{0, uint64Add, 4, 0, 1, 0, 0, 0}, "offset 4 is not a multiple"}, // not aligned
		{atomicHandler, []uint32{0, uint64Add, 1 << 20, 0, 1, 0, 0, 0}, "outside the segment"},  // the next byte
		{atomicHandler, []uint32{0, uint64Add, ^uint32(7), ^uint32(0), 1, 0, 0, 0}, "outside"},  // -8
		{fetchedHandler, []uint32{1 << 24, 1, 2}, "answers operation 16777216, which is not"},   // of no operation
		{fetchedHandler, []uint32{0xffffffff, 1, 2}, "answers operation 4294967295"},            // of no operation
		{fetchedHandler, []uint32{0, 1}, "2 arguments"},                                         // half a value
		{fetchedHandler, []uint32{underWay, 1, 2}, "fetches no element"},                        // of a barrier
	} {
		t.Run(x.says, func(t *testing.T) {
			err := core.RunGoroutines(2, core.Config{Conduit: "loopback"}, func(job *core.Job) error {
				return sendMalformed(job, x.handler, x.args)
			})
			if err == nil || !strings.Contains(err.Error(), "from rank 1") || !strings.Contains(err.Error(), x.says) {
				t.Errorf("the job ended with %v", err)
			}
		})
	}
}

// underWay stands for the number of an operation that rank 0 waits for.
const underWay = 0xabcdef

func sendMalformed(job *core.Job, h core.HandlerIndex, args []uint32) error {
	number, told := uint32(0), 0
	ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{{
		Index: core.ClientHandlers, Func: func(_ *core.Token, args []uint32, _ []byte) { number = args[0]; told++ },
	}}})
	if err != nil {
		return err
	}
	if ep.Rank() == 0 {
		ev, err := ep.World().BarrierNB(&ep.Context) // which rank 1 never joins
		if err != nil {
			return err
		}
		if err := ep.RequestShort(1, core.ClientHandlers, uint32(ev)-1); err != nil {
			return err
		}
		return errors.Join(ep.Wait(ev), fmt.Errorf("the barrier ended"))
	}
	if err := ep.WaitUntil(func() bool { return told > 0 }); err != nil {
		return err
	}
	args = append([]uint32(nil), args...)
	if len(args) > 0 && args[0] == underWay {
		args[0] = number
	}
	if err := ep.RequestShort(0, h, args...); err != nil {
		return err
	}
	return ep.WaitUntil(func() bool { return false })
}
