package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// nothing is the value, by unit, that a constant has when it costs nothing.
var nothing = map[string]string{
	"ps": "0", "ns": "0", "us": "0", "ms": "0", "s": "0",
	"MB/s": "1000000", "GB/s": "1000", "ns/B": "0.001", "ps/B": "1",
	"MHz": "1000000", "GHz": "1000",
	"B": "0", "count": "0", // of packets; cycles of the bus
}

// stepsOfShort are the constants of the steps of a Short, in their order: the sender's software, the
// two readings of the status register about the stores, their way and that of their answers; the
// flags' way; the receiver's software. Not among them are pio.flush, for which nobody waits longer
// than for the answers, and what polls consist of.
var stepsOfShort = []string{
	"host.slot", "host.build", "host.look-up", "host.sequence", "pio.status", "pio.word",
	"packet.header", "packet.crc", "bus.clock", "bus.write", "adapter.send", "adapter.forward", "link.rate", "link.hop", "adapter.accept", "adapter.receive", "adapter.answer",
	"memory.visible",
	"host.clear", "host.scan", "host.enqueue", "host.dispatch",
}

// polls are the constants of a look at a flag.
var polls = []string{"host.call", "host.test"}

// leastShare is the smallest share that is told, in microseconds.
const leastShare = 0.001

// A measure is a time that a program takes on a machine, in microseconds.
type measure func(*Setting) (float64, error)

// apart takes times apart: for every constant it finds by how much a time is shorter on a machine
// where that constant costs nothing.
type apart struct {
	*Setting
	dir string
}

// apart calls f with the setting.
func (s *Setting) apart(f func(*apart) error) error {
	dir, err := os.MkdirTemp("", "aqbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(&apart{s, dir})
}

// finely calls f with a, whose machine is changed to look at flags every picosecond: lest it matters
// when a rank happens to look.
func (a *apart) finely(f func(*apart) error) error {
	fine := *a
	for _, name := range polls {
		var err error
		if fine.Setting, err = fine.without(a.Machine.Constant(name)); err != nil {
			return err
		}
	}
	return f(&fine)
}

// without returns the setting for a machine in which a constant costs nothing, or next to nothing if
// that is the least that it can.
func (a *apart) without(c *machine.Constant) (*Setting, error) {
	path := filepath.Join(a.dir, c.Name+machine.Suffix)
	for _, least := range [...]string{nothing[c.Unit] + " " + c.Unit, "1 ps", "1 B"} {
		value, unit, _ := strings.Cut(least, " ")
		f, err := a.Machine.With(c.Name, value, unit)
		if err != nil {
			return nil, err
		}
		if _, err := hardware.NewProfile(f); err != nil {
			continue
		}
		if err := os.WriteFile(path, []byte(f.String()), 0o666); err != nil {
			return nil, err
		}
		changed, err := SCI.Setting(path)
		if err == nil {
			changed.Seed = a.Seed
		}
		return changed, err
	}
	return nil, fmt.Errorf("machine %s: %s must cost something", a.Machine.Name, c.Name)
}

// A share is what a constant makes of a time.
type share struct {
	*machine.Constant
	of float64 // by how much the time is shorter if the constant costs nothing, in microseconds
}

// shares returns the shares that constants have in a time. What overlaps with something else has a
// smaller share than its time, or none; what happens twice has more. So shares need not add up.
func (a *apart) shares(take measure, names []string) (list []share, err error) {
	whole, err := take(a.Setting)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c := a.Machine.Constant(name)
		without, err := a.without(c)
		if err != nil {
			return nil, err
		}
		t, err := take(without)
		if err != nil {
			return nil, err
		}
		if whole-t >= leastShare {
			list = append(list, share{c, whole - t})
		}
	}
	return list, nil
}

// find returns the share of the constant of that name, which may be nothing.
func find(list []share, name string) float64 {
	for _, s := range list {
		if s.Name == name {
			return s.of
		}
	}
	return 0
}

// claimSteps adds that every step of what was measured takes time.
func (o *Outcome) claimSteps(what string, list []share, names []string) {
	var missing []string
	for _, name := range names {
		if find(list, name) == 0 {
			missing = append(missing, name)
		}
	}
	o.claim(what+": every step takes its time", "", len(missing) == 0, "%d of %d steps; without: %s",
		len(names)-len(missing), len(names), dash(strings.Join(missing, ", ")))
}

