package hardware_test

import (
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// grows returns how much memory f allocates.
func grows(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFootprint says what hosts cost: those with which nothing is done, and the others. There
// is nothing for pairs of hosts, and what is on its way is in packets that all hosts share.
func TestFootprint(t *testing.T) {
	const nodes = 65536
	profile := load(t, "scale")
	k := vtime.New(1)
	var m *hardware.Machine
	idle := grows(func() {
		var err error
		if m, err = hardware.New(k, profile, nodes); err != nil {
			t.Fatal(err)
		}
	})
	active := grows(func() {
		for i := range nodes {
			m.Node(i)
		}
	})
	t.Logf("%d B for each of %d hosts, %d B more for each that is active", idle/nodes, nodes, active/nodes)
	if idle/nodes > 168 || active/nodes > 768 {
		t.Errorf("%d B for each of %d hosts, %d B more for each that is active; want at most 168 and 768", idle/nodes, nodes, active/nodes)
	}
}
