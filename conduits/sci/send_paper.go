package sci

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Reserve implements core.Conduit. A request takes a free place of the peer's command
// segment; the reply to request r takes place r+pairs of the requester's.
func (c *paper) Reserve(op *core.Op) core.Result {
	p := c.peer(op.Dst)
	if p == nil {
		return c.reserveNothing(op)
	}
	number, l := int(op.Slot)+pairs, replies
	if !op.Hdr.Reply() {
		l = requests
		c.model.slot()
		if number = p.place(); number < 0 {
			return core.NoRoom
		}
	}
	op.Data = nil
	if op.Len > 0 && op.Hdr.Kind() == core.Long {
		if !byDMA(op.Len) {
			op.Data = c.longWindow(p.remote, op.Off, op.Len)
		} else if op.Data = c.stage(l, op); op.Data == nil {
			return core.NoRoom
		}
	}
	m := p.command(number)
	if op.Len > 0 && op.Hdr.Kind() == core.Medium {
		op.Data = unsafe.Slice((*byte)(unsafe.Add(m, headerSize)), op.Len)
	}
	if l == requests {
		p.used.Or(1 << number)
	}
	op.Slot = uint64(number)
	op.Args = (*[core.MaxArgs]uint32)(unsafe.Add(m, unsafe.Offsetof(command{}.args)))
	return core.Reserved
}

// reserveNothing answers Reserve when the peer cannot be connected, and the job has failed: a
// reply gets memory that nobody looks at.
func (c *paper) reserveNothing(op *core.Op) core.Result {
	if !op.Hdr.Reply() {
		return core.NoRoom
	}
	op.Args, op.Data = new([core.MaxArgs]uint32), make([]byte, op.Len)
	return core.Reserved
}

// stage returns staging memory for a Long, or nil if it is in use.
func (c *paper) stage(l lane, op *core.Op) []byte {
	s := &c.staging[l]
	if s.mem == nil {
		if err := c.openStaging(l); err != nil {
			c.port.Fail(fmt.Errorf("sci: rank %d: make memory for DMA: %w", c.group[c.me], err))
			return make([]byte, op.Len)
		}
	}
	return s.take(op.Off, op.Len)
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
	p := c.byRank.At(int(op.Dst))
	if p.cmd == nil { // see reserveNothing
		return
	}
	m := commandOf(op.Args)
	c.model.build()
	m.hdr, m.size, m.more, m.pointer = op.Hdr, uint16(op.Len), uint16(op.Len>>16), uint32(op.Off)
	if c.control.firstUse {
		m.number = uint32(p.number)
	}
	flag := flagOf(op.Hdr.Kind())
	if !c.send(p, m, op) {
		flag = flagNone
	}
	p.cmd.Close(int(op.Slot) * commandSize)
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
	long := op.Hdr.Kind() == core.Long
	staged := long && byDMA(len(op.Data))
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
			staged = false
		}
		if q := c.longSequence(p, number); q == nil || !c.ensure(p, q, int(op.Off), op.Len, 0) {
			return false
		}
	}
	if long && !staged && len(op.Data) > 0 {
		p.closeWindow(op.Off)
	}
	q, first := c.commandSequence(p, number), headerSize
	if c.copied && behind > 0 { // one copy, one transfer
		c.model.copied(behind)
		first, behind = headerSize+behind, 0
	}
	return q != nil && c.ensure(p, q, number*commandSize, first, behind)
}

// ensure sends what was stored at off, n bytes and then, as a transfer of its own that overlaps
// the first, more bytes behind them, until a sequence says that all has arrived. Nothing of it
// may be announced before.
func (c *paper) ensure(p *paperPeer, q *sisci.Sequence, off, n, more int) bool {
	started := false
	for range sisci.Attempts {
		if !started && !q.Insist() {
			break
		}
		q.Push(off, n)
		if more > 0 {
			q.Push(off+n, more)
		}
		status := q.Check()
		if status == sisci.OK {
			return true
		}
		started = status == sisci.Retriable
	}
	c.unreached(p.remote, q.Status())
	return false
}

// commandSequence returns what watches the stores of a message to the peer's command segment,
// or nil after a failure.
func (c *paper) commandSequence(p *paperPeer, number int) *sisci.Sequence {
	if p.toCmd[number] == nil {
		q, err := p.cmd.CreateSequence()
		if err != nil {
			c.unreached(p.remote, err)
			return nil
		}
		p.toCmd[number] = q
	}
	return p.toCmd[number]
}

