package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

const (
	onInsert core.HandlerIndex = core.ClientHandlers + iota // request: key, value
	onStored                                                // reply: whether there was room
)

// bucket is a cache line of the table. Key 0 marks a free slot, and slots fill in order.
type bucket [4]struct{ Key, Value uint64 }

// table is one rank's part of the table, and its inserts under way.
type table struct {
	ep      *extended.Endpoint
	buckets *pgas.Array[bucket]
	mine    []bucket
	stored  int // keys in this part
	sent    int // inserts
	done    int // inserts that were answered
	refused int // of those, how many found no room
}

// newTable makes a table with room for the keys of all ranks.
func newTable(job *core.Job, keys, load int) (*table, error) {
	t := &table{}
	ep, err := extended.Attach(job, core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onInsert, Name: "insert", Func: t.onInsert},
		{Index: onStored, Name: "stored", Func: func(_ *core.Token, args []uint32, _ []byte) {
			t.done++
			t.refused += int(args[0])
		}},
	}})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	each := keys*100/load/len(bucket{}) + 8 // some more: parts do not fill evenly
	t.ep = ep
	if t.buckets, err = pgas.NewArray[bucket](&ep.Context, heap, each*job.Size(), each); err != nil {
		return nil, err
	}
	t.mine = t.buckets.Own()
	clear(t.mine)
	return t, ep.World().Barrier(&ep.Context)
}

// home returns the index of a key's bucket, which says the owner too.
func (t *table) home(k uint64) int { return int(mix(k) % uint64(t.buckets.Len())) }

// after returns the bucket of the same owner that is tried after bucket i.
func (t *table) after(i int) int {
	if i++; i%t.buckets.Block() == 0 {
		i -= t.buckets.Block()
	}
	return i
}

// insert sends a key and its value to the owner; answered and settle wait for the answers.
func (t *table) insert(k, v uint64) error {
	owner := t.buckets.At(t.home(k)).Rank()
	if err := t.ep.RequestShort(owner, onInsert, uint32(k), uint32(k>>32), uint32(v), uint32(v>>32)); err != nil {
		return err
	}
	t.sent++
	return nil
}

// onInsert stores a key in this rank's part.
func (t *table) onInsert(tok *core.Token, args []uint32, _ []byte) {
	full := uint32(1)
	if t.store(uint64(args[0])|uint64(args[1])<<32, uint64(args[2])|uint64(args[3])<<32) {
		full = 0
	}
	if err := tok.ReplyShort(onStored, full); err != nil {
		panic(err)
	}
}

// store puts a key into the first slot from its home on that is free or has it; false if
// there is none.
func (t *table) store(k, v uint64) bool {
	i := t.home(k)
	for range t.mine {
		b := &t.mine[i%t.buckets.Block()]
		for s := range b {
			switch b[s].Key {
			case 0:
				t.stored++
				fallthrough
			case k:
				b[s].Key, b[s].Value = k, v
				return true
			}
		}
		i = t.after(i)
	}
	return false
}

// settle returns when the inserts of all ranks are done.
func (t *table) settle() error {
	if err := t.answered(); err != nil {
		return err
	}
	return t.ep.World().Barrier(&t.ep.Context)
}

// answered returns when the inserts of this rank are done.
func (t *table) answered() error {
	if err := t.ep.WaitUntil(func() bool { return t.done >= t.sent }); err != nil {
		return err
	}
	if t.refused > 0 {
		return fmt.Errorf("hashtable: no room for %d keys; lower --load", t.refused)
	}
	return nil
}

// lookup returns the value of a key. The table must not change meanwhile.
func (t *table) lookup(k uint64) (v uint64, ok bool, err error) {
	i := t.home(k)
	for range t.buckets.Block() {
		b, err := t.buckets.Get(&t.ep.Context, i)
		if err != nil {
			return 0, false, err
		}
		for _, s := range b {
			switch s.Key {
			case 0:
				return 0, false, nil
			case k:
				return s.Value, true, nil
			}
		}
		i = t.after(i)
	}
	return 0, false, nil
}

// key returns key number i: all are different, and none is 0.
func key(i int) uint64 { return mix(uint64(i) + 1) }

// valueOf returns the value that belongs to a key.
func valueOf(k uint64) uint64 { return mix(^k) }

// mix is the finalizer of MurmurHash3 (Appleby): a bijection that maps 0 to itself.
func mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
