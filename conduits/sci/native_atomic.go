package sci

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
)

// AtomicOps implements core.Atomics: all that is an addition to a word of 32 bits, if the
// adapters fetch and add. It is nothing on machines that lose answers, because nobody knows
// then whether an addition was done, and it cannot be repeated.
func (c *modelled) AtomicOps(t core.ElementType) core.AtomicOp {
	p := c.model.profile
	integer := t == core.ElementInt32 || t == core.ElementUint32
	if !integer || !p.Lock.FetchAdd || p.Error.Lost > 0 {
		return 0
	}
	const plain = core.AtomicAdd | core.AtomicSub | core.AtomicInc | core.AtomicDec
	return plain | plain<<core.FetchShift | core.AtomicGet
}

// Atomic implements core.Atomics. It is a load, so the processor stalls until it is done. The
// rank's own segment is reached by the adapter too: additions of its processor would not be
// atomic to those of adapters.
func (c *modelled) Atomic(a *core.Atomic) core.Result {
	if a.Op&c.AtomicOps(a.Type) == 0 {
		return core.Declined
	}
	if c.failed {
		return core.NoRoom
	}
	c.model.looked()
	peer := c.peerOf(a.Rank)
	lock := c.lockMap(peer)
	if lock == nil {
		return c.fail()
	}
	v, _ := core.Addend(a.Op.Plain(), uint32(a.A)) // nothing for AtomicGet
	before, ok := c.fetchAdd(peer, lock, int(a.Off), v)
	if !ok {
		return c.fail()
	}
	if a.Fetched != nil {
		binary.NativeEndian.PutUint32(a.Fetched, before)
	}
	return core.Completed
}

// fetchAdd does an addition, again as long as it is refused. It reports false after a failure.
func (c *modelled) fetchAdd(peer *remote, lock *sisci.RemoteMap, off int, v uint32) (before uint32, ok bool) {
	status := sisci.Retriable
	for n := 0; n < sisci.Attempts && status == sisci.Retriable; n++ {
		var err error
		if before, status, err = lock.FetchAdd(off, v); err != nil {
			c.unreached(peer, err)
			return 0, false
		}
	}
	if status == sisci.OK {
		return before, true
	}
	c.unreached(peer, "a fetch-and-add has no answer; nobody knows whether it was done")
	return 0, false
}

// lockMap returns the map of the peer's segment through which its adapter adds, made at the
// first use, or nil after a failure.
func (c *modelled) lockMap(peer *remote) *sisci.RemoteMap {
	t := c.targets.At(int(peer.rank))
	if t.lock != nil {
		return t.lock
	}
	long := c.longMap(peer)
	if long == nil {
		return nil
	}
	var err error
	if t.lock, err = long.Segment().Map(0, c.sizes[peer.rank], sisci.LockOperation); err != nil {
		c.unreached(peer, err)
	}
	return t.lock
}
