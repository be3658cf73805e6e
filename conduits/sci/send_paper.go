package sci

import (
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Reserve implements core.Conduit. A request takes a free place of the peer's command
// segment; the reply to request r takes place r+pairs of the requester's.
func (c *paper) Reserve(op *core.Op) core.Result {
	p := c.byRank[op.Dst]
	number, l := int(op.Slot)+pairs, replies
	if !op.Hdr.Reply() {
		l = requests
		if number = p.place(); number < 0 {
			return core.NoRoom
		}
	}
	op.Data = nil
	m := (*command)(p.cmd.Ptr(number * commandSize))
	if op.Len > 0 {
		switch op.Hdr.Kind() {
		case core.Medium:
			op.Data = m.payload[:op.Len]
		case core.Long:
			if !byDMA(op.Len) {
				op.Data = c.longWindow(p.remote, op.Off, op.Len)
			} else if op.Data = c.staging[l].take(op.Off, op.Len); op.Data == nil {
				return core.NoRoom
			}
		}
	}
	if l == requests {
		p.used.Or(1 << number)
	}
	op.Slot = uint64(number)
	op.Args = &m.args
	return core.Reserved
}

// place returns the number of a free request place, or -1.
func (p *paperPeer) place() int {
	const all = 1<<pairs - 1
	if p.used.Load() == all {
		p.waits.Store(true)
		if p.used.Load() == all {
			return -1
		}
	}
	p.waits.Store(false)
	return bits.TrailingZeros32(^p.used.Load())
}

// take returns staging memory whose alignment is that of the destination, or nil if it is
// in use.
func (s *staging) take(off uint64, n int) []byte {
	if s.busy.Load() {
		s.waits.Store(true)
		if s.busy.Load() {
			return nil
		}
	}
	s.waits.Store(false)
	s.busy.Store(true)
	at := int(off & (dmaUnit - 1))
	return s.mem[at : at+n]
}

// Commit implements core.Conduit: the payload and the header, each until it is certain to
// have arrived, then the message ready flag, then the message exist flag.
func (c *paper) Commit(op *core.Op) {
	p := c.byRank[op.Dst]
	m := commandOf(op.Args)
	m.hdr, m.size, m.more, m.pointer = op.Hdr, uint16(op.Len), uint16(op.Len>>16), uint32(op.Off)
	flag := flagOf(op.Hdr.Kind())
	if !c.send(p, m, op) {
		flag = flagNone
	}
	if op.Hdr.Reply() {
		// The requester may reuse the request's place as soon as it has the reply, but its
		// handler here still reads it: the reply is announced when the handler has returned.
		c.reply = flag
		return
	}
	// Hand the place over to whoever takes it after the answer.
	p.used.Or(0)
	c.raise(p, int(op.Slot), flag)
}

// send brings everything but the flags to the peer. It reports whether that is certain to
// have arrived; if not, the job has failed.
func (c *paper) send(p *paperPeer, m *command, op *core.Op) bool {
	number := int(op.Slot)
	staged := op.Hdr.Kind() == core.Long && byDMA(len(op.Data))
	if staged {
		defer c.stagingOf(op).free(c.bell)
	}
	behind := 0 // bytes of payload behind the header
	switch {
	case op.Len == 0:
	case op.Hdr.Kind() == core.Medium:
		behind = op.Len
	case byDMA(op.Len):
		head, tail := ragged(op.Off, op.Len)
		copy(m.payload[:head], op.Data[:head])
		copy(m.payload[head:head+tail], op.Data[op.Len-tail:op.Len])
		if !c.transfer(p, c.stagingOf(op), op, head, tail) {
			return false
		}
		behind = head + tail
	default:
		if staged { // less is sent than was reserved
			copy(c.longWindow(p.remote, op.Off, op.Len), op.Data[:op.Len])
		}
		if q := c.longSequence(p, number); q == nil || !c.ensure(p, q, int(op.Off), op.Len) {
			return false
		}
	}
	q, at := p.toCmd[number], number*commandSize
	return c.ensure(p, q, at, headerSize) && (behind == 0 || c.ensure(p, q, at+headerSize, behind))
}

// attempts is how often a transfer is tried. Passing faults need a few; after so many the
// peer or the link to it is taken for lost.
const attempts = 1000

// ensure sends the n bytes that were stored at off until a sequence says that they have
// arrived. Nothing of them may be announced before.
func (c *paper) ensure(p *paperPeer, q *sisci.Sequence, off, n int) bool {
	started := false
	for range attempts {
		if !started && q.Start() != sisci.OK {
			continue
		}
		q.Push(off, n)
		status := q.Check()
		if status == sisci.OK {
			return true
		}
		started = status == sisci.Retriable
	}
	c.unreached(p.remote, q.Status())
	return false
}

// longSequence returns what watches the stores of a message to the peer's long segment, or
// nil after a failure.
func (c *paper) longSequence(p *paperPeer, number int) *sisci.Sequence {
	if p.toLong[number] != nil {
		return p.toLong[number]
	}
	m := c.longMap(p.remote)
	if m == nil {
		return nil
	}
	q, err := m.CreateSequence()
	if err != nil {
		c.unreached(p.remote, err)
		return nil
	}
	p.toLong[number] = q
	return q
}

// stagingOf returns the staging memory of the message's lane.
func (c *paper) stagingOf(op *core.Op) *staging {
	if op.Hdr.Reply() {
		return &c.staging[replies]
	}
	return &c.staging[requests]
}

// free gives the staging memory back.
func (s *staging) free(bell int) {
	s.busy.Store(false)
	if s.waits.Load() {
		shm.Ring(bell)
	}
}

// transfer brings a Long's payload from the staging memory to its place by DMA, apart from
// the unaligned ends, which the receiver copies out of the command. (Moving the start back
// to an aligned address, as the first version of the published conduit did, overwrites
// bytes before the destination.)
func (c *paper) transfer(p *paperPeer, s *staging, op *core.Op, head, tail int) bool {
	long := c.longMap(p.remote)
	if long == nil {
		return false
	}
	from, to := int(op.Off&(dmaUnit-1))+head, int(op.Off)+head
	var state sisci.DMAState
	for range attempts {
		err := s.queue.Enqueue(s.seg, from, long.Segment(), to, op.Len-head-tail, 0)
		if err == nil {
			err = s.queue.Post(nil)
		}
		if err == nil {
			state, err = s.queue.Wait(sisci.Forever)
		}
		if err == nil {
			err = s.queue.Reset()
		}
		if err != nil {
			c.unreached(p.remote, err)
			return false
		}
		if state == sisci.DMADone {
			return true
		}
	}
	c.unreached(p.remote, state)
	return false
}

// raise makes message number known to the peer: its ready flag, then the exist flag. Flags
// are posted once and in no sequence: a flag that is stored again could be a second
// message.
func (c *paper) raise(p *paperPeer, number int, flag uint8) {
	if flag == flagNone { // the job has failed
		return
	}
	p.flags.Store8(mrf(c.me, number), flag)
	mef := perPeer * len(c.group)
	if c.fenced {
		p.flags.StoreFenced8(mef, 1)
	} else {
		p.flags.Store8(mef, 1)
	}
	c.wake(p.index)
}

// commandOf returns the command that holds the arguments.
func commandOf(args *[core.MaxArgs]uint32) *command {
	return (*command)(unsafe.Add(unsafe.Pointer(args), -int(unsafe.Offsetof(command{}.args))))
}
