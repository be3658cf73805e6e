package coll_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/colltest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

const elem = 8 // bytes of all test elements

// add is a sum: it commutes.
func add(dst, src []byte) {
	for i := 0; i < len(dst); i += elem {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(dst[i:])+binary.LittleEndian.Uint64(src[i:]))
	}
}

// compose composes affine maps x → ax+b modulo 2³², which does not commute. An odd a loses
// nothing.
func compose(dst, src []byte) {
	le := binary.LittleEndian
	for i := 0; i < len(dst); i += elem {
		a, b := le.Uint32(dst[i:])|1, le.Uint32(dst[i+4:])
		c, d := le.Uint32(src[i:])|1, le.Uint32(src[i+4:])
		le.PutUint32(dst[i:], a*c)
		le.PutUint32(dst[i+4:], b*c+d)
	}
}

// trace tells in which order and grouping elements were combined: all others differ.
func trace(dst, src []byte) {
	for i := 0; i < len(dst); i += elem {
		sum := crc64.Checksum(append(slices.Clone(dst[i:i+elem]), src[i:i+elem]...), crcTable)
		binary.LittleEndian.PutUint64(dst[i:], sum)
	}
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// lengths returns the bytes of a member's source and destination.
func lengths(c *coll.Call) (src, dst int) {
	root := c.Self == c.Root
	src, dst = c.Bytes, c.Bytes
	switch c.Op {
	case coll.Barrier:
		return 0, 0
	case coll.Broadcast:
		src *= b2i(root)
	case coll.Reduce:
		dst *= b2i(root)
	case coll.Scatter:
		src *= c.N * b2i(root)
	case coll.Gather:
		dst *= c.N * b2i(root)
	case coll.AllGather:
		dst *= c.N
	case coll.AllToAll:
		src, dst = src*c.N, dst*c.N
	}
	return src, dst
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// member makes a member and its schedule, in place if asked for and it has both buffers.
func member(t *testing.T, c coll.Call, choice coll.Choice, inPlace bool) colltest.Member {
	t.Helper()
	src, dst := lengths(&c)
	m := colltest.Member{Src: colltest.Extent{Off: 0, Len: src}, Dst: colltest.Extent{Off: src, Len: dst}, Mem: make([]byte, src+dst)}
	if inPlace && src > 0 && dst > 0 {
		c.InPlace = true
		switch {
		case src < dst:
			m.Src.Off = c.Self * src
			m.Dst.Off = 0
		case src > dst:
			m.Dst.Off = c.Self * dst
		default:
			m.Dst.Off = 0
		}
		m.Mem = m.Mem[:max(src, dst)]
	}
	s, err := coll.Build(&c, choice)
	if err != nil {
		t.Fatal(err)
	}
	if s.Shm > c.ShmLimit {
		t.Fatalf("%v by %v of %+v uses %d bytes of Shm", c.Op, choice, c, s.Shm)
	}
	m.Schedule = s
	return m
}

// run builds and simulates a call and returns its members.
func run(t *testing.T, c coll.Call, choice coll.Choice, inPlace bool, combine func(dst, src []byte)) (members []colltest.Member, src [][]byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(c.N), uint64(c.Bytes)))
	for c.Self = range c.N {
		m := member(t, c, choice, inPlace)
		mine := m.Mem[m.Src.Off:][:m.Src.Len]
		for i := range mine {
			mine[i] = byte(r.Uint32())
		}
		members, src = append(members, m), append(src, slices.Clone(mine))
	}
	if err := colltest.Simulate(members, combine, colltest.Random(uint64(c.N*7+c.Bytes))); err != nil {
		t.Fatalf("%v by %v of %+v, in place %v: %v", c.Op, choice, c, inPlace, err)
	}
	return members, src
}

