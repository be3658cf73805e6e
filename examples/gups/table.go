package main

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

const (
	onUpdates core.HandlerIndex = core.ClientHandlers + iota // request: random numbers
	onApplied                                                // reply: they have been applied
)

// lookAhead is how many updates may wait in a rank (HPC Challenge, RandomAccess rules).
const lookAhead = 1024

// table is one rank's part of the table, and its updates under way.
type table struct {
	ep      *extended.Endpoint
	words   *pgas.Array[uint64]
	mine    []uint64
	first   int      // the index of the first word of mine
	buckets [][]byte // updates that wait, by rank
	limit   int      // bytes of a bucket
	sent    int      // messages
	applied int      // messages that were answered
}

func newTable(job *core.Job, words int) (*table, error) {
	t := &table{buckets: make([][]byte, job.Size())}
	ep, err := extended.Attach(job, core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onUpdates, Name: "updates", Func: t.onUpdates},
		{Index: onApplied, Name: "applied", Func: func(*core.Token, []uint32, []byte) { t.applied++ }},
	}})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	t.ep, t.limit = ep, 8*max(1, min(lookAhead/job.Size(), ep.Core().Limits().MaxMediumRequest/8))
	if t.words, err = pgas.NewArray[uint64](&ep.Context, heap, words, 0); err != nil {
		return nil, err
	}
	t.mine, t.first = t.words.Own(), t.words.Index(0)
	for i, w := range t.words.All() {
		*w = uint64(i)
	}
	return t, ep.World().Barrier(&ep.Context)
}

// at returns the index of the word that a random number updates.
func (t *table) at(a uint64) int { return int(a & uint64(t.words.Len()-1)) }

// update adds an update to the bucket of the word's owner, which is sent when full.
func (t *table) update(a uint64) error {
	r := t.words.Owner(t.at(a))
	t.buckets[r] = binary.NativeEndian.AppendUint64(t.buckets[r], a)
	if len(t.buckets[r]) < t.limit {
		return nil
	}
	return t.flush(r)
}

// flush sends a bucket.
func (t *table) flush(r int) error {
	err := t.ep.RequestMedium(core.Rank(r), onUpdates, t.buckets[r])
	t.buckets[r] = t.buckets[r][:0]
	t.sent++
	return err
}

// onUpdates applies the updates of a bucket. Handlers run one at a time, so that no update
// is lost.
func (t *table) onUpdates(tok *core.Token, _ []uint32, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		a := binary.NativeEndian.Uint64(data)
		t.mine[t.at(a)-t.first] ^= a
	}
	if err := tok.ReplyShort(onApplied); err != nil {
		panic(err)
	}
}

// finish returns when the updates of all ranks have been applied.
func (t *table) finish() error {
	for r, b := range t.buckets {
		if len(b) == 0 {
			continue
		}
		if err := t.flush(r); err != nil {
			return err
		}
	}
	if err := t.ep.WaitUntil(func() bool { return t.applied >= t.sent }); err != nil {
		return err
	}
	return t.ep.World().Barrier(&t.ep.Context)
}

// differences replays all updates on a copy of this rank's part and returns how many words
// differ.
func (t *table) differences(updates int) (wrong int64) {
	replay := make([]uint64, len(t.mine))
	for k := range replay {
		replay[k] = uint64(t.first + k)
	}
	a := nth(0)
	for range updates {
		if k := t.at(a) - t.first; uint(k) < uint(len(replay)) {
			replay[k] ^= a
		}
		a = next(a)
	}
	for k := range replay {
		if replay[k] != t.mine[k] {
			wrong++
		}
	}
	return wrong
}
