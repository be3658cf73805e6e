package sisci

import (
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// LocalInterrupt is an interrupt number of this node that other nodes can trigger.
type LocalInterrupt struct {
	dev    *Device
	number int
	entry  *interruptEntry
	closed bool // guarded by dev.mu
}

// CreateInterrupt takes the interrupt number, or with fixed false the first free one.
//
// Errors: ErrIntnoUsed; ErrIllegalParameter for a number that the node does not have;
// ErrNoSpace if none is free.
func (d *Device) CreateInterrupt(number int, fixed bool) (*LocalInterrupt, error) {
	d.step(callCreate)
	d.mu.Lock()
	defer d.mu.Unlock()
	entries := d.self.dir.interrupts
	used := func(n int) bool { return shm.Load32(&entries[n].state)&1 != 0 }
	switch {
	case d.closed:
		return nil, d.errClosed("create an interrupt")
	case fixed && uint(number) >= uint(len(entries)):
		return nil, ErrIllegalParameter.at("create interrupt %d of %d", number, len(entries))
	case fixed && used(number):
		return nil, ErrIntnoUsed.at("create interrupt %d", number)
	}
	for n := 0; !fixed; n++ {
		if n == len(entries) {
			return nil, ErrNoSpace.at("create an interrupt: all %d numbers are used", n)
		}
		number, fixed = n, !used(n)
	}
	e := &entries[number]
	shm.Store32(&e.pending, 0)
	shm.Swap32(&e.state, shm.Load32(&e.state)+1)
	d.interrupts++
	d.self.dir.notify(&d.self.dir.exports)
	return &LocalInterrupt{dev: d, number: number, entry: e}, nil
}

// retire makes the number free.
func (e *interruptEntry) retire() {
	if s := shm.Load32(&e.state); s&1 != 0 {
		shm.Swap32(&e.state, s+1)
	}
}

// Number returns the interrupt's number.
func (i *LocalInterrupt) Number() int { return i.number }

// Wait returns when the interrupt is or was triggered, and clears it.
//
// Errors: ErrTimeout; ErrCancelled if it is removed meanwhile.
func (i *LocalInterrupt) Wait(timeout time.Duration) error {
	gone := false
	ok := i.dev.waitOwn(&i.dev.self.dir.alarms, timeout, func() bool {
		i.dev.mu.Lock()
		gone = i.closed || i.dev.closed
		i.dev.mu.Unlock()
		return gone || i.Clear()
	})
	switch {
	case gone:
		return ErrCancelled.at("wait for interrupt %d", i.number)
	case !ok:
		return ErrTimeout.at("wait for interrupt %d", i.number)
	}
	return nil
}

// Clear takes a trigger back and reports whether there was one. The node's bell is the
// caller's to silence.
func (i *LocalInterrupt) Clear() bool {
	return shm.Load32(&i.entry.pending) != 0 && shm.Swap32(&i.entry.pending, 0) != 0
}

// Remove gives the number back.
//
// Errors: ErrIllegalOperation if that was done.
func (i *LocalInterrupt) Remove() error {
	d := i.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if i.closed || d.closed {
		return ErrIllegalOperation.at("remove interrupt %d: it has been removed", i.number)
	}
	i.closed = true
	d.interrupts--
	i.entry.retire()
	d.self.dir.notify(&d.self.dir.alarms)
	return nil
}

// RemoteInterrupt is a connection to an interrupt of another node, or of this one.
type RemoteInterrupt struct {
	dev    *Device
	peer   *peer
	number int
	state  uint32 // of the entry when it was connected
	closed atomic.Bool
}

// ConnectInterrupt connects to an interrupt of a node, trying again until the timeout
// while it does not exist or the node does not answer.
//
// Errors: ErrNoSuchNodeid; ErrNoSuchIntno or ErrNodeNotResponding with a timeout of 0, else
// ErrTimeout; ErrNoSuchIntno for a number that the node does not have; ErrNoLinkAccess and ErrNoRemoteLinkAccess as for
// Connect.
func (d *Device) ConnectInterrupt(node NodeID, number int, timeout time.Duration) (*RemoteInterrupt, error) {
	d.step(callConnect)
	d.mu.Lock()
	p, err := d.peer(node, "connect to node")
	if err == nil && uint(number) >= uint(len(p.dir.interrupts)) {
		err = ErrNoSuchIntno.at("connect to interrupt %d of node %d, which has %d", number, node, len(p.dir.interrupts))
	}
	if err == nil {
		d.waiting++
	}
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r := &RemoteInterrupt{dev: d, peer: p, number: number}
	why := ErrNoSuchIntno
	d.wait(p.dir, &p.dir.exports, timeout, func() bool {
		if why = d.ask(p); why != 0 {
			return !passing(why)
		}
		if r.state = shm.Load32(&p.dir.interrupts[number].state); r.state&1 == 0 {
			why = ErrNoSuchIntno
		}
		return why == 0
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting--
	switch {
	case timeout != 0 && passing(why):
		return nil, ErrTimeout.at("connect to interrupt %d of node %d: %v", number, node, why)
	case why != 0:
		return nil, why.at("connect to interrupt %d of node %d", number, node)
	}
	d.interrupts++
	return r, nil
}

// Trigger triggers the interrupt and rings the node's bell. It never blocks.
//
// Errors: ErrNotConnected if the owner has removed it; ErrNoLinkAccess and
// ErrNoRemoteLinkAccess.
func (r *RemoteInterrupt) Trigger() error {
	fail := func(e Errno) error { return e.at("trigger interrupt %d of node %d", r.number, r.peer.Node) }
	if r.closed.Load() {
		return fail(ErrNotConnected)
	}
	if e := r.peer.access(); e != 0 {
		return fail(e)
	}
	e := &r.peer.dir.interrupts[r.number]
	if shm.Load32(&e.state) != r.state {
		return fail(ErrNotConnected)
	}
	if h := r.dev.host; h != nil {
		return h.trigger(r)
	}
	shm.Swap32(&e.pending, 1)
	r.peer.dir.notify(&r.peer.dir.alarms)
	if r.peer.Bell >= 0 {
		shm.Ring(r.peer.Bell)
	}
	return nil
}

// Disconnect ends the connection.
//
// Errors: ErrIllegalOperation if that was done.
func (r *RemoteInterrupt) Disconnect() error {
	if r.closed.Swap(true) {
		return ErrIllegalOperation.at("disconnect interrupt %d of node %d: it is not connected", r.number, r.peer.Node)
	}
	r.dev.mu.Lock()
	defer r.dev.mu.Unlock()
	r.dev.interrupts--
	return nil
}
