package lanai_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const link = machine.Rate(6_250_000) // 160 MB/s

// nic returns a NIC of a built-in profile, changed by change, on a loop of its own.
func nic(t *testing.T, name string, change func(*lanai.Profile)) (*vtime.Simulation, *lanai.NIC) {
	t.Helper()
	p, err := lanai.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	s := vtime.NewSimulation(1)
	return s, lanai.New(&s.Loop, p, link)
}

// do calls f at a time.
func do(s *vtime.Simulation, at vtime.Time, f func()) { s.At(at, call(f), 0, 0) }

type call func()

func (c call) Fire(_, _ uint64) { c() }

func TestSRAM(t *testing.T) {
	t.Parallel()
	s := lanai.NewSRAM(1000)
	code, err := s.Alloc("code", 500)
	if err != nil || len(code) != 500 || s.Used() != 504 || s.Left() != 496 {
		t.Fatalf("%d B of code, %v: %s", len(code), err, s.Report())
	}
	if err := s.Reserve("stack", 496); err != nil {
		t.Error(err)
	}
	err = s.Reserve("routes", 1)
	if err == nil || !strings.Contains(err.Error(), "routes needs 1 B, and 0 B of 1000 B are left; 1000 of 1000 B used: code 504, stack 496") {
		t.Error(err)
	}
	for _, size := range []machine.Bytes{-1, 1<<63 - 1} {
		if s.Reserve("nonsense", size) == nil {
			t.Errorf("a region of %d B", size)
		}
	}
	if got := s.Regions(); len(got) != 2 || s.Size() != 1000 {
		t.Errorf("a region that was refused is kept: %v", got)
	}
}

// TestDispatcher has events of three priorities come while a handler runs: each handler runs to its end, and the
// highest priority is next, whatever came first.
func TestDispatcher(t *testing.T) {
	t.Parallel()
	s, n := nic(t, "lanai7", nil)
	c, ns := n.CPU, n.Profile().CPU.Instruction
	var log []string
	handler := func(name string, steps ...int) lanai.Handler {
		return lanai.Handler{Name: name, Run: func() {
			log = append(log, fmt.Sprintf("%d %s", s.Now()/vtime.Time(ns), name))
			var step func()
			left := steps
			step = func() {
				if len(left) > 0 {
					k := left[0]
					left = left[1:]
					c.Spend(k, step)
				}
			}
			step()
		}}
	}
	if err := c.Load([]lanai.Handler{handler("high", 10), handler("middle", 0, 5, 5), handler("low", 100, 100)}); err != nil {
		t.Fatal(err)
	}
	poll, dispatch := n.Profile().Code.Poll, n.Profile().Code.Dispatch
	do(s, ns.Time(2*poll), func() { c.Raise(2) }) // the register is being read
	do(s, ns.Time(5*poll), func() { c.Raise(1) }) // the lowest runs
	do(s, ns.Time(5*poll), func() { c.Raise(1) }) // a bit that is set is set
	do(s, ns.Time(6*poll), func() { c.Raise(0) }) //
	do(s, ns.Time(1000)+1, func() { c.Raise(0) }) // 1000 is none of the times at which the register is read
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	at := 2*poll + poll + dispatch
	want := []string{fmt.Sprint(at, " low")}
	at += 200 + poll + dispatch
	want = append(want, fmt.Sprint(at, " high"))
	at += 10 + poll + dispatch
	want = append(want, fmt.Sprint(at, " middle"))
	at += 10 // the register is read now, and every poll instructions from now on
	at += (1000-at)/poll*poll + poll + poll + dispatch
	want = append(want, fmt.Sprint(at, " high"))
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
	if got := c.Counts(); got.Handled != 4 || c.Handled(0) != 2 || c.Handled(1) != 1 || got.Slowed != 0 || got.Busy != ns.Time(4*(poll+dispatch)+200+10+10+10) {
		t.Errorf("counts %+v", got)
	}
}

