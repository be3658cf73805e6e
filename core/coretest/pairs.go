package coretest

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// envPart is the variable that says how much is tested, see [Part].
const envPart = "AQ_TEST_PART"

// Part says how many of the combinations that the pairs leave out are tested besides the pairs: the K-th of
// every M of them; 1 of 1 is all. The zero Part is less than the pairs: each case in one combination, and each group of cases in each kind.
type Part struct{ K, M int }

// ParsePart reads a Part: "K/M" with 1 ≤ K ≤ M, or "" for the zero Part.
func ParsePart(text string) (Part, error) {
	if text == "" {
		return Part{}, nil
	}
	k, m, ok := strings.Cut(text, "/")
	var p Part
	var err1, err2 error
	p.K, err1 = strconv.Atoi(k)
	p.M, err2 = strconv.Atoi(m)
	if !ok || err1 != nil || err2 != nil || p.K < 1 || p.K > p.M {
		return Part{}, fmt.Errorf("%s=%q: want K/M, the K-th of every M combinations that the pairs leave out, as 3/8; 1/1 is all", envPart, text)
	}
	return p, nil
}

// part reads the environment.
func part() (Part, error) { return ParsePart(os.Getenv(envPart)) }

// InPart reports whether the part that the environment asks for has what the name stands for: something long that
// a test of a package's own does besides, and that all parts together do once.
func InPart(t testing.TB, name string) bool {
	t.Helper()
	p, err := part()
	if err != nil {
		t.Fatal(err)
	}
	return p.has(name)
}

// Few reports whether the environment asks for the zero [Part]: a test of a package's own does then each thing in one way, where it does it in
// several ways beside the pairs.
func Few(t testing.TB) bool {
	t.Helper()
	p, err := part()
	if err != nil {
		t.Fatal(err)
	}
	return p == Part{}
}

// InTurn reports whether a test of a package's own does what the name stands for in this one of so many ways: in one, which the name
// decides, and in the others as [InPart] says.
func InTurn(t testing.TB, name string, way, ways int) bool {
	t.Helper()
	h := fnv.New32a()
	fmt.Fprint(h, name)
	return way == int(h.Sum32()%uint32(ways)) || InPart(t, fmt.Sprintf("%s/%s/%d", t.Name(), name, way))
}

// has reports whether what the name stands for is of the part.
func (p Part) has(name string) bool {
	h := fnv.New32a()
	fmt.Fprint(h, name)
	return p.M > 0 && int(h.Sum32()%uint32(p.M)) == p.K-1
}

// combination is one job of a suite, by its case, kind and size.
type combination struct {
	c    *Case
	kind *Kind
	n    int
	once bool // Launch.Once
}

// repeats reports whether the job may run a second time, which must be the same.
func (x *combination) repeats() bool { return x.kind.Launcher == Model }

// spare reports whether the combination is for the rest alone.
func (x *combination) spare() bool { return x.kind.Rest != nil && x.kind.Rest(x.c) }

// factors returns the values that the kind has of the factors in which kinds differ.
func (k *Kind) factors() []string {
	if k.Factors != "" {
		return strings.Fields(k.Factors)
	}
	return strings.Split(k.Name, "/")
}

// pairs are what a combination covers: first those that are the case's own, of it with each value of the kind, and with
// the size if the kind has [Kind.AllSizes], or nothing but the case itself if there are to be few; then those of its group with the kind and with the size, and of values of two factors.
func (x *combination) pairs(few bool) (own, common []string) {
	size := fmt.Sprint("n=", x.n)
	values := []string{size}
	for i, v := range x.kind.factors() {
		values = append(values, fmt.Sprint(i, v))
	}
	for i, v := range values {
		if i > 0 || x.kind.AllSizes {
			own = append(own, x.c.Name+" "+v)
		}
		for _, w := range values[i+1:] {
			common = append(common, v+" "+w)
		}
	}
	if few {
		own = []string{x.c.Name}
	}
	return own, append(common, x.groupAndKind(), x.c.group()+" "+size)
}

// groupAndKind names the case's group with the kind.
func (x *combination) groupAndKind() string {
	return x.c.group() + " " + x.kind.Name
}

// choose returns the combinations that are run, in their order: those that cover all pairs, and the
// part of the rest. In the pairs, every case is run with every value of every factor, every group of cases in every kind and
// at every size, and every two values of different factors that a kind has are met
// somewhere (pairwise testing: Cohen et al., The AETG System, IEEE TSE 23(7), 1997, whose greedy choice this is). Kinds with [Kind.AllSizes]
// have every case at every size. Of a group's chosen combinations in virtual time the first of several ranks in each kind
// runs twice, unless the kind is [Kind.Once]. That others do belongs to the rest, as do combinations that [Kind.Rest] names. The choice depends on nothing but the cases, the kinds and the part. By the zero part a case is run in any kind, instead of with every value of every factor.
func choose(all []combination, p Part) []combination {
	few := p == Part{}
	met := map[string]bool{}
	used := map[*Kind]int{}
	repeated := map[string]bool{} // groups and kinds, by several ranks
	chosen, once := make([]bool, len(all)), make([]bool, len(all))
	fresh := func(pairs []string) (n int) {
		for _, s := range pairs {
			if !met[s] {
				n++
			}
		}
		return n
	}
	for first := 0; first < len(all); {
		end := first
		for end < len(all) && all[end].c == all[first].c {
			end++
		}
		for {
			type merit struct{ own, common, unused, lot int }
			best, at := merit{}, -1
			for i := first; i < end; i++ {
				own, common := all[i].pairs(few)
				m := merit{fresh(own), fresh(common), -used[all[i].kind], all[i].lot()}
				if m.own == 0 && m.common == 0 || chosen[i] || all[i].spare() {
					continue
				}
				if at < 0 || cmp.Or(cmp.Compare(m.own, best.own), cmp.Compare(m.common, best.common),
					cmp.Compare(m.unused, best.unused), cmp.Compare(m.lot, best.lot)) > 0 {
					best, at = m, i
				}
			}
			if at < 0 {
				break
			}
			own, common := all[at].pairs(few)
			for _, s := range slices.Concat(own, common) {
				met[s] = true
			}
			chosen[at] = true
			used[all[at].kind]++
		}
		// Of several ranks more can differ from run to run than of one.
		for i := first; i < end; i++ {
			if !chosen[i] || !all[i].repeats() {
				continue
			}
			once[i] = all[i].n == 1 || all[i].kind.Once || repeated[all[i].groupAndKind()]
			if all[i].n > 1 {
				repeated[all[i].groupAndKind()] = true
			}
		}
		first = end
	}
	var run []combination
	left := 0
	for i, x := range all {
		if (!chosen[i] || once[i]) && p.M > 0 {
			if left%p.M == p.K-1 {
				chosen[i], once[i] = true, false
			}
			left++
		}
		if x.once = once[i]; chosen[i] {
			run = append(run, x)
		}
	}
	return run
}

// lot decides between combinations of equal merit.
func (x *combination) lot() int {
	h := fnv.New32a()
	fmt.Fprint(h, x.c.Name, x.kind.Name, x.n)
	return int(h.Sum32())
}
