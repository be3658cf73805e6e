package compare_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/compare"
)

// lineOf makes a line of a result in a mode with these times, and with ratios if there are any.
func lineOf(op, mode string, ns []float64, ratios ...float64) *bench.Line {
	r := bench.Result{Size: 8, Ranks: 2, Iters: 1}
	r.Placement = bench.Unknown
	for i, v := range ns {
		s := bench.Sample{Ns: v, Metrics: map[string]float64{}, Placement: bench.Unknown}
		if len(ratios) > 0 {
			s.Metrics["x-floor"] = ratios[i]
		}
		r.Samples = append(r.Samples, s)
	}
	s := &bench.Series{Family: "RMA", Title: op, Quantity: bench.Access, Params: []bench.Param{{Key: "op", Value: op}, {Key: "conduit", Value: "sci"}, {Key: "mode", Value: mode}}}
	line, err := bench.NewLine(&bench.Header{Mode: mode, CPU: "one"}, s, &r)
	if err != nil {
		panic(err)
	}
	var text strings.Builder
	if err := line.Write(&text); err != nil {
		panic(err)
	}
	again, err := bench.ReadLines(strings.NewReader(text.String()))
	if err != nil {
		panic(err)
	}
	return again[0]
}

// from returns ten times from a first one on, each 1 % longer than the one before.
func from(first float64) (ns []float64) {
	for i := range 10 {
		ns = append(ns, first*(1+float64(i)/100))
	}
	return ns
}

// TestChanges has one result of each kind that there is.
func TestChanges(t *testing.T) {
	mixed := []float64{100, 109, 101, 108, 102, 107, 103, 106, 104, 105}
	old := []*bench.Line{
		lineOf("slower", "live", from(100)), lineOf("faster", "live", from(100)), lineOf("same", "live", from(100)),
		lineOf("few", "live", []float64{1, 2, 3}), lineOf("model", "modelled", []float64{100}), lineOf("model-same", "modelled", []float64{100}),
		lineOf("gone", "live", from(1)),
		// of two rounds, whose samples count together
		lineOf("rounds", "live", from(100)[:5]), lineOf("rounds", "live", from(100)[5:]),
	}
	new := []*bench.Line{
		lineOf("slower", "live", from(120)), lineOf("faster", "live", from(80)), lineOf("same", "live", mixed),
		lineOf("few", "live", []float64{7, 8, 9}), lineOf("model", "modelled", []float64{101}), lineOf("model-same", "modelled", []float64{100}),
		lineOf("come", "live", from(1)), lineOf("rounds", "live", from(150)),
	}
	changes, only, err := compare.Changes(old, new, compare.Times)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		op := strings.Split(strings.Split(c.Name, "op=")[1], "/")[0]
		got = append(got, fmt.Sprintf("%s sure=%v few=%v", op, c.Sure, c.TooFew))
	}
	want := []string{"slower sure=true few=false", "faster sure=true few=false", "same sure=false few=false", "few sure=false few=true",
		"model sure=true few=false", "model-same sure=false few=false", "rounds sure=true few=false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(only[0]) != 1 || !strings.Contains(only[0][0], "gone") || len(only[1]) != 1 || !strings.Contains(only[1][0], "come") {
		t.Errorf("only in one: %q", only)
	}
	var out strings.Builder
	if err := compare.WriteDiff(&out, changes, only); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"op=slower", "op=faster", "op=model/", "7 values compared: 3 more, 1 less, 2 not changed beyond noise, 1 of too few"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
	for _, part := range []string{"op=same", "op=few", "op=model-same"} {
		if strings.Contains(out.String(), part) {
			t.Errorf("%q in\n%s", part, &out)
		}
	}
}

// TestMannWhitney compares p-values with the definition, carried out: of all ways to divide the values in two, the share in which as many
// pairs at least are out of balance.
func TestMannWhitney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.IntRange(1, 1000), 4, 9, rapid.ID[int]).Draw(t, "values")
		n := rapid.IntRange(2, len(all)-2).Draw(t, "old")
		float := func(ints []int) (f []float64) {
			for _, v := range ints {
				f = append(f, float64(v))
			}
			return f
		}
		changes, _, err := compare.Changes([]*bench.Line{lineOf("x", "live", float(all[:n]))}, []*bench.Line{lineOf("x", "live", float(all[n:]))}, compare.Times)
		if err != nil {
			t.Fatal(err)
		}
		if want := share(all, n); math.Abs(changes[0].P-want) > 1e-9 {
			t.Errorf("p = %v, want %v", changes[0].P, want)
		}
	})
}

