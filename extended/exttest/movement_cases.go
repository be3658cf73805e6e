package exttest

import (
	"bytes"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var movementCases = []coretest.Case{{
	Name:  "collective/movement",
	Rule:  "scatter, gather, all-gather and all-to-all bring every block to its place, for any team, root and size, from private and segment memory, in place where that is allowed",
	Ranks: []int{1, 2, 3, 4, 5}, Body: eachTeam(movement),
}, {
	Name:  "collective/varying",
	Rule:  "the variants with blocks of different lengths do the same, blocks of no bytes and gaps between blocks included",
	Ranks: []int{1, 2, 3, 5}, Body: eachTeam(varying),
}}

// blockSizes are lengths of members' blocks: around the borders of algorithms.
var blockSizes = []int{0, 1, 8, 24, 1000, 4097, 65536, 200001}

// eachTeam makes a case of what is to hold for any team: all ranks, backwards, and a part.
func eachTeam(f func(t *coretest.T, c *extended.Context, team *extended.Team) error) func(*coretest.T) error {
	return func(t *coretest.T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		c, w := &ep.Context, ep.World()
		if err := f(t, c, w); err != nil {
			return err
		}
		back, err := w.Split(c, 0, -w.Rank())
		if err != nil {
			return err
		}
		if err := f(t, c, back); err != nil {
			return err
		}
		part, err := back.Split(c, back.Rank()%2, 0)
		if err != nil {
			return err
		}
		if err := f(t, c, part); err != nil {
			return err
		}
		return t.Err()
	}
}

// lengths returns sizes, without those above most for any team but that of all ranks: how members
// are numbered shows with the short ones.
func lengths(c *extended.Context, team *extended.Team, sizes []int, most int) []int {
	if team == c.Endpoint().World() {
		return affordable(sizes, most)
	}
	return upTo(sizes, most)
}

// blocks returns the blocks that a member sends: block i is what goes to member i.
func blocks(n, size, member, seed int) []byte {
	return fill(make([]byte, n*size), uint64(seed)<<32|uint64(member)<<16|uint64(size))
}

// block returns block i of b.
func block(b []byte, size, i int) []byte { return b[i*size : (i+1)*size] }

// same reports a wrong answer.
func same(t *coretest.T, got, want []byte, format string, args ...any) {
	if !bytes.Equal(got, want) {
		t.Errorf("%s: wrong bytes", fmt.Sprintf(format, args...))
	}
}

func movement(t *coretest.T, c *extended.Context, team *extended.Team) error {
	n, self := team.Size(), team.Rank()
	for i, size := range lengths(c, team, blockSizes, 4097) {
		root := i % n
		mine := blocks(n, size, self, i)
		all, want := make([]byte, n*size), make([]byte, n*size)
		one := make([]byte, size)
		if size*n <= len(c.Endpoint().Segment())/2 && i%2 == 0 { // in the segment
			all, one = c.Endpoint().Segment()[:n*size], c.Endpoint().Segment()[n*size:][:size]
		}

		var src []byte
		if self == root {
			src = mine
		}
		if err := team.Scatter(c, root, one, src); err != nil {
			return err
		}
		same(t, one, block(blocks(n, size, root, i), size, self), "scatter of %d bytes from %d", size, root)
		if self == root {
			one = block(mine, size, self)
		}
		if err := team.Scatter(c, root, one, src); err != nil {
			return err
		}
		same(t, one, block(blocks(n, size, root, i), size, self), "scatter of %d bytes from %d in place", size, root)

		for j := range n {
			copy(block(want, size, j), block(blocks(n, size, j, i), size, root))
		}
		var dst []byte
		if self == root {
			dst = all
		}
		if err := team.Gather(c, root, dst, block(mine, size, root)); err != nil {
			return err
		}
		if self == root {
			same(t, dst, want, "gather of %d bytes to %d", size, root)
		}
		clear(all)
		if err := team.AllGather(c, all, block(mine, size, root)); err != nil {
			return err
		}
		same(t, all, want, "all-gather of %d bytes", size)
		clear(all)
		copy(block(all, size, self), block(mine, size, root))
		if err := team.AllGather(c, all, block(all, size, self)); err != nil {
			return err
		}
		same(t, all, want, "all-gather of %d bytes in place", size)

		for j := range n {
			copy(block(want, size, j), block(blocks(n, size, j, i), size, self))
		}
		if err := team.AllToAll(c, all, mine); err != nil {
			return err
		}
		same(t, all, want, "all-to-all of %d bytes", size)
		if t.Err() != nil {
			return nil
		}
	}
	return nil
}

// lenOf is how much member i sends to member j.
func lenOf(i, j, seed int) int { return (i*7 + j*13 + seed*31) % 5 * (1 + seed*400) }

// blocksTo returns the lengths of a member's blocks and packed bytes for them; blocksFrom the
// same of what it gets, with gaps.
func blocksTo(n, member, seed int) (extended.Blocks, []byte) {
	var b extended.Blocks
	sum := 0
	for j := range n {
		b.Lens = append(b.Lens, lenOf(member, j, seed))
		sum += b.Lens[j]
	}
	return b, fill(make([]byte, sum), uint64(seed<<16+member))
}

func blocksFrom(n, member, seed int) (extended.Blocks, []byte) {
	var b extended.Blocks
	at := 3
	for j := range n {
		b.Offs = append(b.Offs, at)
		b.Lens = append(b.Lens, lenOf(j, member, seed))
		at += b.Lens[j] + j
	}
	return b, make([]byte, at)
}

// part returns block i of packed blocks.
func part(b extended.Blocks, data []byte, i int) []byte {
	at := 0
	for _, n := range b.Lens[:i] {
		at += n
	}
	return data[at : at+b.Lens[i]]
}

func varying(t *coretest.T, c *extended.Context, team *extended.Team) error {
	n, self := team.Size(), team.Rank()
	for seed := range 6 {
		root := seed % n
		to, src := blocksTo(n, self, seed)
		from, dst := blocksFrom(n, self, seed)
		want := make([]byte, len(dst))
		for j := range n {
			b, data := blocksTo(n, j, seed)
			copy(want[from.Offs[j]:], part(b, data, self))
		}
		if err := team.AllToAllV(c, dst, from, src, to); err != nil {
			return err
		}
		same(t, dst, want, "all-to-all, seed %d", seed)

		clear(dst)
		if err := team.GatherV(c, root, dst, from, part(to, src, root)); err != nil {
			return err
		}
		if self == root {
			same(t, dst, want, "gather to %d, seed %d", root, seed)
		}

		rootTo, rootSrc := blocksTo(n, root, seed)
		one := make([]byte, rootTo.Lens[self])
		if err := team.ScatterV(c, root, one, src, to); err != nil {
			return err
		}
		same(t, one, part(rootTo, rootSrc, self), "scatter from %d, seed %d", root, seed)

		from, dst = blocksFrom(n, root, seed) // what goes to the root goes to all
		want = make([]byte, len(dst))
		for j := range n {
			b, data := blocksTo(n, j, seed)
			copy(want[from.Offs[j]:], part(b, data, root))
		}
		if err := team.AllGatherV(c, dst, from, part(to, src, root)); err != nil {
			return err
		}
		same(t, dst, want, "all-gather, seed %d", seed)
		if t.Err() != nil {
			return nil
		}
	}
	return nil
}
