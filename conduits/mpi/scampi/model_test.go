package scampi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci" // for comparisons
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// on is a job over the library, on a machine other than its own if that is not "".
func on(machine string) core.Config {
	cfg := core.Config{Conduit: "mpi", Profile: "scampi", Segment: "512KB", Seed: 1}
	if machine != "" {
		cfg.Settings = map[string]string{"machine": machine}
	}
	return cfg
}

// The conformance suite, and what sends most of it over a library with the least of everything
// and over links that fail. A job of each case runs twice, and the traces are compared.
func TestConformance(t *testing.T) {
	kind := func(name, machine string, groups ...string) coretest.Kind {
		return coretest.Kind{Name: name, Launcher: coretest.Model, Config: on(machine), Only: coretest.Groups(groups...), Factors: "machine"}
	}
	if shm.RaceEnabled { // takes minutes, and there is nothing to find in one logical thread
		coretest.Suite(t, coretest.Cases(), kind("scampi", ""))
		return
	}
	coretest.Suite(t, coretest.Cases(), kind("scampi", ""),
		kind("scarce", variant(t, scarce), "message", "reply", "flood", "immediate", "negotiation", "barrier"),
		kind("unreliable", variant(t, unreliable), "message", "reply", "negotiation", "barrier"))
}

// exchange runs a ping-pong of n round trips and returns half of the time of one: both ways are
// Shorts, or Mediums of size bytes.
func exchange(t testing.TB, cfg core.Config, size, n int) (half core.Time) {
	t.Helper()
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		const ping, pong = 128, 129
		data := make([]byte, size)
		told := 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: ping, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				err := error(nil)
				if size == 0 {
					err = tok.ReplyShort(pong)
				} else {
					err = tok.ReplyMedium(pong, data)
				}
				if err != nil {
					t.Error(err)
				}
			}},
			{Index: pong, Func: func(*core.Token, []uint32, []byte) { told++ }},
		}})
		if err != nil || j.Rank() != 0 {
			return err
		}
		round := func(i int) error {
			if size == 0 {
				err = ep.RequestShort(1, ping)
			} else {
				err = ep.RequestMedium(1, ping, data)
			}
			return errors.Join(err, ep.WaitUntil(func() bool { return told > i }))
		}
		const first = 3 // rounds that import
		var start core.Time
		for i := range first + n {
			if i == first {
				start = j.Now()
			}
			if err := round(i); err != nil {
				return err
			}
		}
		half = (j.Now() - start) / core.Time(2*n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return half
}

// rounds are as many as Su's.
const rounds = 1000

// The published short message of the MPI conduit, to which scampi.import is fitted.
func TestFittedShort(t *testing.T) {
	p, err := Load("scampi")
	if err != nil {
		t.Fatal(err)
	}
	const close = 0.02
	goal := p.File.Fit("am-short-mpi")
	got := float64(exchange(t, on(""), 0, rounds)) / float64(vtime.Microsecond)
	t.Logf("half of a round trip of Shorts: %.2f µs, published %.0f µs: %+.0f %%", got, goal.Number(), 100*(got/goal.Number()-1))
	if got < goal.Number()*(1-close) || got > goal.Number()*(1+close) {
		t.Errorf("half of a round trip of Shorts takes %.2f µs, published are %.0f µs", got, goal.Number())
	}
}

// What a Short consists of: how much faster it is when a step costs nothing. The steps of which
// polls consist count twice, since a shorter poll also finds messages sooner.
func TestParts(t *testing.T) {
	all := exchange(t, on(""), 0, rounds)
	t.Logf("%8v  half of a round trip of Shorts; of that by", all)
	for _, step := range []string{
		"scampi.call", "scampi.request", "scampi.test", "scampi.envelope", "scampi.match", "scampi.scan", "scampi.import",
		"host.build", "host.dispatch", "host.call", "pio.status", "memory.visible",
	} {
		part := all - exchange(t, on(variant(t, step+" 0 ns assumed for the test\n")), 0, rounds)
		t.Logf("%8v  %s", part, step)
		if part <= 0 {
			t.Errorf("without %s a Short takes %v more", step, -part)
		}
	}
	settings := on("")
	settings.Settings = map[string]string{"depth": "4"}
	few := exchange(t, settings, 0, rounds)
	t.Logf("%8v  half of a round trip with few receives posted (depth=4)", few)
	if few >= all {
		t.Errorf("with fewer receives that MPI_Testsome looks at a Short takes %v, with all %v", few, all)
	}
}

// Latency grows faster with the size than that of the conduit on SCI (Su, experiments).
func TestSlope(t *testing.T) {
	sci := core.Config{Conduit: "sci", Profile: "d339", Segment: "512KB", Seed: 1}
	last := core.Time(0)
	for _, size := range []int{0, 64, 128, 256, 384, 512, 640, 768, 896, 944} {
		ours, theirs := exchange(t, on(""), size, 200), exchange(t, sci, size, 200)
		t.Logf("%4d bytes: %8v, conduit sci %8v", size, ours, theirs)
		if ours-theirs <= last {
			t.Errorf("%d bytes: %v more than the conduit on SCI, and %v more for fewer", size, ours-theirs, last)
		}
		last = ours - theirs
	}
}

