package exttest

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var reductionCases = []coretest.Case{{
	Name:  "collective/reduction",
	Rule:  "reduce, all-reduce and scans combine every member's elements once, in place or not, for any team, root and length",
	Ranks: []int{1, 2, 3, 4, 5}, Body: eachTeam(reduction),
}, {
	Name:  "collective/ordered",
	Rule:  "operators of the program's own that do not commute combine elements in order of rank",
	Ranks: []int{1, 2, 3, 4, 5}, Body: eachTeam(ordered),
}}

// words returns a member's n elements of 8 bytes.
func words(n, member, seed int) []byte {
	return fill(make([]byte, 8*n), uint64(seed)<<32|uint64(member)<<16|uint64(n))
}

// wordCounts are lengths of vectors, in elements.
var wordCounts = []int{0, 1, 2, 3, 5, 100, 1000, 8193, 40000}

func reduction(t *coretest.T, c *extended.Context, team *extended.Team) error {
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	least := extended.Reduction{Type: extended.Uint64, Op: extended.Min}
	for i, n := range lengths(c, team, wordCounts, 1000) {
		if err := reduceAll(t, c, team, i, n, 8, words, add, func(a, b []byte) {
			for k := 0; k < len(a); k += 8 {
				binary.NativeEndian.PutUint64(a[k:], get64(a[k:])+get64(b[k:]))
			}
		}); err != nil {
			return err
		}
		if n > 1000 { // with the other operator no other way is taken
			continue
		}
		if err := reduceAll(t, c, team, i, n, 8, words, least, func(a, b []byte) {
			for k := 0; k < len(a); k += 8 {
				binary.NativeEndian.PutUint64(a[k:], min(get64(a[k:]), get64(b[k:])))
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// ordered multiplies 2×2 matrices of 32-bit words, which does not commute.
func ordered(t *coretest.T, c *extended.Context, team *extended.Team) error {
	multiply := func(a, b []byte) {
		le := binary.LittleEndian
		for ; len(a) > 0; a, b = a[16:], b[16:] {
			var x, y, z [4]uint32
			for i := range x {
				x[i], y[i] = le.Uint32(a[4*i:]), le.Uint32(b[4*i:])
			}
			for i := range z {
				z[i] = x[i&2]*y[i&1] + x[i|1]*y[i&1|2]
				le.PutUint32(a[4*i:], z[i])
			}
		}
	}
	matrices := func(n, member, seed int) []byte { return words(2*n, member, seed) }
	r := extended.Reduction{Func: multiply, Size: 16, Ordered: true}
	for i, n := range lengths(c, team, []int{0, 1, 3, 500, 5000, 20000}, 500) {
		if err := reduceAll(t, c, team, i, n, 16, matrices, r, multiply); err != nil {
			return err
		}
	}
	return nil
}

// reduceAll does every reduction of n elements and compares with combining one after the
// other.
func reduceAll(t *coretest.T, c *extended.Context, team *extended.Team, seed, n, size int, data func(n, member, seed int) []byte, r extended.Reduction, combine func(a, b []byte)) error {
	self, root := team.Rank(), seed%team.Size()
	var scan, exscan []byte
	total := data(n, 0, seed)
	for j := range team.Size() {
		if j > 0 {
			combine(total, data(n, j, seed))
		}
		if j == self-1 {
			exscan = append(exscan, total...)
		}
		if j == self {
			scan = append(scan, total...)
		}
	}
	check := func(call string, want []byte, f func(dst, src []byte) error) error {
		mine := data(n, self, seed)
		dst := make([]byte, n*size)
		if err := f(dst, mine); err != nil {
			return err
		}
		same(t, mine, data(n, self, seed), "%s of %d elements, the source", call, n)
		if want != nil {
			same(t, dst, want, "%s of %d elements", call, n)
		}
		if err := f(mine, mine); err != nil {
			return err
		}
		if want != nil {
			same(t, mine, want, "%s of %d elements in place", call, n)
		}
		return nil
	}
	atRoot := total
	if self != root {
		atRoot = nil
	}
	if err := check("reduce", atRoot, func(dst, src []byte) error {
		if self != root {
			dst = nil
		}
		return team.Reduce(c, root, dst, src, r)
	}); err != nil {
		return err
	}
	if err := check("all-reduce", total, func(dst, src []byte) error { return team.AllReduce(c, dst, src, r) }); err != nil {
		return err
	}
	if err := check("scan", scan, func(dst, src []byte) error { return team.Scan(c, dst, src, r) }); err != nil {
		return err
	}
	return check("exclusive scan", exscan, func(dst, src []byte) error { return team.ExScan(c, dst, src, r) })
}
