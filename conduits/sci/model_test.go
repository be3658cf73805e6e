package sci_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// on is a job on a modelled machine.
func on(machine string) core.Config {
	return core.Config{Conduit: "sci", Profile: machine, Segment: "512KB", Seed: 1}
}

// unreliable writes a machine file whose links lose and refuse one burst in fifty.
func unreliable(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "unreliable.machine")
	const text = "base d339\nerror.lost 10000 ppm assumed for the test\nerror.busy 10000 ppm assumed for the test\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The conformance suite over every machine, and what sends most over one that loses packets.
// A job of each case runs twice, and the traces are compared.
func TestModel(t *testing.T) {
	kind := func(name, machine string, groups ...string) coretest.Kind {
		return coretest.Kind{Name: name, Launcher: coretest.Model, Config: on(machine), Only: coretest.Groups(groups...), Factors: "machine"}
	}
	if shm.RaceEnabled { // which has little to find among coroutines that take turns
		coretest.Suite(t, coretest.Cases(), kind("d339", "d339", "message", "reply"))
		return
	}
	coretest.Suite(t, coretest.Cases(), kind("d339", "d339"), kind("scale", "scale"), kind("ntb", "ntb"),
		kind("unreliable", unreliable(t), "message", "reply", "order", "negotiation", "barrier", "one-sided"))
}

// exchange runs a ping-pong of n round trips on a modelled machine and returns half of the time
// of one: both ways are Shorts, or Mediums or Longs of size bytes.
func exchange(t testing.TB, cfg core.Config, kind core.Kind, size, n int) (half core.Time) {
	t.Helper()
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		const ping, pong = 128, 129
		data := make([]byte, size)
		told := 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: ping, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				var err error
				switch kind {
				case core.Short:
					err = tok.ReplyShort(pong)
				case core.Medium:
					err = tok.ReplyMedium(pong, data)
				default:
					err = tok.ReplyLong(pong, data, 0)
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
			var err error
			switch kind {
			case core.Short:
				err = ep.RequestShort(1, ping)
			case core.Medium:
				err = ep.RequestMedium(1, ping, data)
			default:
				err = ep.RequestLong(1, ping, data, 0)
			}
			return errors.Join(err, ep.WaitUntil(func() bool { return told > i }))
		}
		if err := round(0); err != nil { // connects
			return err
		}
		start := j.Now()
		for i := 1; i <= n; i++ {
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

// The published short message: 5 µs, to which host.build is fitted. The sequence is started and checked
// for it, as for every message of the published conduit, and each time the status register is read;
// who has read it once finds the sender's time too short.
func TestPublishedShort(t *testing.T) {
	half := exchange(t, on("d339"), core.Short, 0, 50)
	list := steps(t)
	for _, s := range list {
		t.Logf("%8v  %s", s.took, s.name)
	}
	t.Logf("%8v  half a round trip; published: 5 µs", half)
	if half < 4900*vtime.Nanosecond || half > 5100*vtime.Nanosecond {
		t.Errorf("half a round trip of Shorts takes %v, published are 5 µs", half)
	}
	p, err := hardware.Load("d339")
	if err != nil {
		t.Fatal(err)
	}
	unread := filepath.Join(t.TempDir(), "unread.machine")
	if err := os.WriteFile(unread, []byte("base d339\npio.status 0 ns assumed for the test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if less := half - exchange(t, on(unread), core.Short, 0, 50); less < 2*p.PIO.Status-p.Host.Call-p.Host.Test || less > 2*p.PIO.Status+p.Host.Call+p.Host.Test {
		t.Errorf("if to read the status register takes no time a Short takes %v less, want twice %v", less, p.PIO.Status)
	}
}

type step struct {
	name string
	took core.Time
}

// steps takes one Short apart: the constants of the machine where they are charged one by one,
// and the clocks of both ranks for the rest.
func steps(t testing.TB) []step {
	var begun, sent, came core.Time
	err := core.RunModel(2, on("d339"), func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { came = j.Now() }},
		}})
		if err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() == 0 {
			for idle := j.Now() + 50*vtime.Microsecond; j.Now() < idle; { // until rank 1 waits
				if err := ep.Poll(); err != nil {
					return err
				}
			}
			begun = j.Now()
			err = ep.RequestShort(1, 128)
			sent = j.Now()
			return err
		}
		return ep.WaitUntil(func() bool { return came > 0 })
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := hardware.Load("d339")
	if err != nil {
		t.Fatal(err)
	}
	h := &p.Host
	software := h.Slot + h.Build + h.LookUp
	library := 2 * h.Sequence
	status := 2 * p.PIO.Status
	stores := 12*p.PIO.Word + p.PIO.Flush
	receive := h.Call + h.Test + 2*h.Clear + 2*h.Scan + h.Enqueue + h.Dispatch
	return []step{
		{"sender: place, header, addresses", software},
		{"sender: library, two calls of the sequence", library},
		{"sender: status register, read twice", status},
		{"sender: stores of 80 bytes and two flags, flush", stores},
		{"sender: waits for the answers to its stores", sent - begun - software - library - status - stores},
		{"flags on their way, and the grid of polls", came - sent - receive},
		{"receiver: poll, scan of 2 senders, work queue, dispatch", receive},
		{"all, until the handler runs", came - begun},
	}
}

