package myrinet_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// descriptors is a job of six processes, which after Attach have descriptors of memory of their own alone, and of bells of those alone whom they ring.
var descriptors = &coretest.Case{
	Name: "descriptors/few", Rule: "a process keeps no descriptor of another's memory", Ranks: []int{6}, Needs: coretest.Processes,
	Body: func(t *coretest.T) error {
		open := func() (memory, bells int, err error) {
			fds, err := os.ReadDir("/proc/self/fd")
			for _, fd := range fds {
				switch to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); {
				case strings.HasPrefix(to, "/memfd:aqueduct"):
					memory++
				case to == "anon_inode:[eventfd]":
					bells++
				}
			}
			return memory, bells, err
		}
		_, before, err := open()
		if err != nil {
			return err
		}
		ep, err := t.Attach(core.AttachSpec{Segment: "64KB"})
		if err != nil {
			return err
		}
		memory, bells, err := open()
		const own = 1 + 1 // the conduit's, and core's
		rings := own + 1  // that of the first rank of the host
		if t.Rank()%2 == 0 {
			rings = own + 1 + 2 // that of its neighbour, and those of the first ranks of the other hosts
		}
		if err == nil && (memory > 2 || bells-before > rings) { // memory: the board and the segment
			err = fmt.Errorf("rank %d has %d descriptors of memory, and %d of bells more than before Attach", t.Rank(), memory, bells-before)
		}
		if err != nil {
			return err
		}
		return ep.Barrier()
	},
}

// TestDescriptors runs it with two ranks on each host, so that segments are shared too.
func TestDescriptors(t *testing.T) {
	coretest.RunCase(t, spawntest.Processes, core.Config{Conduit: "myrinet", Profile: "live", Settings: map[string]string{"per-host": "2"}}, descriptors)
}
