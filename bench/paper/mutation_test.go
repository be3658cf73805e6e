package paper_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/paper"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// mutants are the constants of the paper's machine, with the value by which what the constant stands
// for is switched off, and the experiment that has to notice it.
var mutants = []struct{ name, value, noticed string }{
	{"bus.clock", "1000 GHz", "sci-short"},
	{"bus.width", "4096 count", "sci-short"},
	{"bus.write", "0 count", "sci-short"},
	{"memory.visible", "0 ns", "sci-short"},
	{"pio.word", "1 ns", "sci-short"},
	{"pio.block", "8 B", "sci-short"},
	{"pio.outstanding", "1 count", "sci-short"},
	{"pio.status", "0 ns", "sci-short"},
	{"packet.header", "0 B", "sci-short"},
	{"packet.crc", "0 B", "sci-short"},
	{"packet.small", "64 B", "sci-short"},
	{"packet.medium", "128 B", "sci-short"},
	{"adapter.send", "0 ns", "sci-short"},
	{"adapter.forward", "0 ns", "sci-short"},
	{"adapter.receive", "0 ns", "sci-short"},
	{"adapter.accept", "0 ns", "sci-short"},
	{"adapter.answer", "0 ns", "sci-short"},
	{"adapter.buffers", "1 count", "sci-short"},
	{"link.rate", "1 ps/B", "sci-short"},
	{"link.hop", "0 ns", "sci-short"},
	{"host.build", "0 ns", "sci-short"},
	{"host.look-up", "0 ns", "sci-short"},
	{"host.slot", "0 ns", "sci-short"},
	{"host.sequence", "0 ns", "sci-short"},
	{"host.test", "1 ns", "sci-short"},
	{"host.clear", "0 ns", "sci-short"},
	{"host.scan", "0 ns", "sci-short"},
	{"host.enqueue", "0 ns", "sci-short"},
	{"host.dispatch", "0 ns", "sci-short"},
	{"host.call", "0 ns", "sci-short"},
	{"bus.read", "0 count", "sci-pio-dma"},
	{"memory.read", "0 ns", "sci-pio-dma"},
	{"pio.return", "0 ns", "sci-pio-dma"},
	{"packet.large", "64 B", "sci-pio-dma"},
	{"dma.post", "0 us", "sci-pio-dma"},
	{"dma.entry", "0 ns", "sci-pio-dma"},
	{"dma.start", "0 us", "sci-pio-dma"},
	{"dma.fetch", "0 ns", "sci-pio-dma"},
	{"dma.burst", "128 B", "sci-pio-dma"},
	{"dma.outstanding", "1 count", "sci-pio-dma"},
	{"dma.complete", "0 us", "sci-pio-dma"},
	{"host.copy", "0 ns", "sci-medium"},
	{"host.copy-rate", "1000 GB/s", "sci-medium"},
}

// elsewhere are the beginnings of the names of the other constants: no experiment of the paper is
// about them. The tests that are stand beside them.
var elsewhere = []string{
	"topology.", "link.turn", // hardware: TestRoutes, TestLinks
	"layout.",                                                // sci: TestScale, TestModel
	"pio.flush",                                              // overlaps with the wait for answers; hardware: TestSensitivity
	"interrupt.",                                             // hardware: TestInterrupt
	"lock.",                                                  // hardware: TestFetchAdd
	"error.",                                                 // hardware: TestErrors, TestLostNode
	"limit.",                                                 // sisci: TestModelledLimits
	"call.",                                                  // sisci: TestModelledCalls
	"dma.channels", "dma.align", "dma.most", "dma.suggested", // hardware: TestDMAChannels, TestDMARefusals, TestStreams
}

// mutant returns the paper's machine, with what was published of it, but for constants, which are
// given by name and value.
func mutant(t *testing.T, changes ...string) *paper.Setting {
	t.Helper()
	text, err := os.ReadFile("../../conduits/sci/hardware/machines/d339-2003.machine")
	if err != nil {
		t.Fatal(err)
	}
	for ; len(changes) > 0; changes = changes[2:] {
		name, value := changes[0], changes[1]
		line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` .*$`)
		if !line.Match(text) {
			t.Fatalf("the machine has no %s", name)
		}
		text = line.ReplaceAll(text, []byte(name+" "+value+" assumed for the test"))
	}
	path := filepath.Join(t.TempDir(), "mutant.machine")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return sci(t, path)
}

// TestMutants switches off what the model of the paper's machine consists of, one constant at a time.
// Each time some experiment must find a number outside its tolerance, or a claim that does not hold. A third of the constants is
// looked at in every run, the others as [coretest.InPart] has it: what each stands for is in numbers that TestPaper judges.
func TestMutants(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	for i, m := range mutants {
		if i%3 != 0 && !coretest.InPart(t, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := mutant(t, m.name, m.value)
			failures, err := run(t, m.noticed, s).Failures(s.Machine)
			if err != nil {
				t.Fatal(err)
			}
			if len(failures) == 0 {
				t.Errorf("%s does not notice that %s is %s", m.noticed, m.name, m.value)
			}
			t.Log(strings.Join(failures, "; "))
		})
	}
}

// TestMutantsAreAll wants every constant of the paper's machine to be in one of the lists.
func TestMutantsAreAll(t *testing.T) {
	listed := func(name string) bool {
		return slices.ContainsFunc(elsewhere, func(e string) bool { return strings.HasPrefix(name, e) })
	}
	for _, c := range sci(t, "d339-2003").Machine.Constants {
		mutated := slices.ContainsFunc(mutants, func(m struct{ name, value, noticed string }) bool { return m.name == c.Name })
		if mutated == listed(c.Name) {
			t.Errorf("%s: among the mutants: %v; elsewhere: %v", c.Name, mutated, listed(c.Name))
		}
	}
}

// TestLastByte supposes that in the paper's raw ping-pong nobody checks the stores and their last byte
// tells that they have come, and fits the machine to that: then the conduit adds more than the 1 to
// 2 µs of the paper, and nothing is left for the building of the command, the main part of it.
func TestLastByte(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time")
	}
	const raw, am = 3.16, 5
	const otherwise = "1620 ns" // memory.visible
	s := mutant(t, "memory.visible", otherwise)
	posted := value(t, run(t, "sci-pio-dma", s), "posted-80")
	if math.Abs(posted/raw-1) > paper.FitTolerance {
		t.Errorf("stores of 80 bytes, seen by the last one, take %g µs, published are %g", posted, raw)
	}
	for _, build := range []string{"350 ns", "10 ns"} {
		short := value(t, run(t, "sci-short", mutant(t, "memory.visible", otherwise, "host.build", build)), "am-short")
		t.Logf("raw %.2f µs; with %s for the command a Short takes %.2f µs, %.2f more", posted, build, short, short-posted)
		if short < (1-paper.FitTolerance)*am {
			t.Errorf("with %s for the command a Short takes %g µs: there is room for it", build, short)
		}
	}
}
