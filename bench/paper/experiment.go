package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// An Experiment repeats something that was published.
type Experiment struct {
	Name     string   // on the command line
	About    string   // one line for people
	Family   *Family  // the machines that it can run on
	Machines []string // those that it is about: it runs on each, unless another one is given
	Run      func(*Setting) (*Outcome, error)
}

// A Setting is what an experiment runs with.
type Setting struct {
	Conduit string        // whose model runs
	Profile string        // the machine, by the name that the conduit knows it by
	Machine *machine.File // the same machine's file
	Seed    uint64        // of the model's random numbers
	Full    bool          // all sizes and repetitions, instead of what a test has time for

	Progress func(Cost) // if not nil, called when a job of an experiment of many has ended
}

// An Outcome is what came out.
type Outcome struct {
	Numbers []Number
	Claims  []Claim
	Figures []Figure
	Costs   []Cost   // what the simulation cost the host
	Notes   []string // what the reader must know, such as what could not run
}

// A Number is a single result.
type Number struct {
	Name  string // that of the published number, if there is one
	About string
	Value float64
	Unit  string // as in machine files: "us", "MB/s", "count"
}

// A Claim is a statement about shapes, for which the source gives no number.
type Claim struct {
	Text   string
	Source string // who states it; "" if it follows from the model's own constants
	Holds  bool
	Shown  string // the figures that decide it
}

// A Figure is a chart with the name that its file gets.
type Figure struct {
	Name string `json:"name"`
	plot.Figure
}

// A Cost is what simulating a job took. It is measured on the host, so that it differs from
// run to run; it is in no figure and no file.
type Cost struct {
	What    string
	Ranks   int
	Seconds float64
	Bytes   uint64 // the most memory that was resident in the process until then
}

// What the experiments are about.
var (
	suMachines   = []string{"d339-2003"}
	collMachines = []string{"gm-pci64a"}
	amMachines   = []string{"am-family"}
	gmMachines   = []string{"gm-pci64a", "gm-pci64b", "gm-pci64c"}
	grimMachines = []string{"grim-lanai4", "grim-lanai9"}
	grimMachine  = []string{"grim-lanai4"}
	eposMachines = []string{"epos-pci64a"}
	am2Machines  = []string{"now-lanai4"}
)

