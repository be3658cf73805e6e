package am2_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// fates are what may happen to a datagram.
var fates = [][]time.Duration{
	{propagation},
	{},                                  // lost
	{propagation, propagation},          // duplicated
	{3 * propagation},                   // overtaken by those that follow
	{propagation, 2 * time.Millisecond}, // again, after time-outs
}

// chosen returns which of many cases to run beside those that always run: the part that AQ_TEST_PART=K/M
// asks for, the K-th of every M; 1/1 is all, and without the variable it is none.
func chosen(t *testing.T) func(i int) bool {
	part, parts := 0, 1
	if text := os.Getenv("AQ_TEST_PART"); text != "" {
		if _, err := fmt.Sscanf(text, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
			t.Fatalf("AQ_TEST_PART=%q: want K/M", text)
		}
	}
	return func(i int) bool { return i%parts == part-1 }
}

// exhaust runs a script under every combination of the fates of the first k-1 datagrams, and under those of
// the first k that are chosen.
func exhaust(t *testing.T, k int, cfg am2.Config, script func(x *exchange)) {
	chosen := chosen(t)
	total := 1
	for range k {
		total *= len(fates)
	}
	for schedule := range total {
		if schedule >= total/len(fates) && !chosen(schedule) {
			continue // the k-th datagram meets with something
		}
		w := newWorld(t)
		w.mtu = 600
		x := newExchange(w, 1, 2, 1, cfg)
		rest, n := schedule, 0
		w.fate = func(_, _ *node, _ []byte) []time.Duration {
			if n++; n > k {
				return fates[0]
			}
			f := fates[rest%len(fates)]
			rest /= len(fates)
			return f
		}
		script(x)
		x.finish(3 * time.Second)
		if t.Failed() {
			t.Fatalf("schedule %d", schedule)
		}
	}
}

// put adds a letter to a script.
func (x *exchange) put(from, to int, l letter, reply *letter) {
	x.nextID++
	l.id = x.nextID
	ml := &mail{letter: l, from: x.ends[from], to: x.ends[to]}
	x.letters[l.id] = ml
	x.expected++
	if reply != nil {
		x.nextID++
		r := *reply
		r.id = x.nextID
		ml.reply = &mail{letter: r, from: ml.to, to: ml.from}
		x.letters[r.id] = ml.reply
		x.expected++
	}
	ml.to.grow(l.off + l.size)
	if reply != nil {
		ml.from.grow(reply.off + reply.size)
	}
	ml.from.todo = append(ml.from.todo, ml)
}

func small() am2.Config {
	c := am2.Defaults()
	c.Pack = am2.MinDatagram
	return c
}

func depth(t *testing.T, k int) int {
	if testing.Short() || raceEnabled {
		return k - 2
	}
	return k
}

func TestExhaustiveShorts(t *testing.T) {
	exhaust(t, depth(t, 6), small(), func(x *exchange) {
		for range 3 {
			x.put(0, 1, letter{nargs: 2}, &letter{nargs: 1})
		}
		x.put(1, 0, letter{nargs: 16}, nil)
	})
}

func TestExhaustiveBulk(t *testing.T) {
	exhaust(t, depth(t, 6), small(), func(x *exchange) {
		x.put(0, 1, letter{kind: am2.Medium, nargs: 1, size: 1200}, &letter{kind: am2.Long, nargs: 3, size: 1000, off: 8})
		x.put(0, 1, letter{nargs: 4}, nil)
	})
}

func TestExhaustiveScarce(t *testing.T) {
	c := scarce()
	c.Depth, c.Window = 1, 1
	exhaust(t, depth(t, 6), c, func(x *exchange) {
		x.put(0, 1, letter{nargs: 1}, &letter{nargs: 1})
		x.put(0, 1, letter{nargs: 1}, nil)
		x.put(1, 0, letter{kind: am2.Medium, nargs: 1, size: 700}, nil)
	})
}

func TestExhaustiveHPAM(t *testing.T) {
	c := am2.HPAM()
	exhaust(t, depth(t, 6), c, func(x *exchange) {
		for i := range 6 {
			x.put(0, 1, letter{nargs: 2}, &letter{nargs: 1 + i})
			x.put(1, 0, letter{nargs: 1, kind: am2.Medium, size: 50}, nil)
		}
	})
}
