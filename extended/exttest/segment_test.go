package exttest_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

// TestMaxSegment has the Extended API do with what a limit leaves.
func TestMaxSegment(t *testing.T) {
	for _, max := range []string{"64KB", "1MB"} {
		c := &coretest.Case{
			Name: "max-segment/extended", Rule: "the Extended API works in small segments", Ranks: []int{1, 3},
			Body: func(t *coretest.T) error {
				limit, _ := core.ParseSize(max, 0)
				if n, err := extended.MaxSegment(t.Job, core.AttachSpec{}); n != limit || err != nil {
					t.Errorf("at most %d bytes: %v; want %d", n, err, limit)
				}
				ep, err := extended.Attach(t.Job, core.AttachSpec{})
				if err != nil {
					return err
				}
				size := ep.SegmentSize(t.Next())
				if size != limit {
					t.Errorf("the program has %d bytes of %d", size, limit)
				}
				b := []byte{byte(t.Rank()) + 1}
				if err := ep.Put(t.Next(), uint64(size-1), b); err != nil {
					return err
				}
				if err := ep.World().Barrier(&ep.Context); err != nil {
					return err
				}
				if got := ep.Segment()[size-1]; got != byte((int(t.Rank())+t.Size()-1)%t.Size())+1 {
					t.Errorf("the last byte is %d", got)
				}
				if err := ep.Put(t.Next(), uint64(size), b); err == nil {
					t.Errorf("a put beyond the program's part was accepted")
				}
				return nil
			},
		}
		for _, profile := range []string{"default", "native"} {
			cfg := core.Config{Conduit: "loopback", Profile: profile, Settings: map[string]string{"max-segment": max}}
			t.Run(max+"/"+profile+"/live", func(t *testing.T) { coretest.RunCase(t, coretest.Goroutines, cfg, c) })
			t.Run(max+"/"+profile+"/model", func(t *testing.T) { coretest.RunCase(t, coretest.Model, cfg, c) })
		}
	}
}