// Two transfers of a Medium that overlap are faster than one after a copy (Su et al., section
// on transfers), more so for larger ones.
func TestTransfersBeatCopy(t *testing.T) {
	var last core.Time
	for _, n := range []int{64, 256, 512, 944} {
		cfg := on("d339")
		cfg.Settings = map[string]string{"medium": "transfers"}
		two := exchange(t, cfg, core.Medium, n, 20)
		cfg.Settings = map[string]string{"medium": "copy"}
		one := exchange(t, cfg, core.Medium, n, 20)
		if one-two <= last {
			t.Errorf("%d bytes: %v with two transfers, %v with a copy and one", n, two, one)
		}
		last = one - two
	}
}

// The reader of the published conduit masked the number of arguments with 15, so that 16 came
// as none.
func TestSixteenArguments(t *testing.T) {
	err := core.RunModel(2, on("d339"), func(j *core.Job) error {
		var got []uint32
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(_ *core.Token, args []uint32, _ []byte) { got = append(got, args...) }},
		}})
		if err != nil {
			return err
		}
		want := make([]uint32, core.MaxArgs)
		for i := range want {
			want[i] = uint32(i + 1)
		}
		if j.Rank() == 0 {
			return ep.RequestShort(1, 128, want...)
		}
		err = ep.WaitUntil(func() bool { return got != nil })
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("arguments %v", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The published conduit moved the start of a DMA transfer back to an aligned address, and so
// overwrote bytes before the destination.
func TestDMAPadding(t *testing.T) {
	err := core.RunModel(2, on("d339"), func(j *core.Job) error {
		came := 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		const n, place = 2001, 4096
		data := bytes.Repeat([]byte{0xda}, n)
		if j.Rank() == 1 {
			mem := ep.Segment()
			for i := range mem {
				mem[i] = 0x55
			}
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		if j.Rank() == 0 {
			for i := range 16 {
				if err := ep.RequestLong(1, 128, data, uint64(place*(i+1)+i)); err != nil {
					return err
				}
			}
			return nil
		}
		if err := ep.WaitUntil(func() bool { return came == 16 }); err != nil {
			return err
		}
		want := bytes.Repeat([]byte{0x55}, len(ep.Segment()))
		for i := range 16 {
			copy(want[place*(i+1)+i:], data)
		}
		if !bytes.Equal(ep.Segment(), want) {
			t.Error("DMA wrote elsewhere, or not everything")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A job runs to its end although links fail; what it does then takes longer.
func TestUnreliableLinks(t *testing.T) {
	machine := unreliable(t)
	if good, bad := exchange(t, on("d339"), core.Medium, 900, 300), exchange(t, on(machine), core.Medium, 900, 300); bad <= good {
		t.Errorf("%v over good links, %v over bad ones", good, bad)
	}
}

func TestModelErrors(t *testing.T) {
	attach := func(cfg core.Config) error {
		return core.RunModel(2, cfg, func(j *core.Job) error {
			_, err := j.Attach(core.AttachSpec{})
			return err
		})
	}
	large := on("d339")
	large.Segment = "2MB"
	faults := on("d339")
	faults.Settings = map[string]string{"faults": "8"}
	for _, tc := range []struct {
		cfg  core.Config
		want string
	}{
		{on("d340"), "no machine is called"},
		{on("./none.machine"), "none.machine"},
		{on("live"), "live only"},
		{large, "1048576"},
		{faults, "faults"},
	} {
		if err := attach(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("model %q: %v, want %q", tc.cfg.Profile, err, tc.want)
		}
	}
}

// TestFreedPlace has a rank find out, by the very poll in which it waits for a place, that
// both have been free for long: it must not wait for whatever comes next, here a second later.
func TestFreedPlace(t *testing.T) {
	err := core.RunModel(3, on("d339"), func(j *core.Job) error {
		got := 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { got++ }},
		}})
		if err != nil {
			return err
		}
		switch j.Rank() {
		case 0:
			for range 2 {
				if err := ep.RequestShort(1, 128); err != nil {
					return err
				}
			}
			j.Compute(100 * time.Microsecond)
			if err := ep.RequestShort(2, 128); err != nil { // while this is stored the answers of rank 1 come
				return err
			}
			start := j.Now()
			if err := ep.RequestShort(1, 128); err != nil {
				return err
			}
			if took := j.Now() - start; took > 10*vtime.Microsecond {
				t.Errorf("a Short with both places free took %v", took)
			}
		case 1:
			err = ep.WaitUntil(func() bool { return got >= 3 })
		case 2:
			j.Compute(time.Second)
		}
		return errors.Join(err, ep.Barrier())
	})
	if err != nil {
		t.Error(err)
	}
}

// attachAnswering attaches a rank that answers what is sent to handler 128, and counts answers in told.
func attachAnswering(t *testing.T, j *core.Job, told *int) (*core.Endpoint, error) {
	return j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) {
			if err := tok.ReplyShort(129); err != nil {
				t.Error(err)
			}
		}},
		{Index: 129, Func: func(*core.Token, []uint32, []byte) { *told++ }},
	}})
}