// claimStepsOf measures and claims that, of the published machine.
func (s *Setting) claimStepsOf(o *Outcome, what string, take measure, names []string) error {
	if !s.publishes() {
		return nil
	}
	return s.apart(func(a *apart) error {
		list, err := a.shares(take, names)
		o.claimSteps(what, list, names)
		return err
	})
}

// oneShort measures the half round trip of a Short.
func oneShort(s *Setting) (float64, error) { return only(s.shortByRanks([]int{pairRanks})) }

// oneRaw measures that of raw stores of as many bytes.
func oneRaw(s *Setting) (float64, error) { return only(s.pioPingPong([]int{headerBytes}, 1)) }

// onePoll measures a look at a flag that is not set.
func onePoll(s *Setting) (took float64, err error) {
	const looks = 100
	w := new(window)
	err = s.job(1, small, w, func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		w.begin(job)
		defer w.end(job)
		start := job.Now()
		for range looks {
			if err := ep.Poll(); err != nil {
				return err
			}
		}
		took = micros(job.Now()-start) / looks
		return nil
	})
	return took, err
}

// oneCopied measures that of the largest Medium, whose payload is copied behind the header.
func oneCopied(s *Setting) (float64, error) {
	return only(s.mediums([]int{mostMedium}, map[string]string{"medium": "copy"}))
}

// stepsOfDMA are the constants of the steps of a transfer by DMA.
var stepsOfDMA = []string{"dma.post", "dma.entry", "dma.start", "dma.fetch", "memory.read", "bus.read", "dma.complete"}

// oneTransfer measures the smallest transfer by DMA.
func oneTransfer(s *Setting) (float64, error) { return only(s.dma([]int{64})) }

// oneLoad measures loads of as many bytes, word by word.
func oneLoad(s *Setting) (float64, error) { return only(s.pioRead([]int{headerBytes}, 8)) }

// only returns the value of the one point.
func only(points []plot.Point, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return points[0].Y, nil
}

// partsOfShort adds what a Short of so many microseconds consists of, and what the paper says of that.
func (s *Setting) partsOfShort(o *Outcome, am, raw float64) error {
	profile, err := hardware.NewProfile(s.Machine)
	if err != nil {
		return err
	}
	flags, err := s.pioPingPong([]int{headerBytes}, 2)
	if err != nil {
		return err
	}
	var list, ofRaw, added []share
	err = s.apart(func(a *apart) error {
		return a.finely(func(a *apart) (err error) {
			if list, err = a.shares(oneShort, stepsOfShort); err == nil {
				ofRaw, err = a.shares(oneRaw, stepsOfShort)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	if err := s.claimStepsOf(o, "a look at a flag", onePoll, polls); err != nil {
		return err
	}
	for _, p := range list {
		o.number("share."+p.Name, "of the half round trip: "+p.Source, p.of, "us")
		if of := p.of - find(ofRaw, p.Name); of >= leastShare {
			added = append(added, share{p.Constant, of})
		}
	}
	for _, p := range added {
		o.number("adds."+p.Name, "of what the conduit adds to raw stores: "+p.Source, p.of, "us")
	}
	flag, adds := flags[0].Y-raw, am-raw
	o.number("adds-flag", "of what the conduit adds to raw stores: the second flag", flag, "us")
	if !s.publishes() {
		return nil
	}
	o.claimSteps("a Short", list, stepsOfShort)
	status := micros(profile.PIO.Status)
	o.claim("the status register is read twice for a message: by Start and by Check", "conduit source",
		status > 0 && math.Abs(find(list, "pio.status")-2*status) < leastShare, "%s µs, at %s each", figures(find(list, "pio.status")), figures(status))
	build, next := find(added, "host.build"), share{Constant: new(machine.Constant)}
	for _, p := range added {
		if p.Name != "host.build" && p.of > next.of {
			next = p
		}
	}
	o.claim("building the command is the largest part of what the conduit adds, and more than half", "Su et al.",
		build > next.of && build > adds/2, "%s of %s µs; then %s %s", figures(build), figures(adds), next.Name, figures(next.of))
	o.claim("flags are mostly transparent", "Su et al.", flag < adds/5, "the second one adds %s of %s µs", figures(flag), figures(adds))
	return nil
}
