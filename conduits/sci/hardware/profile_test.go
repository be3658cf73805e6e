package hardware_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func TestMachines(t *testing.T) {
	names := hardware.Library().Names()
	if want := []string{"d339-2003", "ntb", "scale"}; !slices.Equal(names, want) {
		t.Errorf("machines %v, want %v", names, want)
	}
	for _, name := range names {
		if p := load(t, name); p.File.About == "" {
			t.Errorf("%s does not say what it is", name)
		}
	}
	alias, err := hardware.Load("d339")
	if err != nil || alias.File.Name != "d339-2003" {
		t.Errorf("d339: %v", err)
	}
}

// TestOwnMachine is what a user does: a file that changes one constant.
func TestOwnMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fast.machine")
	text := "base d339\nlink.hop 10 ns assumed what if cables were shorter?\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := hardware.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.Link.Hop != 10*vtime.Nanosecond || p.PIO.Outstanding != 16 {
		t.Errorf("hop %v, outstanding %d", p.Link.Hop, p.PIO.Outstanding)
	}
}

func TestRefusedProfiles(t *testing.T) {
	for _, c := range []struct{ constant, value, unit, want string }{
		{"topology.shape", "star", "word", `topology.shape is "star"`},
		{"topology.shape", "switch", "word", "how many hosts share a port"},
		{"topology.radix", "1", "count", "from 2 to"},
		{"layout.flags", "none", "word", "layout.flags"},
		{"pio.block", "48", "B", "power of two"},
		{"pio.block", "256", "B", "fit into a large packet"},
		{"pio.outstanding", "0", "count", "from 1 to"},
		{"bus.width", "0", "count", "from 1 to"},
		{"dma.most", "1001", "B", "multiple of dma.align"},
		{"limit.maps", "0", "count", "from 1 to"},
		{"limit.maps", "2000000", "count", "from 1 to"},
		{"pio.word", "0", "ns", "stop the clock"},
		{"host.test", "0", "ns", "stop the clock"},
		{"error.timeout", "0", "us", "error.timeout"},
		{"error.lost", "600000", "ppm", "half of all"},
		{"link.hop", "3", "B", "must be a time"},
		{"link.hop", "100", "s", "d339-2003: changed: link.hop is 100 s, but must not be more than 10ms"},
		{"link.rate", "0.9", "MB/s", "link.rate must be at least 1 MB/s"},
		{"bus.clock", "0.09", "MHz", "bus.clock must be at least 0.1 MHz"},
	} {
		f, err := hardware.Library().Load("d339")
		if err != nil {
			t.Fatal(err)
		}
		if f, err = f.With(c.constant, c.value, c.unit); err != nil {
			t.Fatal(err)
		}
		if _, err = hardware.NewProfile(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s %s: %v, want %q", c.constant, c.value, c.unit, err, c.want)
		}
	}
}

func TestNodes(t *testing.T) {
	for _, n := range []int{0, -1, 65537} {
		if _, err := hardware.New(vtime.New(1), load(t, "scale"), n); err == nil {
			t.Errorf("a machine of %d nodes", n)
		}
	}
	m, err := hardware.New(vtime.New(1), load(t, "scale"), 65536)
	if err != nil {
		t.Fatal(err)
	}
	if m.Nodes() != 65536 || m.Node(65535).ID() != 65535 {
		t.Error("nodes are not numbered")
	}
	if maps := m.Profile().Limit.Maps; maps < 5*m.Nodes() { // see scale.machine
		t.Errorf("%d map entries do not do for a node to which all others speak", maps)
	}
}

// TestDisjoint looks at all machines: nothing that constants are fitted to is predicted.
func TestDisjoint(t *testing.T) {
	for _, name := range hardware.Library().Names() {
		f := load(t, name).File
		for i := range f.Constants {
			if c := &f.Constants[i]; (c.Standing == machine.Fitted) != (c.Fit != "") || f.Prediction(c.Fit) != nil {
				t.Errorf("%s: %s is %s, fitted to %q", name, c.Name, c.Standing, c.Fit)
			}
		}
	}
}