// engines has the processor carry out a handler of so many instructions while engines are at work, and returns how
// long it takes.
func engines(t *testing.T, instructions int, begin func(*vtime.Simulation, *lanai.NIC)) vtime.Time {
	t.Helper()
	s, n := nic(t, "lanai7", func(p *lanai.Profile) { p.Bus.Write, p.Bus.Read = 0, 0 })
	var began, ended vtime.Time
	err := n.CPU.Load([]lanai.Handler{{Name: "work", Run: func() {
		began = s.Now()
		n.CPU.Spend(instructions, func() { ended = s.Now() })
	}}})
	if err != nil {
		t.Fatal(err)
	}
	begin(s, n)
	n.CPU.Raise(0)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return ended - began
}

// TestContention has the engines at work while the processor is: each slows it, all three most, a transfer that
// ends in the middle for the time of the transfer alone, and the accesses of the host's processor as much as the
// host DMA engine.
func TestContention(t *testing.T) {
	t.Parallel()
	const work = 1_000_000
	works := func(list ...lanai.Engine) func(*vtime.Simulation, *lanai.NIC) {
		return func(_ *vtime.Simulation, n *lanai.NIC) {
			for _, e := range list {
				n.Works(e, true)
			}
		}
	}
	alone := engines(t, work, works())
	receive := engines(t, work, works(lanai.Receive))
	two := engines(t, work, works(lanai.Receive, lanai.Send))
	all := engines(t, work, works(lanai.Receive, lanai.Send, lanai.HostBus))
	if !(alone < receive && receive < two && two < all) {
		t.Errorf("%v alone, %v with the receive DMA, %v with the send DMA too, %v with all three", alone, receive, two, all)
	}
	if again := engines(t, work, works(lanai.Receive, lanai.Receive)); again != receive {
		t.Errorf("an engine takes one access per clock at most: %v with one transfer, %v with two", receive, again)
	}
	// By hand: 160 MB/s are 20 M accesses of 8 bytes a second, in 66 M clocks. Two free accesses are there in p0 of
	// them, one in p1, so that an instruction with data, three in ten, takes 1 + p1 clocks.
	p1 := 20e6 / 66e6
	if want := 1 + 0.3*p1; float64(receive)/float64(alone) < want-0.001 || float64(receive)/float64(alone) > want+0.001 {
		t.Errorf("the receive DMA slows the processor by %.4f, want %.4f", float64(receive)/float64(alone), want)
	}
	half := engines(t, work, func(s *vtime.Simulation, n *lanai.NIC) {
		n.Works(lanai.Receive, true)
		do(s, alone/2, func() { n.Works(lanai.Receive, false) })
	})
	if slowed := float64(half-alone) / float64(receive-alone); slowed < 0.45 || slowed > 0.55 {
		t.Errorf("a transfer for half of the time costs %.2f of what one for all of it does", slowed)
	}
	host := engines(t, 1000, func(s *vtime.Simulation, n *lanai.NIC) { n.HostWrite(4096, call(func() {}), 0, 0) })
	if host <= alone/1000 {
		t.Errorf("an access of the host does not slow the processor: %v", host)
	}
}

// TestSaturated has engines ask for more than the memory has: the processor is slow then, and goes on.
func TestSaturated(t *testing.T) {
	t.Parallel()
	_, n := nic(t, "lanai4", nil)
	alone := n.CPU.Instruction()
	for e := range lanai.EngineNames {
		n.Works(lanai.Engine(e), true)
	}
	if slow := n.CPU.Instruction(); slow < 8*alone || slow > 12*alone {
		t.Errorf("an instruction takes %v, and alone %v", slow, alone)
	}
}

