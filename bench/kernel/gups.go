package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// tableWords is how many words of the table each rank holds. bench/mpipeer's programs have the same.
const tableWords = 1 << 16

// lookAhead is how many updates may wait in a rank (HPC Challenge, RandomAccess rules).
const lookAhead = 1024

const (
	onUpdates core.HandlerIndex = core.ClientHandlers + iota // request: random numbers
	onApplied                                                // reply: they have been applied
)

// table is one rank's part of the table, and its updates under way.
type table struct {
	ep      *extended.Endpoint
	words   []uint64
	buckets [][]byte // updates that wait, by rank
	limit   int      // bytes of a bucket
	sent    int      // messages
	applied int      // messages that were answered
}

// handlers are those of the table.
func (t *table) handlers() []core.HandlerEntry {
	return []core.HandlerEntry{
		{Index: onUpdates, Name: "updates", Func: t.onUpdates},
		{Index: onApplied, Name: "applied", Func: func(*core.Token, []uint32, []byte) { t.applied++ }},
	}
}

// fill makes the table, whose words are their own indices.
func (t *table) fill(ep *extended.Endpoint) {
	t.ep, t.buckets, t.words = ep, make([][]byte, ep.Size()), make([]uint64, tableWords)
	t.limit = 8 * max(1, min(lookAhead/ep.Size(), ep.Core().Limits().MaxMediumRequest/8))
	for i := range t.words {
		t.words[i] = uint64(i)
	}
}

// owner returns the rank that has the word of a random number.
func (t *table) owner(a uint64) int { return int(a / tableWords % uint64(len(t.buckets))) }

// update carries out n updates of all ranks together: this rank's part of them. The same numbers come every time, so that what two
// calls have done is nothing.
func (r *rank) update(n int) error {
	t, size := &r.table, r.ep.Size()
	a := 1 | uint64(r.ep.Rank())<<32
	for range (n + size - 1) / size {
		a = next(a)
		to := t.owner(a)
		t.buckets[to] = binary.NativeEndian.AppendUint64(t.buckets[to], a)
		if len(t.buckets[to]) >= t.limit {
			if err := t.flush(to); err != nil {
				return err
			}
		}
	}
	for to, b := range t.buckets {
		if len(b) > 0 {
			if err := t.flush(to); err != nil {
				return err
			}
		}
	}
	if err := r.ep.WaitUntil(func() bool { return t.applied >= t.sent }); err != nil {
		return err
	}
	return r.barrier()
}

// next returns the random number after a (G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003).
func next(a uint64) uint64 {
	a ^= a << 13
	a ^= a >> 7
	return a ^ a<<17
}

// flush sends a bucket.
func (t *table) flush(to int) error {
	err := t.ep.RequestMedium(core.Rank(to), onUpdates, t.buckets[to])
	t.buckets[to] = t.buckets[to][:0]
	t.sent++
	return err
}

// onUpdates applies the updates of a bucket. Handlers run one at a time, so that no update is lost.
func (t *table) onUpdates(tok *core.Token, _ []uint32, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		a := binary.NativeEndian.Uint64(data)
		t.words[a%tableWords] ^= a
	}
	if err := tok.ReplyShort(onApplied); err != nil {
		panic(err)
	}
}

// checkTable wants the table as it was at first: every sample makes its updates twice.
func (r *rank) checkTable() error {
	for i, w := range r.table.words {
		if w != uint64(i) {
			return fmt.Errorf("kernel: rank %d: word %d is %#x: updates were lost or came twice", r.ep.Rank(), i, w)
		}
	}
	return nil
}
