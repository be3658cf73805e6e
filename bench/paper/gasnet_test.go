package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// gasnetWays measures categories over GRIM on a machine in a file that changes some constants of LANai 9.
func gasnetWays(t *testing.T, names []string, changes ...change) (*Setting, map[string]*way) {
	t.Helper()
	text := "about a machine for tests\nbase grim-lanai9\n"
	for _, c := range changes {
		text += fmt.Sprintln(c.name, c.value, c.unit, "assumed for the test")
	}
	path := filepath.Join(t.TempDir(), "changed.machine")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := GRIM.Setting(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.contenders(new(Outcome))
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]*way{}
	for _, c := range categories {
		if slices.Contains(names, c.name) {
			if ways[c.name], err = all[0].way(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, ways
}

// TestGASNetMoves changes constants of the machine: each moves the categories that rest on it, in its direction, and leaves the others.
func TestGASNetMoves(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	t.Parallel()
	first := func(w *way) float64 { return w.latency[0].Y }
	rate := func(w *way) float64 { return w.rates[len(w.rates)-1].Y }
	page := func(w *way) float64 { return valueAt(w.rates, 4096) }
	type quantity struct {
		of    string
		value func(*way) float64
	}
	all := []string{"short", "medium", "long", "put", "get"}
	_, before := gasnetWays(t, all)
	for _, c := range []struct {
		change      change
		moves       quantity
		least, most float64 // ratio
		stays       quantity
	}{
		{count("bus.read", 168), quantity{"long", rate}, 0.6, 0.8, quantity{"short", first}}, // bursts of 232 cycles instead of 148
		{count("bus.write", 46), quantity{"short", first}, 1.1, 1.6, quantity{"long", rate}}, // the host writes it; bursts are still shorter than reads
		{change{"fabric.link.rate", "50", "MB/s"}, quantity{"put", rate}, 0.2, 0.3, quantity{"short", first}},
		{change{"cpu.instruction", "33", "MHz"}, quantity{"short", first}, 1.5, 4, quantity{"long", rate}},
		{change{"host.visible", "2.15", "us"}, quantity{"medium", first}, 1.3, 1.5, quantity{"put", rate}}, // 2 µs of 5.1
		{change{"steps.translate", "300", "count"}, quantity{"put", first}, 1.2, 2, quantity{"medium", first}},
		{count("grim.buffers", 4), quantity{"get", page}, 1.5, 2.5, quantity{"put", page}}, // three reads at a time instead of one
	} {
		_, after := gasnetWays(t, []string{c.moves.of, c.stays.of}, c.change)
		if q := c.moves.value(after[c.moves.of]) / c.moves.value(before[c.moves.of]); q < c.least || q > c.most {
			t.Errorf("%v: %s is %.2f times what it was", c.change, c.moves.of, q)
		}
		if q := c.stays.value(after[c.stays.of]) / c.stays.value(before[c.stays.of]); math.Abs(q-1) > 0.15 {
			t.Errorf("%v: %s is %.2f times what it was", c.change, c.stays.of, q)
		}
	}
}

// TestGASNetReads takes the second receive buffer from the NICs: gets go by messages then, and wait for their target; puts do not.
func TestGASNetReads(t *testing.T) {
	t.Parallel()
	_, ways := gasnetWays(t, []string{"put", "get"}, count("grim.buffers", 1))
	o, c := new(Outcome), &contender{network: "GRIM", ways: ways}
	o.claimBusy(c, "put")
	o.claimBusy(c, "get")
	if !o.Claims[0].Holds || o.Claims[1].Holds {
		t.Errorf("%+v", o.Claims)
	}
}

// TestClaimGRIM changes what was measured, one at a time: the claim about it does not hold then, and the others do.
func TestClaimGRIM(t *testing.T) {
	t.Parallel()
	s, measured := gasnetWays(t, []string{"short", "medium", "long", "put", "get"})
	p, err := s.grimProfile()
	if err != nil {
		t.Fatal(err)
	}
	fetch, link, store := perByte(p)
	slope := leastSquares(measured["medium"].latency[2:]).slope
	if copied := fetch + link + store + 1e-3; math.Abs(slope/copied-1) > 0.01 { // and the copy of the sender, at 1 GB/s
		t.Errorf("a byte of a Medium takes %g µs, its steps %g", slope, copied)
	}
	scaled := func(points []plot.Point, by float64) (list []plot.Point) {
		for _, p := range points {
			list = append(list, plot.Point{X: p.X, Y: by * p.Y})
		}
		return list
	}
	for want, spoil := range map[string]func(w map[string]way){
		"": func(map[string]way) {},
		"over GRIM no category": func(w map[string]way) {
			get := *w["get"].transferred
			get.rates = scaled(get.rates, 3)
			w["get"] = way{&get, w["get"].latency}
		},
		"NICs store":  func(w map[string]way) { w["medium"] = way{w["medium"].transferred, scaled(w["medium"].latency, 0.8)} },
		"a Long over": func(w map[string]way) { w["long"] = way{w["long"].transferred, scaled(w["long"].latency, 0.7)} },
	} {
		values, ways := map[string]way{}, map[string]*way{}
		for name, w := range measured {
			values[name] = *w
		}
		spoil(values)
		for name, w := range values {
			ways[name] = &w
		}
		o := new(Outcome)
		o.claimGRIM(p, ways)
		var failed []string
		for _, c := range o.Claims {
			if !c.Holds {
				failed = append(failed, c.Text)
			}
		}
		if got := strings.Join(failed, "; "); len(o.Claims) != 3 || len(failed) > 1 || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("want %q: does not hold: %q of %d", want, got, len(o.Claims))
		}
	}
}
