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
	at     [digits][1 << digit][]entry // by the first digit that differs, the least one first, and its value
	used   [digits]uint64              // which buckets of a level are not empty
	levels uint                        // which levels are not
	free   [][]entry                   // memory of empty buckets
	spare  int                         // entries that it could hold
}

// leastSpare is how many entries' memory is kept in any case.
const leastSpare = 1 << 14

// add puts an entry into its bucket, which comes in the order of calls.
func (b *buckets) add(e entry, base Time) {
	level := (bits.Len64(uint64(e.at^base)|1) - 1) / digit
	value := uint(e.at>>(level*digit)) % (1 << digit)
	bucket := &b.at[level][value]
	if *bucket == nil {
		*bucket = b.buffer()
		b.used[level] |= 1 << value
		b.levels |= 1 << level
	}
	*bucket = append(*bucket, e)
}

// take removes the first bucket; there is one. All its entries have the digits
// of the first one from level on.
func (b *buckets) take() (level int, bucket []entry) {
	level = bits.TrailingZeros(b.levels)
	value := bits.TrailingZeros64(b.used[level])
	bucket = b.at[level][value]
	b.at[level][value] = nil
	if b.used[level] &^= 1 << value; b.used[level] == 0 {
		b.levels &^= 1 << level
	}
	return level, bucket
}

// buffer returns memory for a bucket.
func (b *buckets) buffer() []entry {
	last := len(b.free) - 1
	if last < 0 {
		return make([]entry, 0, few)
	}
	buffer := b.free[last]
	b.free[last] = nil
	b.free = b.free[:last]
	b.spare -= cap(buffer)
	return buffer
}

// recycle gives memory back. It is kept as far as n entries, all that there are, may need it.
func (b *buckets) recycle(buffer []entry, n int) {
	if cap(buffer) > 0 && b.spare+cap(buffer) <= leastSpare+2*n {
		b.free = append(b.free, buffer[:0])
		b.spare += cap(buffer)
	}
}
