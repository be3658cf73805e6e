//go:build !race

package clients_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

func TestCollectives(t *testing.T) {
	everywhere(t, "coll", "are right", 1, 2, 4, 3)
}

// TestImages has ranks with different numbers of images, which are threads.
func TestImages(t *testing.T) {
	program := client{source: "coll", mode: "par"}.build(t)
	for c, conduit := range conduits {
		for i, n := range []int{1, 2, 3} {
			if !coretest.InTurn(t, "images", c*3+i, len(conduits)*3) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", conduit, n), func(t *testing.T) {
				out, status := job(t, n, conduit, program, "3")
				if status != 0 || strings.Count(out, "are right") != n {
					t.Errorf("status %d; want 0 and %d ranks right:\n%s", status, n, out)
				}
			})
		}
	}
}

// TestCollectiveMisuse ends jobs with a message that names the call.
func TestCollectiveMisuse(t *testing.T) {
	program := client{source: "collmisuse", mode: "seq"}.build(t)
	for name, want := range map[string]string{
		"early":    "gasnet_coll_broadcast: called before gasnet_coll_init",
		"late":     "gasnet_coll_init: called a second time",
		"images":   "gasnet_coll_init: rank 0 has 2 images; want 1, or more with GASNET_PAR",
		"flags":    "gasnet_coll_broadcast: flags 0x43 contradict each other",
		"root":     "gasnet_coll_scatter_nb: there is no image 2 of 2",
		"null":     "gasnet_coll_gather_all: the buffer is NULL",
		"team":     "gasnet_coll_exchange: there is no team 0x7",
		"function": "gasnet_coll_reduce: the table of gasnet_coll_init has no function 1",
		"blocks":   "gasnet_coll_reduce: arrays in blocks",
		"scan":     "gasnet_coll_scan: a scan is inclusive or exclusive",
		"handle":   "gasnet_coll_wait_sync: 0x4d2 is no handle of this thread's",
		"node":     "gasnet_coll_team_node2rank: rank 2 of the job is not in world",
	} {
		t.Run(name, func(t *testing.T) {
			out, status := job(t, 2, "sci", program, name)
			if status == 0 || !strings.Contains(out, want) {
				t.Errorf("status %d; want a failure and %q:\n%s", status, want, out)
			}
		})
	}
}
