package scampi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// The library's machine is the testbed, with nothing changed, and the library; one constant of the
// library is fitted to what was published of it.
func TestMachine(t *testing.T) {
	p, err := Load("scampi")
	if err != nil {
		t.Fatal(err)
	}
	h, err := hardware.Load("d339-2003")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.File.Constants {
		switch below := h.File.Constant(c.Name); {
		case strings.HasPrefix(c.Name, prefix):
			if fitted := c.Fit == "am-short-mpi"; fitted != (c.Name == "scampi.import") || fitted != (c.Standing == machine.Fitted) {
				t.Errorf("%s is %s", c.Name, c.Standing)
			}
		case below == nil || c != *below:
			t.Errorf("%s differs from the testbed's", c.Name)
		}
	}
	if p.File.Fit("am-short-mpi") == nil {
		t.Error("there is no number am-short-mpi")
	}
	// Its listing is a machine file that is based on nothing.
	name := filepath.Join(t.TempDir(), "listed.machine")
	if err := os.WriteFile(name, []byte(p.File.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if again.Library != p.Library {
		t.Errorf("%+v, listed and read again %+v", p.Library, again.Library)
	}
}

func TestRefusedMachines(t *testing.T) {
	for _, x := range []struct{ lines, want string }{
		{"scampi.slots 6 count", "multiple of 4"},
		{"scampi.slot 512 B", "scampi.slot is 512 B"},
		{"scampi.slot 600 B", "multiple of 64"},
		{"scampi.imports 1 count", "at least 2"},
		{"scampi.entries 0 count", "scampi.entries is 0"},
		{"scampi.entry 100 B", "scampi.entry is 100 B"},
		{"scampi.entry 2 MB", "scampi.entry"},
		{"scampi.entries 40 count", "limit.segment"},
		{"scampi.imports 5000 count", "limit.maps"},
		{"scampi.colour 1 count", "no such constant"},
		{"host.colour 1 count", "no such constant"},
		{"scampi.call 1 B", "but must be a time"},
		{"pio.block 60 B", "pio.block"},
	} {
		if _, err := Load(variant(t, x.lines+" assumed for the test\n")); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.lines, err, x.want)
		}
	}
	if _, err := Load("nosuch"); err == nil || !strings.Contains(err.Error(), "there are scampi") {
		t.Errorf("unknown machine: %v", err)
	}
	if _, err := NewProfile(&machine.File{}); err == nil {
		t.Error("an empty machine was taken")
	}
}
