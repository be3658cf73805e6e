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
	free   *chunk                     // memory of empty buckets
}

// bucket holds entries in the order in which they came. Its memory comes in chunks, so that it
// neither moves as it grows nor is lost when it shrinks.
type bucket struct {
	first, last *chunk
	n           int
	disorder    int // how many entries are before the one that came before them
}

// chunk is a part of a bucket.
type chunk struct {
	next    *chunk
	n       int
	entries [few]entry
}

// add puts an entry into its bucket, which comes in the order of calls.
func (b *buckets) add(e entry, base Time) {
	level := uint(bits.Len64(uint64(e.at^base)|1)-1) / digit
	value := uint(e.at>>(level*digit%64)) % (1 << digit) // the shift is below 64, which spares a test
	t := &b.at[level][value]
	c := t.last
	if c == nil {
		c = b.chunk()
		t.first, t.last = c, c
		b.used[level] |= 1 << value
		b.levels |= 1 << level
	} else {
		// Nearly all are in order, which a branch guesses better than before computes it.
		if last := &c.entries[c.n-1]; e.at < last.at || e.at == last.at && e.key < last.key {
			t.disorder++
		}
		if c.n == len(c.entries) {
			c.next = b.chunk()
			c = c.next
			t.last = c
		}
	}
	c.entries[c.n] = e
	c.n++
	t.n++
}

// take removes the first bucket; there is one. All its entries have the digits
// of the first one from level on.
func (b *buckets) take() (level int, t bucket) {
	level = bits.TrailingZeros(b.levels)
	value := bits.TrailingZeros64(b.used[level])
	t = b.at[level][value]
	b.at[level][value] = bucket{}
	if b.used[level] &^= 1 << value; b.used[level] == 0 {
		b.levels &^= 1 << level
	}
	return level, t
}

// chunk returns memory for entries.
func (b *buckets) chunk() *chunk {
	c := b.free
	if c == nil {
		return new(chunk)
	}
	b.free, c.next, c.n = c.next, nil, 0
	return c
}

// empty appends the entries of a bucket that was taken to a slice, and takes its memory back.
func (b *buckets) empty(t bucket, to []entry) []entry {
	for c := t.first; c != nil; c = c.next {
		to = append(to, c.entries[:c.n]...)
	}
	t.last.next, b.free = b.free, t.first
	return to
}

// divide puts the entries of a bucket that was taken into others, by a base that has risen.
func (b *buckets) divide(t bucket, base Time) {
	for c := t.first; c != nil; {
		for i := range c.entries[:c.n] {
			b.add(c.entries[i], base)
		}
		next := c.next
		c.next, b.free = b.free, c
		c = next
	}
}
