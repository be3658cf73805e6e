// Package group is the arithmetic of teams' members: which rank of the job is which member, and who is in the groups
// that a split makes. It sends nothing; what members tell each other in a split is given to it.
package group

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

// Group is an ordered set of ranks of the job, the members. It does not change, and copies of it share memory.
type Group struct {
	members []core.Rank
	index   map[core.Rank]int // the inverse; nil where members ascend
}

// Ascending returns the group of members that ascend. The slice is the group's then. It is not looked at, so many ranks
// of a process can share that of a large group.
func Ascending(members []core.Rank) Group { return Group{members: members} }

// Of returns the group of members, which differ from each other. The slice is the group's then.
func Of(members []core.Rank) Group {
	g := Group{members: members}
	if !slices.IsSorted(members) {
		g.index = make(map[core.Rank]int, len(members))
		for i, r := range members {
			g.index[r] = i
		}
	}
	return g
}

// Size returns the number of members.
func (g *Group) Size() int { return len(g.members) }

// Members returns the members in order. The slice is the group's.
func (g *Group) Members() []core.Rank { return g.members }

// At returns member i, or -1 if there is none.
func (g *Group) At(i int) core.Rank {
	if uint(i) >= uint(len(g.members)) {
		return -1
	}
	return g.members[i]
}

// Is reports whether rank is member i. No i is too large: it may come from outside.
func (g *Group) Is(i uint32, rank core.Rank) bool {
	return uint64(i) < uint64(len(g.members)) && g.members[i] == rank
}

// RankOf returns which member a rank of the job is, or -1 if it is none.
func (g *Group) RankOf(rank core.Rank) int {
	if g.index == nil {
		if i, ok := slices.BinarySearch(g.members, rank); ok {
			return i
		}
		return -1
	}
	if i, ok := g.index[rank]; ok {
		return i
	}
	return -1
}

// Choice is what a member says in a split: its colour, and its place among those of that colour. Serial is a number
// that no group has which is named after this member.
type Choice struct {
	Color, Key int
	Serial     uint32
}

// ChoiceSize is the size of an encoded Choice.
const ChoiceSize = 20

// Encode returns the choice as bytes.
func (x Choice) Encode() []byte {
	b := make([]byte, 0, ChoiceSize)
	b = binary.LittleEndian.AppendUint64(b, uint64(int64(x.Color)))
	b = binary.LittleEndian.AppendUint64(b, uint64(int64(x.Key)))
	return binary.LittleEndian.AppendUint32(b, x.Serial)
}

// decode is the inverse.
func decode(b []byte) Choice {
	return Choice{int(int64(binary.LittleEndian.Uint64(b))), int(int64(binary.LittleEndian.Uint64(b[8:]))), binary.LittleEndian.Uint32(b[16:])}
}

// Split returns the group of the members that have chosen color, by key and, of equal keys, in the order of g. table
// has the encoded choices of all members, in order. serial is that of the first member of the new group. The
// group is empty if nobody has chosen color.
func (g *Group) Split(table []byte, color int) (part Group, serial uint32) {
	type entry struct {
		Choice
		rank core.Rank
	}
	var chosen []entry
	for i, r := range g.members {
		if x := decode(table[ChoiceSize*i:]); x.Color == color {
			chosen = append(chosen, entry{x, r})
		}
	}
	if len(chosen) == 0 {
		return Group{}, 0
	}
	slices.SortStableFunc(chosen, func(a, b entry) int { return cmp.Compare(a.Key, b.Key) })
	members := make([]core.Rank, len(chosen))
	for i, x := range chosen {
		members[i] = x.rank
	}
	return Of(members), chosen[0].Serial
}

// Subset returns the choice, without Serial, with which member self takes part in a split that makes the group of
// the members named by list, in that order. It is an error that list names a member twice, or one that there is not.
func (g *Group) Subset(list []int, self int) (Choice, error) {
	for i, m := range list {
		if g.At(m) < 0 || slices.Contains(list[:i], m) {
			return Choice{}, fmt.Errorf("the list %v names rank %d, which is outside a team of %d or named twice", list, m, len(g.members))
		}
	}
	if key := slices.Index(list, self); key >= 0 {
		return Choice{Color: list[0], Key: key}, nil
	}
	return Choice{Color: -1}, nil
}

// IsSubset reports whether part is the group of the members of g named by list, in that order.
func (g *Group) IsSubset(list []int, part *Group) bool {
	return slices.EqualFunc(list, part.members, func(m int, r core.Rank) bool { return g.At(m) == r })
}
