package coretest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// suite makes combinations of some cases in 2 × 2 × 2 kinds, half of them modelled, at two or three sizes.
func suite() (all []combination) {
	var kinds []Kind
	for _, a := range []string{"live", "paper"} {
		for _, b := range []string{"processes", "goroutines"} {
			for _, c := range []string{"many", "single"} {
				kinds = append(kinds, Kind{Name: a + "/" + b + "/" + c, Launcher: map[string]Launcher{"live": Goroutines, "paper": Model}[a]})
			}
		}
	}
	for i := range 20 {
		c := &Case{Name: fmt.Sprintf("group%d/case%d", i%4, i)}
		for k := range kinds {
			for n := range 2 + i%2 {
				all = append(all, combination{c: c, kind: &kinds[k], n: n + 1})
			}
		}
	}
	return all
}

// plain forgets which combinations run once.
func plain(some []combination) []combination {
	for i := range some {
		some[i].once = false
	}
	return some
}

// alone is the part that has nothing but the pairs, while less than that is left out.
var alone = Part{1 << 30, 1 << 30}

// TestFew has the zero part run each case, each group of cases in each kind and at each size, and less than the pairs.
func TestFew(t *testing.T) {
	all := suite()
	met := func(some []combination) map[string]bool {
		met := map[string]bool{}
		for _, x := range some {
			met[x.c.Name], met[x.groupAndKind()], met[fmt.Sprint(x.c.group(), x.n)] = true, true, true
		}
		return met
	}
	few, pairs := choose(all, Part{}), choose(all, alone)
	if got, want := met(few), met(all); !maps.Equal(got, want) {
		t.Errorf("%d of %d are met", len(got), len(want))
	}
	if len(few) >= len(pairs) {
		t.Errorf("%d combinations, where the pairs are %d", len(few), len(pairs))
	}
	t.Setenv(envPart, "")
	if !Few(t) {
		t.Errorf("there are more than few without %s", envPart)
	}
	t.Setenv(envPart, "3/8")
	if Few(t) {
		t.Errorf("there are few with %s", envPart)
	}
}

func TestPairs(t *testing.T) {
	testPairs(t, suite(), false)
}

// TestAllSizes has kinds whose cases run at every size.
func TestAllSizes(t *testing.T) {
	all := suite()
	for i := range all {
		all[i].kind.AllSizes = true
	}
	testPairs(t, all, true)
	if sized, few := len(choose(all, alone)), len(choose(suite(), alone)); sized <= few {
		t.Errorf("%d combinations are chosen; %d of kinds without all sizes", sized, few)
	}
}

// testPairs wants the chosen combinations to cover all pairs, of each case with every size too if it is sized.
func testPairs(t *testing.T, all []combination, sized bool) {
	t.Helper()
	chosen := choose(all, alone)
	want, got := map[string]bool{}, map[string]bool{}
	note := func(met map[string]bool, x combination) {
		size := fmt.Sprint(x.n)
		values := append(strings.Split(x.kind.Name, "/"), size)
		for i, v := range values {
			if v != size || sized {
				met[x.c.Name+" "+v] = true
			}
			for _, w := range values[i+1:] {
				met[v+" "+w] = true
			}
		}
		met[x.c.Name[:6]+x.kind.Name], met[x.c.Name[:6]+size] = true, true
	}
	for _, x := range all {
		note(want, x)
	}
	for _, x := range chosen {
		note(got, x)
	}
	for pair := range maps.Keys(want) {
		if !got[pair] {
			t.Errorf("%s is not covered", pair)
		}
	}
	if len(chosen) > len(all)/5 {
		t.Errorf("%d of %d combinations are chosen", len(chosen), len(all))
	}
	if again := choose(all, alone); !slices.Equal(again, chosen) {
		t.Errorf("%d combinations, then %d", len(chosen), len(again))
	}
}

// The parts are disjoint but for the pairs, and together everything.
func TestParts(t *testing.T) {
	all := suite()
	times := map[combination]int{}
	for k := range 3 {
		part := plain(choose(all, Part{k + 1, 3}))
		if !slices.IsSortedFunc(part, func(a, b combination) int { return slices.Index(all, a) - slices.Index(all, b) }) {
			t.Error("the order is not that of the suite")
		}
		for _, x := range part {
			times[x]++
		}
	}
	pairs := plain(choose(all, alone))
	for _, x := range pairs {
		if times[x] != 3 {
			t.Errorf("%s is in %d parts, and one of the pairs", x.c.Name, times[x])
		}
		times[x] = 1
	}
	for _, x := range all {
		if times[x] != 1 {
			t.Errorf("%s %s n=%d is in %d parts", x.c.Name, x.kind.Name, x.n, times[x])
		}
	}
	if got := choose(all, Part{1, 1}); !slices.Equal(got, all) {
		t.Errorf("part 1/1 is %d of %d combinations", len(got), len(all))
	}
}

