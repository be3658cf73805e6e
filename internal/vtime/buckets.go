package vtime

import "math/bits"

// Times are read as numbers of digits of so many bits, and a bucket holds those
// that differ from the base first in the same digit, and have the same there.
const (
	digit  = 6
	digits = (64 + digit - 1) / digit
)

// buckets hold entries of times after a base: a radix heap. Entries of earlier times
// are in lower levels, and within a level in lower buckets. The base may rise in two
// ways: to a time before that of the first entry, or to the start of the first bucket
// when that has been taken. All other entries stay where they are then.
type buckets struct {
	at     [digits][1 << digit]bucket // by the first digit that differs, the least one first, and its value
	used   [digits]uint64             // which buckets of a level are not empty
	levels uint                       // which levels are not
	chunks []chunk                    // what buckets refer to; the first one is none
	free   uint32                     // the first chunk of no bucket
}

// bucket holds entries in the order in which they came. Its memory comes in chunks, so that it
// is not lost when the bucket shrinks.
type bucket struct {
	first, last uint32 // chunks
	n           uint32
	disorder    uint32 // how many entries are before the one that came before them
}

// chunk is a part of a bucket: two cache lines, without a pointer.
type chunk struct {
	next    uint32
	n       uint32
	entries [5]entry
}

// add puts an entry into its bucket, which comes in the order of calls.
func (b *buckets) add(e entry, base Time) {
	level := uint(bits.Len64(uint64(e.at^base)|1)-1) / digit
	value := uint(e.at>>(level*digit%64)) % (1 << digit) // the shift is below 64, which spares a test
	t := &b.at[level][value]
	if t.n == 0 {
		t.first = b.chunk()
		t.last = t.first
		b.used[level] |= 1 << value
		b.levels |= 1 << level
	}
	c := &b.chunks[t.last]
	if c.n > 0 {
		t.disorder += uint32(e.before(&c.entries[c.n-1]))
	}
	if c.n == uint32(len(c.entries)) {
		next := b.chunk() // which may move chunks
		b.chunks[t.last].next, t.last = next, next
		c = &b.chunks[next]
	}
	c.entries[c.n] = e
	c.n++
	t.n++
}

// first returns where the first bucket is; there is one.
func (b *buckets) first() (level, value int) {
	level = bits.TrailingZeros(b.levels)
	return level, bits.TrailingZeros64(b.used[level])
}

// take removes the first bucket, which is there. All its entries have the digits of the first one from level on.
func (b *buckets) take(level, value int) (t bucket) {
	t = b.at[level][value]
	b.at[level][value] = bucket{}
	if b.used[level] &^= 1 << value; b.used[level] == 0 {
		b.levels &^= 1 << level
	}
	return t
}

// chunk returns an empty chunk.
func (b *buckets) chunk() uint32 {
	i := b.free
	if i == 0 {
		if len(b.chunks) == 0 {
			b.chunks = append(b.chunks, chunk{})
		}
		b.chunks = append(b.chunks, chunk{})
		return uint32(len(b.chunks) - 1)
	}
	c := &b.chunks[i]
	b.free, c.next, c.n = c.next, 0, 0
	return i
}

// empty appends the entries of a bucket that was taken to a slice, and takes its memory back.
func (b *buckets) empty(t bucket, to []entry) []entry {
	for i := t.first; i != 0; i = b.chunks[i].next {
		c := &b.chunks[i]
		to = append(to, c.entries[:c.n]...)
	}
	b.chunks[t.last].next, b.free = b.free, t.first
	return to
}

// divide puts the entries of a bucket that was taken into others, by a base that has risen.
func (b *buckets) divide(t bucket, base Time) {
	for i := t.first; i != 0; {
		c := b.chunks[i] // a copy: chunks may move
		b.chunks[i].next, b.free = b.free, i
		for j := range c.entries[:c.n] {
			b.add(c.entries[j], base)
		}
		i = c.next
	}
}