// TestArrivalDuringScan has a second message come at every point of the poll that finds a first one,
// on a machine where to clear a flag takes a microsecond. It is answered soon: neither the scan nor
// the clearing of the message exist flag loses it. Nobody sends anything else that could help.
func TestArrivalDuringScan(t *testing.T) {
	machine := filepath.Join(t.TempDir(), "slow-flags.machine")
	if err := os.WriteFile(machine, []byte("base d339\nhost.clear 1 us assumed for the test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const steps, step, soon = 100, 100 * vtime.Nanosecond, 40 * vtime.Microsecond
	err := core.RunModel(3, with(on(machine), "forced-scan", "off"), func(j *core.Job) error {
		told := 0
		ep, err := attachAnswering(t, j, &told)
		if err != nil || j.Rank() == 0 {
			return errors.Join(err, ep.Barrier())
		}
		for i := range steps {
			begin := core.Time(i+100)*vtime.Millisecond + steps/2*step
			if j.Rank() == 1 {
				begin += core.Time(i-steps/2) * step
			}
			j.Compute(max(begin-j.Now(), 0).Duration())
			err = errors.Join(ep.RequestShort(0, 128), ep.WaitUntil(func() bool { return told > i }))
			if took := j.Now() - begin; took > soon {
				t.Errorf("rank %d, begun at %v: answered after %v", j.Rank(), begin, took)
			}
		}
		j.Compute(time.Millisecond)
		return errors.Join(err, ep.Barrier())
	})
	if err != nil {
		t.Error(err)
	}
}

// slowScan is the machine for large jobs where to look at a word of flags takes so long that others connect meanwhile.
const slowScan = `base scale
host.scan 2 ms assumed for the test
`

// TestFirstUseDuringScan has one rank after the other connect to rank 0, and send to it, while that scans its flags
// because of a message of rank 1. The summary flag of both is one: to clear it must not lose the new one's message.
func TestFirstUseDuringScan(t *testing.T) {
	machine := filepath.Join(t.TempDir(), "slow-scan.machine")
	if err := os.WriteFile(machine, []byte(slowScan), 0o600); err != nil {
		t.Fatal(err)
	}
	const ranks, apart, step, soon = 14, vtime.Second, vtime.Millisecond / 4, vtime.Second / 2
	err := core.RunModel(ranks, on(machine), func(j *core.Job) error {
		told := 0
		ep, err := attachAnswering(t, j, &told)
		if err != nil || j.Rank() == 0 {
			return errors.Join(err, ep.Barrier())
		}
		ask := func(begin core.Time) error {
			want := told + 1
			j.Compute((begin - j.Now()).Duration())
			err := errors.Join(ep.RequestShort(0, 128), ep.WaitUntil(func() bool { return told == want }))
			if took := j.Now() - begin; took > soon {
				t.Errorf("rank %d, begun at %v: answered after %v", j.Rank(), begin, took)
			}
			return err
		}
		if j.Rank() > 1 {
			err = ask(core.Time(j.Rank())*apart + core.Time(j.Rank()-2)*step)
		}
		for i := core.Time(1); j.Rank() == 1 && i < ranks; i++ {
			err = errors.Join(err, ask(i*apart))
		}
		return errors.Join(err, ep.Barrier())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSettingsWithoutMeaning wants settings that mean nothing under a model or in a profile to be refused.
func TestSettingsWithoutMeaning(t *testing.T) {
	attach := func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	}
	live := func(cfg core.Config) error { return core.RunGoroutines(2, cfg, attach) }
	modelled := func(cfg core.Config) error { return core.RunModel(2, cfg, attach) }
	for _, x := range []struct {
		run                 func(core.Config) error
		profile, key, value string
	}{
		{modelled, "d339", "publish", "fence"}, {modelled, "d339", "faults", "100"},
		{live, "live", "medium", "copy"}, {live, "live", "faults", "100"}, {live, "paper", "dma-from", "1"},
	} {
		if err := x.run(with(on(x.profile), x.key, x.value)); err == nil || !strings.Contains(err.Error(), "sci: setting "+x.key) {
			t.Errorf("%s: %s=%s: %v", x.profile, x.key, x.value, err)
		}
	}
}
