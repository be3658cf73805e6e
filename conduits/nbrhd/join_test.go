package nbrhd_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestJoin has a job over udp whose near ranks talk through memory, and one whose do not: with the settings of udp.
func TestJoin(t *testing.T) {
	for near, conduit := range map[core.Near]string{core.NearOn: "nbrhd", core.NearAuto: "udp", core.NearOff: "udp"} {
		cfg := core.Config{Conduit: "udp", Near: near, Settings: map[string]string{"window": "64"}}
		err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
			ep, err := j.Attach(core.AttachSpec{Segment: "4096"})
			if err != nil {
				return err
			}
			memory, err := ep.Reach(1 - j.Rank())
			if err != nil {
				return err
			}
			if got := j.Config().Conduit; got != conduit || (memory != nil) != (conduit == "nbrhd") {
				return fmt.Errorf("conduit %s, want %s; %d bytes are in reach", got, conduit, len(memory))
			}
			return ep.Barrier()
		})
		if err != nil {
			t.Errorf("near=%v: %v", near, err)
		}
	}
	// What is wrong with a setting of udp is told.
	cfg := core.Config{Conduit: "udp", Near: core.NearOn, Settings: map[string]string{"window": "3"}}
	err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	})
	if err == nil {
		t.Error("a window of 3 passes")
	}
}
