package hardware_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestUsage compares the kernel's report with what the machine says of itself, and wants to see
// who waits when all hosts store to one.
func TestUsage(t *testing.T) {
	m, took := flood(t, load(t, "d339"), 16, 100, crowd)
	want := map[string]vtime.Time{}
	for i := range m.Nodes() {
		c := m.Node(i).Counts()
		want[fmt.Sprintf("bus of node %d", i)] = c.Bus
		want[fmt.Sprintf("adapter of node %d, sending", i)] = c.Sending
		want[fmt.Sprintf("adapter of node %d, receiving", i)] = c.Receives
	}
	for i := range m.Links() {
		want["link "+m.LinkName(i)] = m.LinkBusy(i)
	}
	usage := m.Node(0).Proc().Kernel().Usage()
	for _, u := range usage {
		busy, known := want[u.Name]
		if !known || u.Busy != busy || u.Busy > took || u.Uses == 0 || u.Longest > u.Waited || u.Waited > vtime.Time(u.Uses)*u.Longest {
			t.Errorf("%+v; the machine was busy for %v of %v", u, busy, took)
		}
		delete(want, u.Name)
	}
	for name, busy := range want {
		if busy != 0 {
			t.Errorf("%s is not in the report, but was busy for %v", name, busy)
		}
	}
	// Each of 15 hosts has up to d339's 16 outstanding stores on the way to one bus, which
	// takes them one by one.
	if first := usage[0]; first.Name != "bus of node 0" || first.Longest == 0 || first.Uses < 15*100 {
		t.Errorf("%+v comes first; want bus of node 0, for which stores wait", first)
	}
}