// check compares what a call does with what it means.
func check(t *testing.T, c coll.Call, choice coll.Choice, inPlace bool) {
	t.Helper()
	combine := add
	if !c.Commutes {
		combine = compose
	}
	members, src := run(t, c, choice, inPlace, combine)
	for i, want := range colltest.Naive(&c, src, combine) {
		got := members[i].Mem[members[i].Dst.Off:][:members[i].Dst.Len]
		if want != nil && !bytes.Equal(got, want) {
			t.Fatalf("%v by %v of %+v, in place %v: member %d has %x, want %x", c.Op, choice, c, inPlace, i, got, want)
		}
	}
	if c.Op == coll.AllReduce && !inPlace {
		members, _ := run(t, c, choice, inPlace, trace)
		for i, m := range members[1:] {
			if !bytes.Equal(m.Mem[m.Dst.Off:][:m.Dst.Len], members[0].Mem[members[0].Dst.Off:][:m.Dst.Len]) {
				t.Fatalf("%v by %v of %+v: members 0 and %d combine in different order", c.Op, choice, c, i+1)
			}
		}
	}
}

// calls yields the calls of an operation that are tested for a team size.
func calls(op coll.Op, n int) (all []coll.Call) {
	sizes := []int{0, 1, 13, 64, 131}
	if op == coll.Barrier {
		sizes = []int{0}
	}
	if reduces(op) {
		sizes = []int{0, elem, 3 * elem, n * elem, (3*n + 1) * elem}
	}
	if n > 8 {
		sizes = sizes[len(sizes)/2:]
	}
	roots := []int{0, 1, n / 2, n - 1}
	if !rooted(op) {
		roots = roots[:1]
	} else if n > 17 {
		roots = roots[2:3]
	}
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		for _, size := range sizes {
			if root >= n {
				continue
			}
			pieces := 2
			if op == coll.AllToAll {
				pieces = 2 * n
			}
			c := coll.Call{Op: op, N: n, Root: root, Bytes: size, Commutes: true, Reach: true, ShmLimit: pieces * (64 + 3*elem)}
			if n > 8 {
				c.ShmLimit *= 8 // fewer rounds
			}
			if reduces(op) {
				c.Elem = elem
				all = append(all, c)
				c.Commutes = false
			}
			all = append(all, c)
		}
	}
	return all
}

func reduces(op coll.Op) bool {
	return op == coll.Reduce || op == coll.AllReduce || op == coll.Scan || op == coll.ExScan
}

func rooted(op coll.Op) bool {
	return op == coll.Broadcast || op == coll.Reduce || op == coll.Scatter || op == coll.Gather
}

// params are the parameters that an algorithm is tested with.
func params(a *coll.Algorithm, n int) []int {
	switch a.Param {
	case coll.Radix:
		return []int{2, 3, 4, n + 1}
	case coll.Segment:
		if n > 8 {
			return []int{1 << 20} // ShmLimit bounds it
		}
		return []int{1, 20, 1 << 20}
	}
	return []int{0}
}

// placements are the hosts of n members that an algorithm is tested with: none, but for those in two levels.
func placements(a *coll.Algorithm, n int) []*coll.Hosts {
	if a.Name != coll.TwoLevel {
		return []*coll.Hosts{nil}
	}
	r := rand.New(rand.NewPCG(uint64(n), 0))
	chance := make([]int, n) // few hosts and many, members and leaders anywhere
	for m := range chance {
		chance[m] = r.IntN(1 + n/2)
	}
	all := []*coll.Hosts{
		coll.NewHosts(n, func(m int) int { return b2i(m >= 5) + b2i(m >= 6) + b2i(m >= 9) }), // 5, 1, 3 and the rest
		coll.NewHosts(n, func(m int) int { return (m + 1) / 2 }),                             // one, then two each
		coll.NewHosts(n, func(m int) int { return m % 3 }),
		coll.NewHosts(n, func(m int) int { return chance[m] }),
	}
	return slices.DeleteFunc(all, func(h *coll.Hosts) bool { return h == nil })
}

// TestAlgorithms runs every algorithm on every kind of call.
func TestAlgorithms(t *testing.T) {
	teams := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33}
	if testing.Short() || shm.RaceEnabled { // the race detector has little to find in one goroutine for each algorithm
		teams = []int{1, 2, 3, 4, 5, 8, 11, 17}
	}
	for op := coll.Barrier; op < coll.ScatterV; op++ {
		for _, a := range coll.Algorithms(op) {
			t.Run(fmt.Sprintf("%v/%s", op, a.Name), func(t *testing.T) {
				t.Parallel()
				applied := 0
				for _, n := range teams {
					for _, c := range calls(op, n) {
						for _, c.Hosts = range placements(a, n) {
							if !a.Applies(&c) {
								continue
							}
							applied++
							for _, k := range params(a, n) {
								check(t, c, coll.Choice{Algorithm: a, K: k}, false)
								if op != coll.AllToAll && op != coll.Barrier {
									check(t, c, coll.Choice{Algorithm: a, K: k}, true)
								}
							}
						}
					}
				}
				if applied == 0 {
					t.Error("it applies to no call")
				}
			})
		}
	}
}

