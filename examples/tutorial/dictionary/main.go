// Dictionary is the fifth step of the tutorial (docs/tutorial.md): a distributed hash table. The
// owner of a key changes its part of the table in a handler; whoever looks a key up reads the
// owner's memory, and needs nothing of the owner.
//
//	aqrun -n 4 dictionary
package main

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

const (
	keys  = 1000     // that each rank inserts
	slots = 4 * keys // that each rank has
)

const (
	onInsert core.HandlerIndex = core.ClientHandlers + iota // request: key and value
	onStored                                                // reply: 1 if there was room
)

// slot is an entry of the table. Key 0 is none.
type slot struct{ Key, Value uint32 }

// table is one rank's view of the table.
type table struct {
	ep           *extended.Endpoint
	slots        *pgas.Array[slot]
	stored, full int // answers to this rank's inserts
}

func newTable(job *core.Job) (*table, error) {
	t := new(table)
	ep, err := extended.Attach(job, core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onInsert, Name: "insert", Func: t.onInsert},
		{Index: onStored, Name: "stored", Func: t.onStored},
	}})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	t.ep = ep
	if t.slots, err = pgas.NewArray[slot](&ep.Context, heap, slots*job.Size(), slots); err != nil {
		return nil, err
	}
	clear(t.slots.Own()) // memory of a heap is not zeroed
	return t, ep.World().Barrier(&ep.Context)
}

// home returns the slot where the search for a key begins. Its owner is the key's owner.
func (t *table) home(key uint32) int {
	return int(uint64(key*2654435761) * uint64(t.slots.Len()) >> 32)
}

// next returns the slot of the same owner that is tried after slot i.
func (t *table) next(i int) int {
	if i++; i%slots == 0 {
		i -= slots
	}
	return i
}

// insert sends a key and its value to the owner of the key.
func (t *table) insert(key, value uint32) error {
	owner := t.slots.At(t.home(key)).Rank()
	return t.ep.RequestShort(owner, onInsert, key, value)
}

// onInsert stores a key in this rank's part of the table, which no one else changes.
func (t *table) onInsert(tok *core.Token, args []uint32, _ []byte) {
	key, value, room := args[0], args[1], uint32(0)
	for i, tries := t.home(key), 0; tries < slots && room == 0; i, tries = t.next(i), tries+1 {
		if s := &t.slots.Own()[i%slots]; s.Key == 0 || s.Key == key {
			*s, room = slot{key, value}, 1
		}
	}
	if err := tok.ReplyShort(onStored, room); err != nil {
		panic(err)
	}
}

func (t *table) onStored(_ *core.Token, args []uint32, _ []byte) {
	if args[0] == 1 {
		t.stored++
	} else {
		t.full++
	}
}

// lookup returns the value of a key. Nobody may insert meanwhile.
func (t *table) lookup(key uint32) (value uint32, found bool, err error) {
	for i, tries := t.home(key), 0; tries < slots; i, tries = t.next(i), tries+1 {
		s, err := t.slots.Get(&t.ep.Context, i)
		if err != nil || s.Key == 0 {
			return 0, false, err
		}
		if s.Key == key {
			return s.Value, true, nil
		}
	}
	return 0, false, nil
}

func main() { aqueduct.Run(dictionary) }

func dictionary(job *core.Job) error {
	t, err := newTable(job)
	if err != nil {
		return err
	}
	me, n := int(job.Rank()), job.Size()
	for i := range keys {
		key := uint32(me*keys + i + 1)
		if err := t.insert(key, key*key); err != nil {
			return err
		}
	}
	if err := t.ep.WaitUntil(func() bool { return t.stored+t.full >= keys }); err != nil {
		return err
	}
	if t.full > 0 {
		return fmt.Errorf("dictionary: there was no room for %d keys", t.full)
	}
	if err := t.ep.World().Barrier(&t.ep.Context); err != nil { // now all ranks have inserted
		return err
	}
	for i := range keys { // the keys of the right neighbour
		key := uint32((me+1)%n*keys + i + 1)
		if v, found, err := t.lookup(key); err != nil || !found || v != key*key {
			return errors.Join(err, fmt.Errorf("dictionary: key %d: found is %v, and its value %d", key, found, v))
		}
	}
	if _, found, err := t.lookup(uint32(n*keys + 1)); err != nil || found {
		return errors.Join(err, fmt.Errorf("dictionary: a key was found that nobody has inserted: %v", found))
	}
	if me == 0 {
		_, err = fmt.Printf("%d keys on %d ranks, and every answer is right\n", n*keys, n)
	}
	return err
}
