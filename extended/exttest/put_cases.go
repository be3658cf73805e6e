package exttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

var putCases = []coretest.Case{{
	Name:  "put/sizes",
	Rule:  "a blocking put of any size at any alignment is visible to everybody on return, and touches nothing else",
	Ranks: []int{1, 2, 3}, Body: putSizes,
}}

// affordable returns sizes, under the race detector without those that take long: it is
// there for the protocols, not for the bytes.
func affordable(sizes []int, most int) []int {
	if !shm.RaceEnabled {
		return sizes
	}
	return upTo(sizes, most)
}

// upTo returns the sizes that are not above most.
func upTo(sizes []int, most int) []int {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int) bool { return n > most })
}

// sizes around every border that an implementation may have.
var sizes = []int{0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 511, 512, 4095, 4096, 4097, 65535, 65536, 65537, 300001}

// fill makes random bytes that depend on the seed alone.
func fill(b []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	for ; i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	return b
}

func putSizes(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	next := t.Next()
	want, got := make([]byte, 1<<20), make([]byte, 1<<20)
	sizes := affordable(sizes, 65537)
	for i, n := range sizes {
		for _, off := range []int{0, 1, 8, 4093, len(want) - n} {
			seed := uint64(i)<<32 | uint64(off)
			fill(want[off:off+n], seed)
			if err := ep.Put(next, uint64(off), want[off:off+n]); err != nil {
				return err
			}
			if err := around(ep, next, got, want, off, n); err != nil {
				t.Errorf("put of %d bytes at %d: %v", n, off, err)
				return nil
			}
		}
		if i%5 != 4 && i < len(sizes)-1 {
			continue
		}
		if err := ep.Get(got, next, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("puts of at most %d bytes: the segment differs", n)
			return nil
		}
	}
	return ep.Barrier()
}

// around gets n bytes at off of a segment, and some before and after, and compares them with what is
// wanted. What is farther away is compared after several operations.
func around(ep *extended.Endpoint, r core.Rank, got, want []byte, off, n int) error {
	from, to := max(0, off-100), min(len(want), off+n+100)
	if err := ep.Get(got[from:to], r, uint64(from)); err != nil {
		return err
	}
	if !bytes.Equal(got[from:to], want[from:to]) {
		return errors.New("the segment differs there")
	}
	return nil
}