// longSequence returns what watches the stores of a message to the peer's long segment, or
// nil after a failure.
func (c *paper) longSequence(p *paperPeer, number int) *sisci.Sequence {
	qs := p.toLong.Load()
	if qs == nil { // messages in different places may be the first at the same time
		p.toLong.CompareAndSwap(nil, new([perPeer]*sisci.Sequence))
		qs = p.toLong.Load()
	}
	if qs[number] != nil {
		return qs[number]
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
	qs[number] = q
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
	if s.waits.Load() && bell >= 0 {
		shm.Ring(bell)
	}
}

// transfer brings a Long's payload from the staging memory to its place by DMA, apart from
// the unaligned ends, which the receiver copies out of the command. (Moving the start back
// to an aligned address, as the first version of the published conduit did, overwrites
// bytes before the destination.)
func (c *paper) transfer(p *paperPeer, s *staging, op *core.Op, head, tail int) bool {
	c.model.copied(op.Len)
	long := c.longMap(p.remote)
	if long == nil {
		return false
	}
	from, to, left := int(op.Off&(dmaUnit-1))+head, int(op.Off)+head, op.Len-head-tail
	size := min(left, s.most)
	for failed := 0; left > 0; {
		n := min(size, left)
		state, err := s.move(from, long.Segment(), to, n)
		switch {
		case err != nil:
			c.unreached(p.remote, err)
			return false
		case state == sisci.DMADone:
			from, to, left = from+n, to+n, left-n
			continue
		}
		if failed++; failed == sisci.Attempts {
			c.unreached(p.remote, state)
			return false
		}
		size = shorter(n)
	}
	return true
}

// shorter returns the size that a transfer is tried with after one of n bytes has failed: a
// shorter one fails less likely.
func shorter(n int) int { return max(n/2&^(dmaUnit-1), min(n, dmaLeast)) }

// post has the engine begin one transfer.
func (s *staging) post(src *sisci.LocalSegment, from int, to *sisci.RemoteSegment, at, n int) error {
	if err := s.queue.Enqueue(src, from, to, at, n, 0); err != nil {
		return err
	}
	return s.queue.Post(nil)
}

// move carries out one transfer and returns the state that the queue came to.
func (s *staging) move(from int, to *sisci.RemoteSegment, at, n int) (sisci.DMAState, error) {
	if err := s.post(s.seg, from, to, at, n); err != nil {
		return 0, err
	}
	state, err := s.queue.Wait(sisci.Forever)
	if err != nil {
		return 0, err
	}
	return state, s.queue.Reset()
}

// raise makes message number known to the peer: its ready flag, then the exist flag. Flags
// are posted once and in no sequence: a flag that is stored again could be a second
// message.
func (c *paper) raise(p *paperPeer, number int, flag uint8) {
	if flag == flagNone { // the job has failed
		return
	}
	if c.model != nil {
		c.raiseModelled(p, number, flag)
		return
	}
	p.ready.Publish8(int(p.mrf)+number, flag)
	if c.fenced {
		p.flags.StoreFenced8(c.control.exist, 1)
	} else {
		p.flags.Publish8(c.control.exist, 1)
	}
	c.wake(int(p.index))
}

// raiseModelled is raise under a model, where there may be a summary flag and nobody sleeps.
func (c *paper) raiseModelled(p *paperPeer, number int, flag uint8) {
	p.ready.Note8(int(p.mrf)+number, flag)
	if c.control.bank > 0 {
		p.ready.Note8(int(p.summary), 1)
	}
	p.flags.Store8(c.control.exist, 1)
}

// command returns where to make message number for the peer: its memory, or under a model a
// window of it. It is no *command, since to take the address of a field of one is a load, for
// the check against nil, of a cache line that the peer has.
func (p *paperPeer) command(number int) unsafe.Pointer {
	if p.out != nil {
		return unsafe.Add(p.out, number*commandSize)
	}
	return unsafe.Pointer(unsafe.SliceData(p.cmd.Window(number*commandSize, commandSize)))
}

// received returns message number of the peer, in own memory, or nil if it has none there.
func (p *paperPeer) received(number int) *command {
	if p.in != nil {
		return &p.in[number]
	}
	if p.places == nil {
		return nil
	}
	return (*command)(unsafe.Pointer(unsafe.SliceData(p.places.Block(number*commandSize, commandSize))))
}

// commandOf returns the command that holds the arguments.
func commandOf(args *[core.MaxArgs]uint32) *command {
	return (*command)(unsafe.Add(unsafe.Pointer(args), -int(unsafe.Offsetof(command{}.args))))
}
