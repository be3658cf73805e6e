package hw_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func TestBus(t *testing.T) {
	t.Parallel()
	b := hw.Bus{Clock: machine.Period(15 * vtime.Nanosecond), Width: 8, Write: 4, Read: 10}
	for _, c := range []struct{ bytes, write, read int }{{0, 4, 10}, {1, 5, 11}, {8, 5, 11}, {9, 6, 12}, {64, 12, 18}} {
		if w, r := b.WriteTime(c.bytes), b.ReadTime(c.bytes); w != b.Clock.Time(c.write) || r != b.Clock.Time(c.read) {
			t.Errorf("%d bytes take %v and %v, want %d and %d cycles", c.bytes, w, r, c.write, c.read)
		}
	}
}

// TestLink has a packet follow another: its head waits for the other's tail.
func TestLink(t *testing.T) {
	t.Parallel()
	var l hw.Link
	for _, c := range []struct{ at, length, head, tail vtime.Time }{{10, 100, 10, 110}, {50, 20, 110, 130}, {200, 5, 200, 205}} {
		if head, tail := l.Carry(c.at, c.length); head != c.head || tail != c.tail {
			t.Errorf("a packet of %v at %v leaves from %v to %v, want %v to %v", c.length, c.at, head, tail, c.head, c.tail)
		}
	}
}

// work is a chain whose bursts cross a bus in 10 ps and are answered 100 ps after that.
type work struct {
	loop  *vtime.Loop
	chain hw.Chain
	name  string
	sizes []int
	off   int
	halt  int // after so many bursts; 0: never
	sent  int
	log   *[]string
}

func (w *work) note(format string, args ...any) {
	*w.log = append(*w.log, fmt.Sprintf("%d %s %s", int64(w.loop.Now()), w.name, fmt.Sprintf(format, args...)))
}

func (w *work) Fire(a, b uint64) { w.chain.Fire(a, b) }

func (w *work) Block(i int) (off, size int, ok bool) {
	if i == len(w.sizes) {
		return 0, 0, false
	}
	return w.off, w.sizes[i], true
}

func (w *work) Send(i, pos, n int) {
	w.sent++
	w.note("sends %d of block %d at %d", n, i, pos)
	w.chain.Sent(w.loop.Now() + 10)
	w.loop.At(w.loop.Now()+110, (*answer)(w), 0, 0)
}

func (w *work) Halted() bool      { return w.halt > 0 && w.sent >= w.halt }
func (w *work) Done(aborted bool) { w.note("done, aborted: %v", aborted) }

type answer work

func (a *answer) Fire(_, _ uint64) { a.chain.Answered() }

type stop work

func (s *stop) Fire(_, _ uint64) { s.chain.Abort() }

// TestChains has three chains share two channels: one of several blocks with too many bursts for the
// answers that may be missing, one that halts, and one that is aborted.
func TestChains(t *testing.T) {
	t.Parallel()
	s := vtime.NewSimulation(1)
	d := &hw.DMA{Start: 5, Fetch: 3, Burst: 64, Outstanding: 2, Complete: 7}
	var channels [2]hw.Channel
	var log []string
	put := func(w *work, channel int) *work {
		w.loop, w.log = &s.Loop, &log
		w.chain = hw.NewChain(&s.Loop, d, &channels[channel], w)
		return w
	}
	a := put(&work{name: "a", sizes: []int{100, 0, 64}, off: 32}, 0)
	b := put(&work{name: "b", sizes: []int{640}, halt: 1}, 1)
	c := put(&work{name: "c", sizes: []int{64, 64}}, 0)
	a.chain.Post(0)
	b.chain.Post(0)
	c.chain.Post(1)
	if !c.chain.Posted() {
		t.Error("a chain is not at work after Post")
	}
	s.At(265, (*stop)(c), 0, 0)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"8 a sends 32 of block 0 at 0", // up to a multiple of 64
		"8 b sends 64 of block 0 at 0",
		"18 a sends 64 of block 0 at 32",
		"118 a sends 4 of block 0 at 96", // when the first was answered
		"125 b done, aborted: false",
		"131 a sends 32 of block 2 at 0", // after a descriptor
		"228 a sends 32 of block 2 at 32",
		"345 a done, aborted: false",
		"355 c done, aborted: true",
	}
	if !slices.Equal(log, want) {
		t.Errorf("log:\n%q\nwant:\n%q", log, want)
	}
	if a.chain.Posted() || b.chain.Posted() || c.chain.Posted() {
		t.Error("a chain is at work after its end")
	}
}

// TestPriorities posts a chain of a higher priority while a block of another is at work: the block is
// finished, then the higher chain is carried out, and then the rest of the other, before its equals.
func TestPriorities(t *testing.T) {
	t.Parallel()
	for _, outstanding := range []int{1, 2} {
		s := vtime.NewSimulation(1)
		d := &hw.DMA{Burst: 64, Outstanding: outstanding}
		var channel hw.Channel
		var log []string
		put := func(name string, priority, blocks int) *work {
			w := &work{name: name, sizes: slices.Repeat([]int{128}, blocks), loop: &s.Loop, log: &log}
			w.chain = hw.NewChain(&s.Loop, d, &channel, w)
			w.chain.Priority = priority
			return w
		}
		low, equal, high := put("low", 1, 2), put("equal", 1, 1), put("high", 2, 1)
		low.chain.Post(0)
		equal.chain.Post(1)
		high.chain.Post(5) // the first burst of low is on the bus
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, line := range log {
			var at int
			var name, what string
			fmt.Sscan(line, &at, &name, &what)
			order = append(order, name+" "+what)
		}
		want := []string{
			"low sends", "low sends", // the block is finished
			"high sends", "high sends", "high done,",
			"low sends", "low sends", "low done,",
			"equal sends", "equal sends", "equal done,",
		}
		if !slices.Equal(order, want) {
			t.Errorf("%d outstanding:\n%q\nwant\n%q", outstanding, log, want)
		}
	}
}

// TestAbortAtEmpty stops chains of which only empty descriptors are left: nothing is kept from being sent, so they
// are not aborted. The times are before the burst has left the bus, while its answer is missing, and after that.
func TestAbortAtEmpty(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{{64, 0}, {64, 0, 0}, {0, 64, 0}} {
		for _, at := range []vtime.Time{15, 50, 119, 122} {
			s := vtime.NewSimulation(1)
			d := &hw.DMA{Start: 5, Fetch: 3, Burst: 64, Outstanding: 1, Complete: 7}
			var log []string
			w := &work{name: "w", sizes: sizes, loop: &s.Loop, log: &log}
			w.chain = hw.NewChain(&s.Loop, d, new(hw.Channel), w)
			w.chain.Post(0)
			s.At(at, (*stop)(w), 0, 0)
			if err := s.Run(); err != nil {
				t.Fatal(err)
			}
			if got := log[len(log)-1]; got != "125 w done, aborted: false" {
				t.Errorf("blocks of %v, stopped at %d: %s", sizes, int64(at), got)
			}
		}
	}
}
