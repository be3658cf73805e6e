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

// Commit implements core.Conduit: the payload, then the header, then the message ready
// flag, then the message exist flag, in this order.
func (c *paper) Commit(op *core.Op) {
	p := c.byRank[op.Dst]
	m := commandOf(op.Args)
	m.hdr, m.size, m.more = op.Hdr, uint16(op.Len), uint16(op.Len>>16)
	if op.Hdr.Kind() == core.Long {
		m.pointer = uint32(op.Off)
		if len(op.Data) > 0 && byDMA(len(op.Data)) {
			l := requests
			if op.Hdr.Reply() {
				l = replies
			}
			c.sendStaged(p, m, op, &c.staging[l])
		}
	}
	at := int(op.Slot) * commandSize
	p.cmd.Push(at, headerSize)
	if op.Hdr.Kind() == core.Medium && op.Len > 0 {
		p.cmd.Push(at+headerSize, op.Len)
	}
	if op.Hdr.Reply() {
		// The requester may reuse the request's place as soon as it has the reply, but its
		// handler here still reads it: the reply is announced when the handler has returned.
		c.reply = flagOf(op.Hdr.Kind())
		return
	}
	c.raise(p, int(op.Slot), flagOf(op.Hdr.Kind()))
}

// sendStaged brings a Long's payload from the staging memory to its place by DMA, apart
// from unaligned ends, which the receiver copies out of the command. (Moving the start
// back to an aligned address, as the first version of the published conduit did,
// overwrites bytes before the destination.)
func (c *paper) sendStaged(p *paperPeer, m *command, op *core.Op, s *staging) {
	head, tail := ragged(op.Off, op.Len)
	if !byDMA(op.Len) { // less was committed than reserved
		copy(c.longWindow(p.remote, op.Off, op.Len), op.Data[:op.Len])
	} else {
		copy(m.payload[:head], op.Data[:head])
		copy(m.payload[head:head+tail], op.Data[op.Len-tail:op.Len])
		from := int(op.Off&(dmaUnit-1)) + head
		c.transfer(p, s, from, int(op.Off)+head, op.Len-head-tail)
		p.cmd.Push(int(op.Slot)*commandSize+headerSize, head+tail)
	}
	s.busy.Store(false)
	if s.waits.Load() {
		shm.Ring(c.bell)
	}
}

// transfer moves n bytes of the staging memory to the peer's segment and waits for the DMA
// engine.
func (c *paper) transfer(p *paperPeer, s *staging, from, to, n int) {
	long := c.longMap(p.remote)
	if long == nil {
		return
	}
	err := s.queue.Enqueue(s.seg, from, long.Segment(), to, n, 0)
	if err == nil {
		err = s.queue.Post(nil)
	}
	if err == nil {
		_, err = s.queue.Wait(sisci.Forever)
	}
	if err == nil {
		err = s.queue.Reset()
	}
	if err != nil {
		c.fault(p.remote, "%v", err)
	}
}

// raise makes message number known to the peer: its ready flag, then the exist flag.
func (c *paper) raise(p *paperPeer, number int, flag uint8) {
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
