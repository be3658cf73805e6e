package pgas

import (
	"errors"
	"fmt"
	"iter"

	"github.com/aqueduct-go/aqueduct/extended"
)

// Array is an array of n elements that the members of a team hold together: blocks of equal
// length, dealt out in turn. Element i is in block i/block, which member i/block mod size
// has. Every member has its own value; all of them are equal but for who they belong to.
//
// Element accesses are one-sided: they need nothing of the owner, and barriers order them.
type Array[T any] struct {
	heap  *Heap
	first Ptr[T] // of the caller's part
	n     int    // 0 once it is freed: then everything is outside
	block int
	freed bool
}

// NewArray allocates an array of n elements in blocks; block 0 stands for one block for each
// member, as equal as that goes. It is Alloc of the symmetric heap: all members call it with
// the same arguments, and it is not zeroed.
func NewArray[T any](c *extended.Context, h *Heap, n, block int) (*Array[T], error) {
	if n < 0 || block < 0 || h.team == nil {
		return nil, h.ep.Core().Misuse("NewArray", "%d elements in blocks of %d: want no negative number, and a symmetric heap", n, block)
	}
	size := h.team.Size()
	if block == 0 {
		block = (n + size - 1) / size
	}
	block = max(1, min(block, n))
	blocks := (n + block - 1) / block
	each := (blocks + size - 1) / size * block
	first, err := Alloc[T](c, h, each)
	if err != nil {
		return nil, err
	}
	return &Array[T]{heap: h, first: first, n: n, block: block}, nil
}

// Free frees the array; see Free. It has no elements any more.
func (a *Array[T]) Free(c *extended.Context) error {
	if a.freed {
		return a.heap.ep.Core().Misuse("Array.Free", "the array was freed before")
	}
	if err := Free(c, a.heap, a.first); err != nil {
		return err
	}
	a.n, a.freed = 0, true
	return nil
}

// Len returns the number of elements.
func (a *Array[T]) Len() int { return a.n }

// Block returns the length of blocks.
func (a *Array[T]) Block() int { return a.block }

// Owner returns the team rank of the member that has element i, -1 if there is no such
// element. A handler may call it.
func (a *Array[T]) Owner(i int) int {
	if uint(i) >= uint(a.n) {
		return -1
	}
	return i / a.block % a.heap.team.Size()
}

// At returns a pointer to element i, nil if there is none. A handler may call it.
func (a *Array[T]) At(i int) Ptr[T] {
	if uint(i) >= uint(a.n) {
		return Ptr[T]{}
	}
	b, size := i/a.block, a.heap.team.Size()
	return a.first.On(a.heap.team.Jobrank(b % size)).Add(b/size*a.block + i%a.block)
}

// Get returns element i. It may poll.
func (a *Array[T]) Get(c *extended.Context, i int) (T, error) {
	if uint(i) >= uint(a.n) {
		var none T
		return none, a.outside("Get", i, i+1)
	}
	return a.At(i).Get(c)
}

// Set sets element i and returns when everybody sees it. It may poll.
func (a *Array[T]) Set(c *extended.Context, i int, v T) error {
	if uint(i) >= uint(a.n) {
		return a.outside("Set", i, i+1)
	}
	return a.At(i).Put(c, v)
}

// GetRange copies the elements from i on to dst, as many as it holds. It may poll.
func (a *Array[T]) GetRange(c *extended.Context, dst []T, i int) error {
	return a.pieces(c, "GetRange", dst, i, func(p Ptr[T], part []T) (extended.Event, error) {
		return p.GetSliceNB(c, part)
	})
}

// SetRange copies src to the elements from i on and returns when everybody sees them. It
// may poll.
func (a *Array[T]) SetRange(c *extended.Context, src []T, i int) error {
	return a.pieces(c, "SetRange", src, i, func(p Ptr[T], part []T) (extended.Event, error) {
		return p.PutSliceNB(c, part, extended.LCDefer)
	})
}

// window is how many transfers of one range are under way at most.
const window = 64

// pieces initiates a transfer for every piece of a range that lies in one block, and waits
// for all, also after an error: the caller's memory is not in use on return, unless the job
// has failed.
func (a *Array[T]) pieces(c *extended.Context, call string, s []T, i int, begin func(Ptr[T], []T) (extended.Event, error)) error {
	if i < 0 || i > a.n || len(s) > a.n-i {
		return a.outside(call, i, i+len(s))
	}
	var evs [window]extended.Event
	n := 0
	for len(s) > 0 {
		m := min(len(s), a.block-i%a.block)
		ev, err := begin(a.At(i), s[:m])
		if err != nil {
			return errors.Join(err, c.WaitAll(evs[:n]))
		}
		s, i = s[m:], i+m
		if ev == 0 {
			continue
		}
		evs[n] = ev
		if n++; n == window {
			if err := c.WaitAll(evs[:]); err != nil {
				return err
			}
			n = 0
		}
	}
	return c.WaitAll(evs[:n])
}

// Own returns the elements that the caller has, in the order of their indices: block after
// block. The slice is valid until the array is freed; then there are none. A handler may call
// it.
func (a *Array[T]) Own() []T {
	mem, _ := a.first.LocalSlice(a.heap.ep, a.ownLen())
	return mem
}

// Index returns the index in the array of the caller's element k, as Own counts; Len if the
// caller has no such element. A handler may call it.
func (a *Array[T]) Index(k int) int {
	if uint(k) >= uint(a.ownLen()) {
		return a.n
	}
	return a.index(k)
}

func (a *Array[T]) index(k int) int {
	return (k/a.block*a.heap.team.Size()+a.heap.team.Rank())*a.block + k%a.block
}

// All iterates over the caller's elements with their indices in the array.
func (a *Array[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		own := a.Own()
		for k := range own {
			if !yield(a.index(k), &own[k]) {
				return
			}
		}
	}
}

// ownLen returns how many elements the caller has.
func (a *Array[T]) ownLen() int {
	size, self := a.heap.team.Size(), a.heap.team.Rank()
	full := a.n / a.block // whole blocks; the one after them may be shorter
	k := full / size * a.block
	switch rest := full % size; {
	case self < rest:
		return k + a.block
	case self == rest:
		return k + a.n%a.block
	}
	return k
}

// String tells the shape of the array.
func (a *Array[T]) String() string {
	var v T
	return fmt.Sprintf("array of %d %T in blocks of %d over %v", a.n, v, a.block, a.heap.team)
}

// outside makes the error of a range that does not lie in the array.
func (a *Array[T]) outside(call string, from, to int) error {
	if a.freed {
		return a.heap.ep.Core().Misuse(call, "the array was freed")
	}
	return a.heap.ep.Core().Misuse(call, "elements %d to %d lie outside an %v", from, to, a)
}