// TestHostDMA posts chains from both sides: bytes move both ways, a running block is finished before a chain of a
// higher priority is taken up, the chain ends at the terminal block, and signals come for the blocks that ask for
// them.
func TestHostDMA(t *testing.T) {
	t.Parallel()
	s, n := nic(t, "lanai7", nil)
	var log []string
	handlers := make([]lanai.Handler, 2)
	for i := range handlers {
		handlers[i] = lanai.Handler{Name: "signal", Run: func() { log = append(log, fmt.Sprint("signal ", i)) }}
	}
	if err := n.CPU.Load(handlers); err != nil {
		t.Fatal(err)
	}
	var chains [2]*lanai.DMAChain // the first has the higher priority
	for i := range chains {
		var err error
		if chains[i], err = n.DMA.Open(i, fmt.Sprint("c", i), 4, lanai.Event(i)); err != nil {
			t.Fatal(err)
		}
	}
	sram, err := n.SRAM.Alloc("buffer", 4096)
	if err != nil {
		t.Fatal(err)
	}
	host := bytes.Repeat([]byte("aqueduct"), 512)
	back := make([]byte, 4096)
	low, high := chains[1], chains[0]
	for _, b := range []lanai.Block{
		{Direction: lanai.FromHost, Host: host[:2048], SRAM: sram[:2048]},
		{Direction: lanai.FromHost, Host: host[2048:], SRAM: sram[2048:], Terminal: true, Signal: true},
		{Direction: lanai.FromHost, Host: host[:8], SRAM: sram[:8], Signal: true}, // behind the terminal block
	} {
		if err := low.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := high.Append(lanai.Block{Direction: lanai.ToHost, Host: back, SRAM: sram, Terminal: true, Signal: true}); err != nil {
		t.Fatal(err)
	}
	do(s, 0, func() {
		if err := low.HostStart(); err != nil {
			t.Error(err)
		}
		if low.Active() {
			t.Error("a chain is at work before the host's write has come")
		}
	})
	do(s, 5*vtime.Microsecond, func() { // the first block is at work
		if err := high.Start(); err != nil {
			t.Error(err)
		}
		if low.Finished() != 0 || !low.Active() {
			t.Errorf("%d blocks carried out", low.Finished())
		}
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	// The higher chain came between the blocks of the lower one, so that it found half of the bytes.
	if !bytes.Equal(sram, host) || !bytes.Equal(back[:2048], host[:2048]) || slices.Max(back[2048:]) != 0 {
		t.Error("bytes are not where they belong")
	}
	if want := []string{"signal 0", "signal 1"}; !slices.Equal(log, want) {
		t.Errorf("signals %q, want %q", log, want)
	}
	if low.Active() || low.Finished() != 2 || low.Room() != 3 {
		t.Errorf("the chain does not end at its terminal block: %d of its blocks carried out", low.Finished())
	}
}

// TestChainRestart starts a chain while it is at work: it goes on behind its terminal block.
func TestChainRestart(t *testing.T) {
	t.Parallel()
	s, n := nic(t, "lanai7", nil)
	c, err := n.DMA.Open(2, "c", 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]byte, 8), make([]byte, 8)
	written := 0
	for range 3 {
		if err := c.Append(lanai.Block{Host: a, SRAM: b, Terminal: true, Written: call(func() { written++ })}); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(); err == nil {
		t.Error("started once more than there are terminal blocks")
	}
	if err := s.Run(); err != nil || c.Finished() != 3 || written != 3 {
		t.Errorf("%d blocks carried out, %d told of, %v", c.Finished(), written, err)
	}
}

func TestDMAErrors(t *testing.T) {
	t.Parallel()
	_, n := nic(t, "lanai4", nil)
	c, err := n.DMA.Open(0, "c", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	for name, err := range map[string]error{
		"chain 4":           second(n.DMA.Open(4, "x", 1, 0)),
		`"c" already`:       second(n.DMA.Open(0, "x", 1, 0)),
		"0 control blocks":  second(n.DMA.Open(1, "x", 0, 0)),
		"SRAM: chain x":     second(n.DMA.Open(1, "x", 1<<20, 0)),
		"as long":           c.Append(lanai.Block{Host: b, SRAM: b[:7]}),
		"empty":             c.Append(lanai.Block{}),
		"no terminal block": errors.Join(c.Append(lanai.Block{Host: b, SRAM: b}), c.Start()),
		"no terminal":       c.HostStart(),
		"is full":           c.Append(lanai.Block{Host: b, SRAM: b}),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestDoorbells rings until the FIFO is full, what is on the bus included.
func TestDoorbells(t *testing.T) {
	t.Parallel()
	s, n := nic(t, "lanai7", nil)
	var got []lanai.Ring
	var d *lanai.Doorbells
	if err := n.CPU.Load([]lanai.Handler{{Name: "doorbell", Run: func() {
		for d.Waiting() > 0 {
			r, _ := d.Next()
			got = append(got, r)
		}
	}}}); err != nil {
		t.Fatal(err)
	}
	d, err := n.Doorbells(64, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, nil, lanai.ErrDoorbellsFull} {
		if err := d.Write(8*i, uint64(i)); !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	for _, offset := range []int{-8, 4, 64} {
		if err := d.Write(offset, 0); err == nil || !strings.Contains(err.Error(), "offset") {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
	s.RunUntil(vtime.Millisecond)
	if want := []lanai.Ring{{Offset: 0, Value: 0}, {Offset: 8, Value: 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := d.Write(16, 2); err != nil {
		t.Errorf("the FIFO is empty again: %v", err)
	}
	for _, c := range []struct{ size, entries int }{{4, 1}, {64, 0}, {64, 1 << 20}} {
		if _, err := n.Doorbells(c.size, c.entries, 0); err == nil {
			t.Errorf("doorbells of %d B with %d entries", c.size, c.entries)
		}
	}
}

// TestProfiles reads every NIC. A machine file that changes a constant moves what depends on it the right way.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range lanai.Library().Names() {
		nic(t, name, nil)
	}
	f, err := lanai.Library().Load("lanai7")
	if err != nil {
		t.Fatal(err)
	}
	decode := func(f *machine.File) (p lanai.Profile) {
		if err := f.Decode(&p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	is := decode(f)
	for _, c := range []struct {
		name, value, unit string
		took              func(*lanai.Profile) vtime.Time // must be longer
	}{
		{"cpu.instruction", "33", "MHz", func(p *lanai.Profile) vtime.Time { return p.CPU.Instruction.Time(1) }},
		{"bus.width", "4", "count", func(p *lanai.Profile) vtime.Time { return p.Bus.ReadTime(512) }},
		{"dma.fetch", "1", "us", func(p *lanai.Profile) vtime.Time { return p.DMA.Fetch }},
	} {
		changed, err := f.With(c.name, c.value, c.unit)
		if err != nil {
			t.Fatal(err)
		}
		was := decode(changed)
		if c.took(&was) <= c.took(&is) {
			t.Errorf("%s = %s %s changes nothing", c.name, c.value, c.unit)
		}
	}
}

func TestProfileErrors(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*lanai.Profile){
		"sram.size":            func(p *lanai.Profile) { p.SRAM.Size = 10 },
		"sram.width":           func(p *lanai.Profile) { p.SRAM.Width = 0 },
		"an access of its own": func(p *lanai.Profile) { p.CPU.Instruction = 1 },
		"dispatcher.poll":      func(p *lanai.Profile) { p.Code.Poll = 0 },
		"dispatcher.dispatch":  func(p *lanai.Profile) { p.Code.Dispatch = 1 << 30 },
		"bus.width":            func(p *lanai.Profile) { p.Bus.Width = 0 },
		"bus.write":            func(p *lanai.Profile) { p.Bus.Read = 1 << 30 },
		"dma.burst":            func(p *lanai.Profile) { p.DMA.Burst = 100 },
		"dma.outstanding":      func(p *lanai.Profile) { p.DMA.Outstanding = 2 },
	} {
		p, err := lanai.Load("lanai7")
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		checks := machine.NewChecks(fmt.Errorf)
		p.Check(checks)
		if err := checks.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := lanai.Load("lanai99"); err == nil || !strings.Contains(err.Error(), "lanai7") {
		t.Error(err)
	}
}

// TestLongIdle raises an event after the dispatcher has read the register for a minute: it is handled at the next reading.
func TestLongIdle(t *testing.T) {
	t.Parallel()
	for _, idle := range []vtime.Time{9 * vtime.Second, 12 * vtime.Second, 60 * vtime.Second} {
		s, n := nic(t, "lanai7", nil)
		var at vtime.Time
		if err := n.CPU.Load([]lanai.Handler{{Name: "only", Run: func() { at = s.Now() }}}); err != nil {
			t.Fatal(err)
		}
		do(s, idle, func() { n.CPU.Raise(0) })
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		most := n.Profile().CPU.Instruction.Time(2*n.Profile().Code.Poll + n.Profile().Code.Dispatch)
		if late := at - idle; late <= 0 || late > most {
			t.Errorf("an event after %v is handled %v later, at most %v are due", idle, late, most)
		}
	}
}