// The sizes about the boundary between a packet and a message of its own, and between eager and
// rendezvous, as Mediums: nothing is lost, and what is longer takes longer by far.
func TestMediumBoundary(t *testing.T) {
	p, err := Load("scampi")
	if err != nil {
		t.Fatal(err)
	}
	eager, last := p.layout().eager, core.Time(0)
	jumps := 0
	for size := eager - 120; size <= eager+20; size += 4 {
		took := exchange(t, on(""), size, 20)
		if took > last*6/5 && last > 0 {
			jumps++
		}
		last = took
	}
	if jumps != 2 { // a second message, and its rendezvous
		t.Errorf("the time for Mediums jumps %d times about the eager size, want twice", jumps)
	}
}

// Links that fail make no difference but time.
func TestUnreliableLinks(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	bad := on(variant(t, unreliable))
	for _, size := range []int{0, 900, 30000} {
		if good, bad := exchange(t, on(""), size, 200), exchange(t, bad, size, 200); bad <= good {
			t.Errorf("%d bytes: %v over good links, %v over bad ones", size, good, bad)
		}
	}
}

// watched are the transports of the jobs of a network that tests look into.
var watched []*transport

func init() {
	mpi.Register("mpi over scampi, watched", mpi.Network{Name: "scampi", Modelled: true, Settings: network.Settings, Open: func(s *mpi.Spec) (mpi.Transport, error) {
		t, err := open(s)
		watched = append(watched, t)
		return t, err
	}})
}

// flood has all others send to rank 0, which computes, as much as they can, and returns rank 0's
// transport.
func flood(t *testing.T, ranks int) *transport {
	watched = nil
	cfg := on("")
	cfg.Settings = map[string]string{"receives": "1"}
	cfg.Conduit = "mpi over scampi, watched"
	err := core.RunModel(ranks, cfg, func(j *core.Job) error {
		got, want := 0, -1
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { got++ }},
			{Index: 129, Func: func(_ *core.Token, args []uint32, _ []byte) { want += int(args[0]) }},
		}})
		if err != nil {
			return err
		}
		if j.Rank() == 0 {
			j.Compute(1e9)
			want++
			return ep.WaitUntil(func() bool { return got >= want && got >= ranks-1 })
		}
		n := 0
		for ; err == nil; n++ {
			err = ep.TryShort(0, 128)
		}
		if !errors.Is(err, core.ErrNoRoom) {
			return err
		}
		return ep.RequestShort(0, 129, uint32(n-1))
	})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(watched, func(x *transport) bool { return x.rank == 0 })
	return watched[i]
}

// What comes unexpected to a rank that computes, with one receive posted, is bounded by the
// conduit's credits: one message of each rank that it has not heard of.
func TestUnexpected(t *testing.T) {
	const others = 11
	if _, most := flood(t, others+1).engine.Unexpected(); most < others-1 || most > others {
		t.Errorf("%d messages were unexpected at once, want one of each of %d ranks", most, others)
	}
}

// With more peers than imports, segments are imported again and again; nothing is lost, but the
// job takes longer.
func TestEviction(t *testing.T) {
	const ranks = 7
	took := func(machine string) (d core.Time) {
		watched = nil
		cfg := on(machine)
		cfg.Conduit = "mpi over scampi, watched"
		err := coretest.Twice(t, ranks, cfg, func(j *core.Job) error {
			got := [ranks]int{}
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: 128, Func: func(tok *core.Token, args []uint32, _ []byte) {
					if int(args[0]) != got[tok.Src()] {
						t.Errorf("rank %d: message %d of rank %d came as number %d", j.Rank(), args[0], tok.Src(), got[tok.Src()])
					}
					got[tok.Src()]++
				}},
			}})
			if err != nil {
				return err
			}
			const each = 10
			for i := range each {
				for to := range core.Rank(ranks) {
					if err := ep.RequestShort(to, 128, uint32(i)); err != nil {
						return err
					}
				}
			}
			err = ep.WaitUntil(func() bool { return slices.Min(got[:]) == each })
			d = j.Now()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	many := took("")
	for _, x := range watched {
		if x.imports.made > ranks {
			t.Errorf("rank %d made %d imports although all had room", x.rank, x.imports.made)
		}
	}
	few := took(variant(t, "scampi.imports 2 count assumed for the test\n"))
	for _, x := range watched {
		if len(x.imports.all) > 2 || x.imports.made < 5*ranks {
			t.Errorf("rank %d has %d imports, and made %d", x.rank, len(x.imports.all), x.imports.made)
		}
	}
	t.Logf("%v with many imports, %v with two", many, few)
	if few <= many {
		t.Errorf("%v with many imports, %v with two", many, few)
	}
}

func TestErrors(t *testing.T) {
	attach := func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	}
	unknown, live := on(""), on("")
	unknown.Settings = map[string]string{"latency": "1us"}
	live.Profile = "openmpi"
	for _, x := range []struct {
		cfg  core.Config
		want string
	}{
		{on("nosuch"), `mpi: setting machine="nosuch": machine: no machine is called "nosuch"; there are scampi, or give`},
		{on("./none.machine"), `mpi: setting machine="./none.machine": `},
		{on(variant(t, "scampi.slots 5 count assumed for the test\n")), "scampi.slots is 5"},
		{unknown, `setting latency="1us": unknown`},
		{live, `no model "openmpi"`},
	} {
		if err := core.RunModel(2, x.cfg, attach); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("profile %q, settings %v: %v, want %q", x.cfg.Profile, x.cfg.Settings, err, x.want)
		}
	}
	err := core.RunGoroutines(2, core.Config{Conduit: "mpi"}, attach)
	if err == nil || !strings.Contains(fmt.Sprint(err), "virtual time only") {
		t.Errorf("live: %v", err)
	}
}
