package sisci

import (
	"iter"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// A connection is one word in the directory of the segment's owner, 0 while it is free:
//
//	| slot of the segment 24 | importing node 16 | importer's serial number 16 | flags 8 |
//
//	importer  0 → key|live            connect (compare-and-swap: a full barrier)
//	owner     key|live → |told        the owner has had its CONNECT event
//	owner     key|live… → |asked      the owner wants the importer to disconnect
//	owner     key|live… → |forced     the owner has broken the connection
//	importer  live → 0, or            disconnect
//	          live|told → told        … and the owner is due a DISCONNECT event
//	owner     told → 0                the owner has had it
//
// So the table is its own queue of events: nothing piles up, however often others connect
// and whether or not the owner looks. An importer that connects and goes before the owner
// looks was never there.
//
// Connecting and making unavailable race like Dekker's flags. The importer claims a word
// and then looks whether the segment is still available; the owner makes it unavailable
// and then looks for connections; both have a full barrier between, so at least one of
// them notices.
const (
	live uint64 = 1 << iota
	told
	asked
	forced

	flagMask = 0xff
)

func connectionKey(slot int, node NodeID, serial uint16) uint64 {
	return uint64(slot)<<40 | uint64(node)<<24 | uint64(serial)<<8
}

func slotOf(w uint64) int    { return int(w >> 40) }
func nodeOf(w uint64) NodeID { return NodeID(w >> 24) }

// intact reports that the connection with this key is made and not broken. One load: the
// test that every check of a sequence makes.
func intact(conn *uint64, key uint64) bool {
	return shm.Load64(conn)&^(told|asked) == key|live
}

// claim makes a connection and returns its word, or nil if the table is full. Probing
// begins at a place of the node's own, so that nodes seldom collide.
func (d *directory) claim(key uint64) *uint64 {
	if d.host != nil {
		return d.host.claim(key)
	}
	table := d.connections[0]
	n := len(table)
	for i := range n {
		c := &table[(int(nodeOf(key))*3+i)%n]
		if shm.Load64(c) == 0 && atomic.CompareAndSwapUint64(c, 0, key|live) {
			return c
		}
	}
	return nil
}

// words yields all connection words.
func (d *directory) words() iter.Seq[*uint64] {
	return func(yield func(*uint64) bool) {
		for _, table := range d.connections {
			for i := range table {
				if !yield(&table[i]) {
					return
				}
			}
		}
	}
}

// update replaces a connection word w by f(w), unless f declines, and returns w.
func update(conn *uint64, f func(w uint64) (v uint64, ok bool)) (w uint64, ok bool) {
	for {
		w = shm.Load64(conn)
		v, ok := f(w)
		if !ok {
			return w, false
		}
		if atomic.CompareAndSwapUint64(conn, w, v) {
			return w, true
		}
	}
}

// release ends a connection from the importer's side. A word that is no longer the
// importer's (its node was given up as lost) is left alone.
func release(conn *uint64, key uint64) {
	update(conn, func(w uint64) (uint64, bool) {
		if w&^flagMask != key || w&live == 0 {
			return 0, false
		}
		return left(w), true
	})
}

// left is a live word after the importer has gone.
func left(w uint64) uint64 {
	if w&told == 0 {
		return 0
	}
	return w &^ (flagMask &^ told)
}

// mark sets a flag in every live connection to the slot and returns the importing nodes.
func (d *directory) mark(slot int, flag uint64) (nodes []NodeID) {
	for c := range d.words() {
		w, ok := update(c, func(w uint64) (uint64, bool) {
			return w | flag, w&live != 0 && slotOf(w) == slot
		})
		if ok {
			nodes = append(nodes, nodeOf(w))
		}
	}
	return nodes
}

// drop ends every connection of a node that is lost.
func (d *directory) drop(node NodeID) {
	for c := range d.words() {
		update(c, func(w uint64) (uint64, bool) {
			return left(w), w&live != 0 && nodeOf(w) == node
		})
	}
}

// next takes the next change that the owner of the slot has not been told.
func (d *directory) next(slot int) (node NodeID, connected, ok bool) {
	for c := range d.words() {
		w, ok := update(c, func(w uint64) (uint64, bool) {
			switch {
			case slotOf(w) != slot || w&(live|told) == live|told:
				return 0, false
			case w&live != 0:
				return w | told, true
			}
			return 0, w&told != 0
		})
		if ok {
			return nodeOf(w), w&live != 0, true
		}
	}
	return 0, false, false
}

// forget frees the connections to the slot that are over but were not asked for.
func (d *directory) forget(slot int) {
	for c := range d.words() {
		update(c, func(w uint64) (uint64, bool) {
			return 0, w != 0 && w&live == 0 && slotOf(w) == slot
		})
	}
}

// connected counts the live connections to the slot.
func (d *directory) connected(slot int) (n int) {
	for c := range d.words() {
		if w := shm.Load64(c); w&live != 0 && slotOf(w) == slot {
			n++
		}
	}
	return n
}
