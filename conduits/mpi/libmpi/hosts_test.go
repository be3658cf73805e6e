package libmpi_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
)

// Ranks may be dealt to hosts in any order.
func TestNumberHosts(t *testing.T) {
	for _, c := range []struct {
		lowest []uint32 // of each rank's host
		want   []int
	}{
		{[]uint32{0, 0, 0}, []int{0, 0, 0}},
		{[]uint32{0, 0, 2, 2}, []int{0, 0, 1, 1}},
		{[]uint32{0, 1, 0, 3, 1, 3}, []int{0, 1, 0, 2, 1, 2}},
	} {
		var lowest [][]byte
		for _, r := range c.lowest {
			lowest = append(lowest, binary.LittleEndian.AppendUint32(nil, r))
		}
		if got := libmpi.NumberHosts(lowest); !slices.Equal(got, c.want) {
			t.Errorf("ranks whose hosts' lowest are %v: hosts %v, want %v", c.lowest, got, c.want)
		}
	}
}