// TestBarrierWaits has one member after another come late: nobody may be through before.
func TestBarrierWaits(t *testing.T) {
	for _, a := range coll.Algorithms(coll.Barrier) {
		for n := 2; n <= 17; n++ {
			for _, k := range params(a, n) {
				for late := range n {
					c := coll.Call{Op: coll.Barrier, N: n, Hosts: coll.NewHosts(n, func(m int) int { return m * m % 3 })}
					if !a.Applies(&c) {
						continue
					}
					var members []colltest.Member
					left := make([]int, n) // steps still to do
					for c.Self = range n {
						m := member(t, c, coll.Choice{Algorithm: a, K: k}, false)
						members, left[c.Self] = append(members, m), len(m.Schedule.Steps)
					}
					first := true
					err := colltest.Simulate(members, nil, func(ready []colltest.Event) int {
						i := slices.IndexFunc(ready, func(e colltest.Event) bool { return e.Member != late })
						if i < 0 {
							i = 0
							if first {
								for j := range n {
									if left[j] == 0 {
										t.Fatalf("%s:%d of %d: member %d does not wait for %d", a.Name, k, n, j, late)
									}
								}
							}
							first = false
						}
						left[ready[i].Member]--
						return i
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// TestFewMessages pins the cost of the calls that matter most, 8 bytes to few members: what
// the table takes for two of them, and what there is for more.
func TestFewMessages(t *testing.T) {
	for _, x := range []struct {
		op     coll.Op
		n      int
		forced string
		rounds int // messages one after the other
		sends  int // of the busiest member
	}{
		{coll.Barrier, 2, "", 1, 1}, {coll.Barrier, 4, "barrier=dissemination:4", 1, 3},
		{coll.AllReduce, 2, "", 1, 1}, {coll.AllReduce, 4, "allreduce=flat", 1, 3},
		{coll.AllReduce, 4, "allreduce=doubling", 2, 2}, {coll.AllReduce, 6, "allreduce=doubling", 4, 3},
		{coll.Broadcast, 2, "", 1, 1}, {coll.Broadcast, 4, "broadcast=knomial:4", 1, 3},
		{coll.AllGather, 2, "", 1, 1}, {coll.AllToAll, 2, "", 1, 1}, {coll.ExScan, 2, "", 1, 1},
	} {
		c := coll.Call{Op: x.op, N: x.n, Bytes: 8, Elem: 8, Commutes: true, Reach: true, ShmLimit: 1 << 20}
		forced, err := coll.ParseForced(x.forced)
		if err != nil {
			t.Fatal(err)
		}
		rounds, sends := 0, 0
		for c.Self = range c.N {
			s, err := coll.Plan(&c, forced)
			if err != nil {
				t.Fatal(err)
			}
			sent, round, awaiting := 0, 0, false
			for _, step := range s.Steps {
				if step.Kind == coll.Send {
					sent, awaiting = sent+1, false
				} else if step.Kind == coll.Await && !awaiting {
					round, awaiting = round+1, true
				}
			}
			rounds, sends = max(rounds, round), max(sends, sent)
		}
		if rounds > x.rounds || sends > x.sends {
			t.Errorf("%v of %d %s: %d rounds, %d sends; want at most %d and %d", x.op, x.n, x.forced, rounds, sends, x.rounds, x.sends)
		}
	}
}

// TestCallEqual changes each field of a call.
func TestCallEqual(t *testing.T) {
	var a coll.Call
	for i := range reflect.TypeOf(a).NumField() {
		b := a
		if !a.Equal(&b) {
			t.Fatal("a call differs from itself")
		}
		switch f := reflect.ValueOf(&b).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int:
			f.SetInt(1)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		default:
			f.SetUint(1)
		}
		if a.Equal(&b) {
			t.Errorf("%+v is equal to %+v", a, b)
		}
	}
}