// Of each group in each kind in virtual time one combination of several ranks is repeated. The parts together repeat all of them.
func TestRepeats(t *testing.T) {
	all := suite()
	group := map[string]bool{}
	for _, x := range choose(all, alone) {
		if x.repeats() && x.n > 1 {
			if group[x.groupAndKind()] && !x.once {
				t.Errorf("%s is repeated with %d ranks, and another of its group", x.c.Name, x.n)
			}
			group[x.groupAndKind()] = group[x.groupAndKind()] || !x.once
		}
	}
	for key, repeated := range group {
		if !repeated {
			t.Errorf("nothing of %s is repeated with several ranks", key)
		}
	}
	missed := map[combination]bool{}
	for _, x := range all {
		missed[x] = x.repeats()
	}
	for k := range 3 {
		for _, x := range choose(all, Part{k + 1, 3}) {
			if !x.once {
				missed[x] = false
			}
		}
	}
	for x, missed := range missed {
		if missed {
			t.Errorf("no part repeats %s %s n=%d", x.c.Name, x.kind.Name, x.n)
		}
	}
}

// TestRest has kinds leave cases, and second runs, to the rest.
func TestRest(t *testing.T) {
	all := suite()
	modelled := all[slices.IndexFunc(all, func(x combination) bool { return x.repeats() })].kind
	modelled.Once = true
	modelled.Rest = func(c *Case) bool { return strings.HasPrefix(c.Name, "group1/") }
	met := 0
	for _, x := range choose(all, alone) {
		if x.kind != modelled {
			continue
		}
		met++
		if x.spare() || !x.once {
			t.Errorf("%s, n=%d, is chosen; left to the rest: %v; runs once: %v", x.c.Name, x.n, x.spare(), x.once)
		}
	}
	if met == 0 {
		t.Error("the kind has no case")
	}
	if got := choose(all, Part{1, 1}); len(got) != len(all) || slices.ContainsFunc(got, func(x combination) bool { return x.once }) {
		t.Errorf("with the rest %d of %d run, or some of them once", len(got), len(all))
	}
}

// TestShare has a kind leave to the rest all but a share of each group of the cases that apply, as the race detector has kinds in virtual time
// leave all but one.
func TestShare(t *testing.T) {
	cases := []*Case{{Name: "a/processes", Ranks: []int{2}, Needs: Processes}}
	for i := range 6 {
		cases = append(cases, &Case{Name: fmt.Sprint("a/", i), Ranks: []int{2}}, &Case{Name: fmt.Sprint("b/", i), Ranks: []int{2}})
	}
	cases = append(cases, &Case{Name: "c/alone", Ranks: []int{2}})
	all := combinations(t, cases, []Kind{
		{Name: "live", Launcher: Goroutines}, {Name: "shared", Launcher: Goroutines, Share: 3}, {Name: "modelled", Launcher: Model},
	})
	got := map[string]int{}
	for _, x := range choose(all, alone) {
		got[x.kind.Name+" "+x.c.group()]++
	}
	want := map[string]int{"live a": 6, "live b": 6, "live c": 1, "shared a": 2, "shared b": 2, "shared c": 1, "modelled a": 6, "modelled b": 6, "modelled c": 1}
	if shm.RaceEnabled {
		want["modelled a"], want["modelled b"] = 1, 1
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := len(choose(all, Part{1, 1})); n != len(all) {
		t.Errorf("%d of %d with the rest", n, len(all))
	}
}

func TestParsePart(t *testing.T) {
	for text, want := range map[string]Part{"": {}, "3/8": {3, 8}, "1/1": {1, 1}} {
		if p, err := ParsePart(text); p != want || err != nil {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"3", "0/3", "4/3", "-1/2", "a/2", "1/b", "1/2/3", "1/0"} {
		if _, err := ParsePart(text); err == nil || !strings.Contains(err.Error(), envPart) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMost leaves out the jobs that are larger than a kind carries, and no other.
func TestMost(t *testing.T) {
	cases := []*Case{{Name: "group/case", Ranks: []int{2, 4, 5}}}
	var got []string
	for _, x := range combinations(t, cases, []Kind{{Name: "small", Launcher: Model, Most: 4, Why: "it carries no more"}, {Name: "any", Launcher: Model}}) {
		got = append(got, fmt.Sprint(x.kind.Name, x.n))
	}
	if want := []string{"small2", "small4", "any2", "any4", "any5"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// All parts together have each name once.
func TestInPart(t *testing.T) {
	for _, name := range []string{"a", "b", "something long"} {
		in := 0
		for k := range 32 {
			if (Part{k + 1, 32}).has(name) {
				in++
			}
		}
		if in != 1 || (Part{}).has(name) || !(Part{1, 1}).has(name) {
			t.Errorf("%q is in %d of 32 parts, in none: %v, in all: %v", name, in, Part{}.has(name), Part{1, 1}.has(name))
		}
	}
	t.Setenv(envPart, "1/1")
	if !InPart(t, "a") {
		t.Errorf("%s is not regarded", envPart)
	}
}

// Each thing is done in one of the ways, different things in different ones, and in all of them where all parts are run.
func TestInTurn(t *testing.T) {
	count := func(name string) (n, last int) {
		for way := range 4 {
			if InTurn(t, name, way, 4) {
				n, last = n+1, way
			}
		}
		return n, last
	}
	t.Setenv(envPart, "")
	ways := map[int]bool{}
	for i := range 20 {
		n, way := count(fmt.Sprint(i))
		if n != 1 {
			t.Errorf("%d is done in %d ways", i, n)
		}
		ways[way] = true
	}
	if len(ways) != 4 {
		t.Errorf("only the ways %v are gone", ways)
	}
	t.Setenv(envPart, "1/1")
	if n, _ := count("a"); n != 4 {
		t.Errorf("all parts together do it in %d ways", n)
	}
}
