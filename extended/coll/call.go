package coll

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Op is a collective operation.
type Op uint8

const (
	Barrier Op = iota
	Broadcast
	Reduce
	AllReduce
	Scatter
	Gather
	AllGather
	AllToAll
	Scan   // inclusive
	ExScan // exclusive; the destination of member 0 is left alone
	ScatterV
	GatherV
	AllGatherV
	AllToAllV
)

var opNames = [...]string{
	"Barrier", "Broadcast", "Reduce", "AllReduce", "Scatter", "Gather", "AllGather",
	"AllToAll", "Scan", "ExScan", "ScatterV", "GatherV", "AllGatherV", "AllToAllV",
}

func (o Op) String() string {
	if int(o) >= len(opNames) {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return opNames[o]
}

// ParseOp returns the operation of a name in any case. Those with counts, which have no choice
// of algorithm and no place in a table, it does not know.
func ParseOp(name string) (Op, error) {
	for o := Barrier; o < ScatterV; o++ {
		if strings.EqualFold(name, o.String()) {
			return o, nil
		}
	}
	return 0, fmt.Errorf("no operation %q; there are %s", name, strings.ToLower(strings.Join(opNames[:ScatterV], ", ")))
}

// Rooted reports whether one member has a part of its own.
func (o Op) Rooted() bool {
	switch o {
	case Broadcast, Reduce, Scatter, Gather, ScatterV, GatherV:
		return true
	}
	return false
}

// reduces reports whether the operation combines elements.
func (o Op) reduces() bool {
	return o == Reduce || o == AllReduce || o == Scan || o == ExScan
}

// Call says all that a schedule depends on. All members of a team give the same values,
// but for Self and InPlace.
//
// Src and Dst have Bytes bytes, except that they have N blocks of Bytes where a member has
// something for or from every other: Src of the root's Scatter and of AllToAll, Dst of the
// root's Gather, of AllGather and of AllToAll. Src is used at the root only by Broadcast
// and Scatter, Dst at the root only by Reduce and Gather. Elements are combined in order of
// rank unless Commutes; the same call combines the same elements in the same order every
// time, for all members.
type Call struct {
	Op       Op
	N, Self  int    // the team's size and this member's rank in it
	Root     int    // 0 where there is none
	Bytes    int    // of a member's block, or of the vector that is broadcast or reduced
	Elem     int    // bytes of an element of a reduction; Bytes is a multiple of it
	InPlace  bool   // Src and Dst lie in the same memory; where one has N blocks, the other is this member's own
	Commutes bool   // the reduction's operator commutes
	Reach    bool   // every member can read every member's Shm
	ShmLimit int    // bytes of Shm that each member may use
	Hosts    *Hosts // which members share a host; nil: all or none
}

// Equal reports whether two calls are equal, as == does, which takes several times as long: its fields are of
// different kinds.
func (k *Call) Equal(o *Call) bool {
	return k.Op == o.Op && k.Bytes == o.Bytes && k.Root == o.Root && k.Elem == o.Elem &&
		k.InPlace == o.InPlace && k.Commutes == o.Commutes && k.Reach == o.Reach &&
		k.N == o.N && k.Self == o.Self && k.ShmLimit == o.ShmLimit && k.Hosts == o.Hosts
}

// check says what is wrong with a call.
func (c *Call) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("coll: %v: member %d of %d: %s", c.Op, c.Self, c.N, fmt.Sprintf(format, args...))
	}
	switch {
	case c.N < 1 || uint(c.Self) >= uint(c.N):
		return bad("no such member")
	case uint(c.Root) >= uint(c.N):
		return bad("no root %d", c.Root)
	case c.Bytes < 0 || c.Bytes > math.MaxInt/2/c.N:
		return bad("cannot have %d bytes for each", c.Bytes)
	case c.Hosts != nil && len(c.Hosts.of) != c.N:
		return bad("the hosts are those of %d members", len(c.Hosts.of))
	case c.Op.reduces() && (c.Elem <= 0 || c.Bytes%c.Elem != 0):
		return bad("%d bytes are no whole number of elements of %d", c.Bytes, c.Elem)
	case c.InPlace && (c.Op == AllToAll || c.Op == AllToAllV):
		return bad("source and destination must not be the same memory")
	}
	return nil
}

// mod returns a rank around the circle.
func (c *Call) mod(rank int) int { return (rank%c.N + c.N) % c.N }

// isRoot reports whether this member is the root.
func (c *Call) isRoot() bool { return c.Self == c.Root }

// all is a buffer of Bytes bytes.
func (c *Call) all(buf Buf) Span { return Span{Buf: buf, Len: c.Bytes} }

// block is a member's block of a buffer of N.
func (c *Call) block(buf Buf, member int) Span {
	return Span{Buf: buf, Off: member * c.Bytes, Len: c.Bytes}
}

// keep copies this member's own block, unless it is in place.
func (c *Call) keep(b *Builder, to, from Span) {
	if !c.InPlace {
		b.Copy(to, from)
	}
}

// share returns part i of n of a vector of size bytes that consists of elements: its offset
// and length. Parts differ by at most one element; those at the end may be empty.
func share(size, elem, n, i int) (off, length int) {
	count := size / elem
	q, r := count/n, count%n
	return (i*q + min(i, r)) * elem, (q + b2i(i < r)) * elem
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// powerBelow returns the largest power of two that is at most n.
func powerBelow(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// segmentsMax bounds the pieces that a pipeline makes of one vector, and so the size of a
// schedule, however small the segment that was asked for.
const segmentsMax = 1 << 10

// segment returns the bytes of a piece of the vector: about k, of whole elements.
func (c *Call) segment(k int) int {
	k = max(k, c.Bytes/segmentsMax)
	elem := max(1, c.Elem)
	return min(c.Bytes, max(elem, k-k%elem))
}
