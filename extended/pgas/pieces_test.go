package pgas

import (
	"errors"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
)

// TestPiecesAfterError has the last transfer of a range fail: those under way are
// synchronised all the same, so that the caller's memory is not in use.
func TestPiecesAfterError(t *testing.T) {
	refused := errors.New("refused")
	err := core.RunGoroutines(2, core.Config{Conduit: "loopback", Threads: core.Single}, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
		if err != nil {
			return err
		}
		c := &ep.Context
		h, err := NewHeap(ep.World())
		if err != nil {
			return err
		}
		a, err := NewArray[uint64](c, h, 40, 1)
		if err != nil {
			return err
		}
		for i, p := range a.All() {
			*p = uint64(i) + 1
		}
		if err := ep.Barrier(); err != nil || job.Rank() != 0 {
			return errors.Join(err, ep.Barrier())
		}
		var begun []extended.Event
		got := make([]uint64, 40)
		err = a.pieces(c, "GetRange", got, 0, func(p Ptr[uint64], part []uint64) (extended.Event, error) {
			if len(begun) == len(got)-1 {
				return 0, refused
			}
			ev, err := p.GetSliceNB(c, part)
			begun = append(begun, ev)
			return ev, err
		})
		if !errors.Is(err, refused) || len(begun) != len(got)-1 {
			t.Errorf("%d transfers, then %v", len(begun), err)
		}
		for i, ev := range begun {
			if _, err := c.Test(ev); ev != 0 && err == nil {
				t.Errorf("transfer %d was not synchronised", i)
			}
			if got[i] != uint64(i)+1 {
				t.Errorf("element %d is %d", i, got[i])
			}
		}
		return ep.Barrier()
	})
	if err != nil {
		t.Fatal(err)
	}
}