// all are the experiments in the order of a report.
var all = []*Experiment{
	{"sci-pio-dma", "raw SISCI: PIO against DMA, stores against loads", SCI, suMachines, pioDMA},
	{"sci-short", "half round trip of Short active messages, over raw stores and over MPI", SCI, suMachines, short},
	{"sci-medium", "Medium active messages: two transfers against a copy, and against MPI", SCI, suMachines, medium},
	{"sci-long", "Long active messages against raw DMA and against MPI", SCI, suMachines, long},
	{"sci-room", "a command segment for each sender against one segment for all", SCI, suMachines, room},
	{"sci-scaling", "barrier, broadcast, all-reduce and random updates, by the number of ranks", SCI, suMachines, scaling},
	{"gm-latency", "GM on Myrinet: half round trips, and streams one way and both ways", Myrinet, gmMachines, gmLatency},
	{"itb-overhead", "what in-transit support costs packets that are not in transit", Myrinet, collMachines, withoutErrors(itbOverhead)},
	{"itb-cost", "what an in-transit buffer costs a packet", Myrinet, collMachines, withoutErrors(itbCost)},
	{"itb-throughput", "up*/down* routes against in-transit buffers on irregular networks, by load", Myrinet, collMachines, withoutErrors(itbThroughput)},
	{"am-family", "the layers of the Active Message family side by side, each on its machine", AMFamily, amMachines, amFamily},
	{"am2-bandwidth", "AM-II: bulk to the segment, beside the limit of the DMA", AM2, am2Machines, am2Bandwidth},
	{"am2-latency", "AM-II: messages one at a time, sleeping, paging, a dead node, and 105 nodes", AM2, am2Machines, am2Latency},
	{"component-cost", "what each protocol of the customizable component costs, in time, memory and copies", Component, eposMachines, componentCost},
	{"fabric-hol", "contention and head-of-line blocking in the fabric", Myrinet, collMachines, withoutErrors(fabricHOL)},
	{"grim-rollback", "GRIM: three messages, of which the second is refused, as published", GRIM, grimMachine, grimRollback},
	{"grim-scan", "GRIM: what the scan of channels takes, by their number", GRIM, grimMachines, grimScan},
	{"grim-injection", "GRIM: what it takes to inject a burst, by its size and by the messages that may be under way", GRIM, grimMachine, grimInjection},
	{"grim-channels", "GRIM: head-of-line blocking with sequencing per NI and any-to-any, and what that costs", GRIM, grimMachines, grimChannels},
	{"grim-control-deadlock", "GRIM: NIs that wait for each other, and the queue of control messages", GRIM, grimMachine, grimControl},
	{"grim-queues", "GRIM: append, slotted and hybrid queues: what they have room for, and the deadlock of the hybrid", GRIM, grimMachine, grimQueues},
	{"grim-rm", "GRIM: remote memory: writes, misses of the translation cache, both kinds of memory, notification, order", GRIM, grimMachines, grimRemoteMemory},
	{"grim-multicast", "GRIM: a message to n hosts by a tree of NIs, and by unicasts", GRIM, grimMachine, grimMulticast},
	{"grim-incoming", "GRIM: queues at the sending NI alone, and at the receiving one too", GRIM, grimMachine, grimIncoming},
	{"grim-overflow", "GRIM: applications that wait for each other, and the overflow queue", GRIM, grimMachine, grimOverflow},
	{"grim-thread", "GRIM: a thread that polls, beside programs that poll all the time and now and then", GRIM, grimMachines, grimThread},
	{"myrinet-gasnet", "GASNet's short, medium, long, put and get over GRIM, beside SCI and ScaMPI", GRIM, grimMachines, myrinetGASNet},
}

// All returns the experiments, in the order of a report.
func All() []*Experiment { return slices.Clone(all) }

// ByName returns the experiment of that name.
func ByName(name string) (*Experiment, error) {
	var names []string
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("no experiment %q; there are %s", name, strings.Join(names, ", "))
}

// number adds a number.
func (o *Outcome) number(name, about string, value float64, unit string) {
	o.Numbers = append(o.Numbers, Number{name, about, value, unit})
}

// claim adds a claim. shown is a format.
func (o *Outcome) claim(text, source string, holds bool, shown string, args ...any) {
	o.Claims = append(o.Claims, Claim{text, source, holds, fmt.Sprintf(shown, args...)})
}

func (o *Outcome) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// micros returns a time in microseconds.
func micros(t vtime.Time) float64 { return float64(t) / float64(vtime.Microsecond) }

// repeats returns a number of repetitions: the paper's with Full. On modelled SCI all
// repetitions are alike but the first ones, so a few give the same mean.
func (s *Setting) repeats(paper int) int {
	if s.Full {
		return paper
	}
	return min(paper, 20)
}

// messages returns the repetitions of Shorts and Mediums. Over MPI they are always the
// paper's 1000: there they are not alike, as the library's queues settle over hundreds.
func (s *Setting) messages() int {
	if s.Conduit == mpiConduit {
		return 1000
	}
	return s.repeats(5000)
}

// job runs body as a job of n ranks on the machine. Conduit settings are the caller's. body begins
// and ends the window in which it is timed; job fails if something was set up in it.
func (s *Setting) job(n int, cfg core.Config, w *window, body func(*core.Job) error) error {
	cfg.Conduit, cfg.Profile, cfg.Seed, cfg.Threads = s.Conduit, s.Profile, s.Seed, core.Single
	err := core.RunModel(n, cfg, body)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return fmt.Errorf("%d ranks on %s/%s: %w", n, s.Conduit, s.Profile, err)
	}
	return nil
}
