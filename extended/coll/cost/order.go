package cost

import (
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// order decides which rank goes on next. A rank is in it once at most.
type order interface {
	// put has rank i go on at time t, which has not passed.
	put(t vtime.Time, i uint32)
	// take removes the rank that goes on next; false if there is none.
	take() (i uint32, ok bool)
	// first reports that rank i may do at once what is due at t. It may say no although
	// nobody comes first; put, and take, tell then.
	first(t vtime.Time, i uint32) bool
	// bytes is its memory.
	bytes() int
}

// queue is the order where time does not matter: first come, first served, which keeps ranks
// in step, and so few messages under way.
type queue struct {
	ranks []uint32 // a ring with room for all
	head  int
	n     int
}

func newQueue(ranks int) *queue { return &queue{ranks: make([]uint32, ranks)} }

func (q *queue) put(_ vtime.Time, i uint32) {
	at := q.head + q.n
	if at >= len(q.ranks) {
		at -= len(q.ranks)
	}
	q.ranks[at] = i
	q.n++
}

func (q *queue) take() (i uint32, ok bool) {
	if q.n == 0 {
		return 0, false
	}
	i = q.ranks[q.head]
	q.n--
	if q.head++; q.head == len(q.ranks) {
		q.head = 0
	}
	return i, true
}

func (q *queue) first(vtime.Time, uint32) bool { return true }

func (q *queue) bytes() int { return 4 * len(q.ranks) }

// calendar is the order of time, then of ranks: a radix heap (Ahuja, Mehlhorn, Orlin and
// Tarjan 1990) of lists that run through the ranks, so that its size is fixed, and what is
// due now as a set of bits. With millions of ranks it beats a heap, whose every level is a
// cache miss.
//
// List b > 0 has the ranks whose times differ from now in bit b-1 and in none above.
type calendar struct {
	now   vtime.Time
	due   rankSet // now
	lists [64]uint32
	used  uint64 // lists that are not empty
	times []vtime.Time
	next  []uint32 // of the same list
}

// end is the end of a list.
const end = ^uint32(0)

func newCalendar(ranks int) *calendar {
	c := &calendar{due: newRankSet(ranks), times: make([]vtime.Time, ranks), next: make([]uint32, ranks)}
	for b := range c.lists {
		c.lists[b] = end
	}
	return c
}

func (c *calendar) put(t vtime.Time, i uint32) {
	b := bits.Len64(uint64(t ^ c.now))
	if b == 0 {
		c.due.add(i)
		return
	}
	c.times[i] = t
	c.next[i], c.lists[b] = c.lists[b], i
	c.used |= 1 << b
}

func (c *calendar) take() (i uint32, ok bool) {
	if c.due.empty() && c.used != 0 {
		c.advance()
	}
	if c.due.empty() {
		return 0, false
	}
	i = c.due.min()
	c.due.remove(i)
	return i, true
}

// advance sets now to the earliest time, which lies in the first list, and files that list's
// ranks anew, all in earlier ones.
func (c *calendar) advance() {
	b := bits.TrailingZeros64(c.used)
	list := c.lists[b]
	c.lists[b], c.used = end, c.used&^(1<<b)
	c.now = c.times[list]
	for i := c.next[list]; i != end; i = c.next[i] {
		c.now = min(c.now, c.times[i])
	}
	for i := list; i != end; {
		next := c.next[i]
		c.put(c.times[i], i)
		i = next
	}
}

func (c *calendar) first(t vtime.Time, i uint32) bool {
	if !c.due.empty() {
		return t == c.now && i < c.due.min()
	}
	if t == c.now || c.used == 0 {
		return true
	}
	b := bits.TrailingZeros64(c.used)
	earliest := (c.now>>b)<<b | 1<<(b-1) // that may be in the first list
	return t < earliest
}

func (c *calendar) bytes() int { return 12*len(c.times) + c.due.bytes() }

// rankSet is a set of ranks. A bit of a level says that a word of the level below is not 0.
type rankSet struct{ levels [][]uint64 }

func newRankSet(ranks int) (s rankSet) {
	for {
		ranks = (ranks + 63) / 64
		s.levels = append(s.levels, make([]uint64, ranks))
		if ranks <= 1 {
			return s
		}
	}
}

func (s *rankSet) empty() bool { return s.levels[len(s.levels)-1][0] == 0 }

func (s *rankSet) add(i uint32) {
	for _, words := range s.levels {
		words[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

func (s *rankSet) remove(i uint32) {
	for _, words := range s.levels {
		if words[i/64] &^= 1 << (i % 64); words[i/64] != 0 {
			return
		}
		i /= 64
	}
}

// min returns the least rank of a set that is not empty.
func (s *rankSet) min() (i uint32) {
	for l := len(s.levels) - 1; l >= 0; l-- {
		i = i*64 + uint32(bits.TrailingZeros64(s.levels[l][i]))
	}
	return i
}

func (s *rankSet) bytes() (n int) {
	for _, words := range s.levels {
		n += 8 * len(words)
	}
	return n
}