// share is the p-value by trying all subsets.
func share(all []int, n int) float64 {
	balance := func(set uint) float64 {
		u := 0
		for i := range all {
			for j := range all {
				if set>>i&1 == 1 && set>>j&1 == 0 && all[i] > all[j] {
					u++
				}
			}
		}
		return math.Abs(float64(u) - float64(n*(len(all)-n))/2)
	}
	seen := balance(1<<n - 1)
	extreme, sets := 0, 0
	for set := range uint(1 << len(all)) {
		members := 0
		for i := range all {
			members += int(set >> i & 1)
		}
		if members == n {
			sets++
			if balance(set) >= seen {
				extreme++
			}
		}
	}
	return float64(extreme) / float64(sets)
}

// TestDiscoveries compares which of many changes are sure with the procedure as it is written: the most changes k such that k of them have p-values of at
// most k/m of the level.
func TestDiscoveries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var old, new []*bench.Line
		for i := range rapid.IntRange(1, 6).Draw(t, "results") {
			draw := func() (v []float64) {
				for _, n := range rapid.SliceOfN(rapid.IntRange(100, 120), 5, 5).Draw(t, "times") {
					v = append(v, float64(n))
				}
				return v
			}
			op := fmt.Sprintf("op%d", i)
			old, new = append(old, lineOf(op, "live", draw())), append(new, lineOf(op, "live", draw()))
		}
		changes, _, err := compare.Changes(old, new, compare.Times)
		if err != nil {
			t.Fatal(err)
		}
		m, k := len(changes), 0
		for tried := 1; tried <= m; tried++ {
			n := 0
			for _, c := range changes {
				if c.P <= compare.Significance*float64(tried)/float64(m) {
					n++
				}
			}
			if n >= tried {
				k = tried
			}
		}
		for _, c := range changes {
			if want := c.P <= compare.Significance*float64(k)/float64(m) && k > 0 && c.Old != c.New; c.Sure != want {
				t.Errorf("p = %v of %v: sure %v, want %v", c.P, changes, c.Sure, want)
			}
		}
	})
}

// TestRegressions has ratios that grew within the tolerance and beyond it, and times that count for nothing.
func TestRegressions(t *testing.T) {
	slow := from(500) // as on a slower machine: ratios count alone
	old := []*bench.Line{
		lineOf("worse", "live", from(100), from(1)...), lineOf("little", "live", from(100), from(1)...), lineOf("better", "live", from(100), from(2)...),
		lineOf("model", "modelled", []float64{100}), lineOf("model-better", "modelled", []float64{100}), lineOf("no-floor", "live", from(1)),
	}
	new := []*bench.Line{
		lineOf("worse", "live", slow, from(1.5)...), lineOf("little", "live", slow, from(1.095)...), lineOf("better", "live", slow, from(1)...),
		lineOf("model", "modelled", []float64{100.5}), lineOf("model-better", "modelled", []float64{99}), lineOf("no-floor", "live", from(100)),
	}
	for tolerance, want := range map[float64][]string{0.1: {"worse", "model"}, 0.01: {"worse", "little", "model"}, 1: {"model"}} {
		changes, _, err := compare.Changes(old, new, compare.Ratios)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range compare.Regressions(changes, tolerance) {
			got = append(got, strings.Split(strings.Split(c.Name, "op=")[1], "/")[0])
		}
		slices.SortFunc(got, func(a, b string) int { return cmp.Compare(slices.Index(want, a), slices.Index(want, b)) })
		if !slices.Equal(got, want) {
			t.Errorf("tolerance %v: regressions %q, want %q", tolerance, got, want)
		}
	}
}

// TestTables wants live and modelled results apart, each with its value, in a column of its conduit.
func TestTables(t *testing.T) {
	var out strings.Builder
	err := compare.Tables(&out, []*bench.Line{lineOf("put", "modelled", []float64{2500}), lineOf("put", "live", from(1000), from(2)...)})
	if err != nil {
		t.Fatal(err)
	}
	live, modelled, ok := strings.Cut(out.String(), "MODELLED")
	if !ok || !strings.Contains(live, "LIVE") || !strings.Contains(live, "1.045 ±3% ×2.09") || strings.Contains(live, "2.5") || !strings.Contains(modelled, "2.5") {
		t.Errorf("got\n%s", &out)
	}
}
