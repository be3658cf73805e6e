package extended

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// The engine carries out the schedules of collective calls (package coll): many at a time,
// whatever the rank waits for meanwhile. A handler notes what has arrived; if that lets a
// call go on, it engages the team, and the poll that ran the handler has the team advance.

// engage has the team advance after this poll. It runs where handlers run.
func (ep *Endpoint) engage(t *Team) {
	if !t.engaged {
		t.engaged = true
		ep.engaged = append(ep.engaged, t)
		ep.core.Kick()
	}
}

// advance lets every engaged team go on; those that lack room stay engaged. It returns how
// much was done.
func (ep *Endpoint) advance(c *core.Context) (did int) {
	teams := ep.engaged
	ep.engaged = ep.spare[:0]
	ep.core.Unkick()
	for i, t := range teams {
		t.engaged = false
		did += t.disseminate(c) + t.calls.advance(c)
		teams[i] = nil
	}
	ep.spare = teams
	return did + ep.sendConfirmations(c)
}

// later handles a send that failed: without room, the team tries again at the next poll.
func (t *Team) later(err error) {
	if errors.Is(err, core.ErrNoRoom) {
		t.ep.engage(t)
	} else {
		t.ep.core.Fail(err)
	}
}

// calls are a team's collective calls. They are numbered as they are begun.
type calls struct {
	team  *Team
	first uint32  // the oldest call that is not over
	next  uint32  // the next to be begun
	ring  []*call // by number modulo its length, a power of two; nil: over

	ready []*call // got what they waited for
	held  []*call // lack room, credit or scratch memory
	spare []*call // what held was before, for reuse
	retry bool    // one of those held may go on now
	full  bool    // there was no room for a message in this round

	early  map[uint32]*early // messages of calls that this rank has not begun, by call
	unused *early
	free   *call
	loans  loans
	space  arena  // shared scratch memory of calls, in this team's piece
	asked  uint32 // tickets for it that were given out
	served uint32 // and that were served
	plans  plans
	said   []signature // debug mode: of the latest calls, by number modulo the length
}

func (s *calls) init(t *Team) {
	s.team = t
	s.ring = make([]*call, 4)
	if t.ep.debug {
		s.said = make([]signature, 1<<8)
	}
	s.loans.Init(len(t.members))
}

func (s *calls) underWay() int { return int(s.next - s.first) }

// at returns a call that has been begun and is not over, else nil.
func (s *calls) at(seq uint32) *call {
	if seq-s.first >= s.next-s.first {
		return nil
	}
	return s.ring[seq&uint32(len(s.ring)-1)]
}

// call is one collective call of this rank.
type call struct {
	seq      uint32
	plan     *plan
	op       *operation // its event
	src, dst []byte
	tmp      []byte
	combine  func(dst, src []byte)
	says     signature

	step    int      // the next step
	sent    int      // bytes of it that have been sent
	left    []int    // by message to receive: bytes still to come, at first 1 for a signal
	queued  bool     // it, or what it was before it was recycled, is among calls.ready
	held    bool     // and among calls.held
	ticket  uint32   // for scratch memory, while it has none
	scratch extent   // this rank's shared scratch
	base    []uint32 // by team rank: offset of its piece of its scratch
	next    *call    // on the free list
}

// keepTmp is how much private scratch a recycled call keeps.
const keepTmp = 64 << 10

// begin starts a call: it carries out as much as can be done at once. It runs where
// handlers run. op gets one pending until the call is over.
func (s *calls) begin(c *core.Context, p *plan, op *operation, dst, src []byte, combine func(dst, src []byte), says signature) {
	x := s.free
	if x == nil {
		x = new(call)
	} else {
		s.free, x.next = x.next, nil
	}
	x.seq, x.plan, x.op, x.dst, x.src, x.combine, x.says = s.next, p, op, dst, src, combine, says
	x.step, x.sent = 0, 0
	x.left = append(x.left[:0], p.left...)
	if n := p.Tmp; n > cap(x.tmp) {
		x.tmp = make([]byte, n)
	} else {
		x.tmp = x.tmp[:n]
	}
	if p.shm > 0 && len(x.base) == 0 {
		x.base = make([]uint32, len(s.team.members))
	}
	if p.Shm > 0 {
		x.ticket = s.asked
		s.asked++
	}
	if s.team.ep.debug {
		s.said[s.next%uint32(len(s.said))] = says
	}
	op.pending.Add(1)
	s.push(x)
	s.replay(x)
	s.run(c, x)
}

// push makes a call the newest.
func (s *calls) push(x *call) {
	if s.next-s.first == uint32(len(s.ring)) {
		old := s.ring
		s.ring = make([]*call, 2*len(old))
		for seq := s.first; seq != s.next; seq++ {
			s.ring[seq&uint32(len(s.ring)-1)] = old[seq&uint32(len(old)-1)]
		}
	}
	s.ring[s.next&uint32(len(s.ring)-1)] = x
	s.next++
}

// advance lets calls go on that can.
func (s *calls) advance(c *core.Context) (did int) {
	s.full = false
	for _, x := range s.ready {
		x.queued = false
		did += s.run(c, x)
	}
	s.ready = s.ready[:0]
	if !s.retry {
		return did
	}
	s.retry = false
	held := s.held
	s.held = s.spare[:0]
	for i, x := range held {
		if s.full { // no room: those behind try at the next poll
			s.held = append(s.held, held[i:]...)
			s.retry = true
			break
		}
		x.held = false
		did += s.run(c, x)
	}
	clear(held)
	s.spare = held
	return did
}

// hold keeps a call that lacks something until retry is set.
func (s *calls) hold(x *call) {
	if !x.held {
		x.held = true
		s.held = append(s.held, x)
	}
}

// again has the calls that lack something try again.
func (s *calls) again() {
	if len(s.held) > 0 {
		s.retry = true
		s.team.ep.engage(s.team)
	}
}

// run does the steps of a call up to one that must wait, and returns how many. It may be
// called at any time.
func (s *calls) run(c *core.Context, x *call) (did int) {
	p := x.plan
	if p == nil {
		return 0 // it is over
	}
	if p.Shm > 0 && x.scratch.n == 0 && !s.takeScratch(x) {
		s.hold(x)
		return 0
	}
	for ; x.step < len(p.Steps); x.step++ {
		step := &p.Steps[x.step]
		switch step.Kind {
		case coll.Send:
			if !s.send(c, x, step) {
				s.hold(x)
				return did
			}
		case coll.Await:
			if x.left[step.Msg] != 0 {
				return did
			}
		case coll.Copy:
			copy(s.memory(x, step.To), s.memory(x, step.From))
		case coll.Combine:
			x.combine(s.memory(x, step.To), s.memory(x, step.From))
		}
		did++
	}
	s.end(x)
	return did + 1
}

// takeScratch gives a call its shared scratch memory, in the order of calls, so that a
// large one is not overtaken for ever and members do not wait for each other.
func (s *calls) takeScratch(x *call) bool {
	if x.ticket != s.served {
		return false
	}
	var ok bool
	if x.scratch, ok = s.space.take(x.plan.Shm); ok {
		s.served++
		s.again()
	}
	return ok
}

// end recycles a call that is over and tells its operation.
func (s *calls) end(x *call) {
	s.ring[x.seq&uint32(len(s.ring)-1)] = nil
	for s.first != s.next && s.ring[s.first&uint32(len(s.ring)-1)] == nil {
		s.first++
	}
	if x.scratch.n > 0 {
		s.space.give(x.scratch)
		s.again()
	}
	if x.seq-s.first >= 1<<31 { // another is the oldest now, which may send more
		s.again()
	}
	op := x.op
	x.plan, x.op, x.dst, x.src, x.combine = nil, nil, nil, nil, nil
	x.scratch = extent{}
	if cap(x.tmp) > keepTmp {
		x.tmp = nil
	}
	x.next, s.free = s.free, x
	s.team.ep.finish(op, 1)
}

// memory returns a span of a call's buffers.
func (s *calls) memory(x *call, span coll.Span) []byte {
	switch span.Buf {
	case coll.Src:
		return x.src[span.Off:][:span.Len]
	case coll.Dst:
		return x.dst[span.Off:][:span.Len]
	case coll.Tmp:
		return x.tmp[span.Off:][:span.Len]
	}
	t := s.team
	base := x.base[span.Rank]
	if span.Rank == t.self {
		base = t.scratchAt(x.scratch)
	}
	owner := t.members[span.Rank]
	return t.ep.whole.of(owner)[t.ep.SegmentSize(owner)+int(base)+span.Off:][:span.Len]
}

// send sends what is left of a step's message; it reports whether all has gone.
func (s *calls) send(c *core.Context, x *call, step *coll.Step) bool {
	t := s.team
	dst := t.members[step.Peer]
	data := s.memory(x, step.From)
	loan := s.loans.At(step.Peer)
	which := newerCalls
	if x.seq == s.first {
		which = oldestCall
	}
	for {
		if loan.lent[which] >= lendingWindow {
			return false // until a confirmation comes
		}
		part := data[x.sent:min(len(data), x.sent+t.ep.piece.coll)]
		m := core.Message{Kind: core.Medium, Handler: handlerColl, Data: part, Immediate: true}
		if len(part) == 0 {
			m.Kind = core.Short
		}
		args := [13]uint32{uint32(t.id), uint32(t.id >> 32), x.seq, uint32(t.self), uint32(step.Number), uint32(x.sent), t.scratchAt(x.scratch), uint32(which)}
		n := 8
		if t.ep.debug {
			n += copy(args[n:], x.says[:])
			args[n] = uint32(len(data))
			n++
		}
		if err := c.Request(dst, m, args[:n]...); err != nil {
			s.full, s.retry = true, true
			t.later(err)
			return false
		}
		loan.lent[which] += cost(len(part))
		if x.sent += len(part); x.sent == len(data) {
			x.sent = 0
			return true
		}
	}
}

// part is a part of a message, as it arrives.
type part struct {
	seq, from, number, off uint32
	base                   uint32
	which                  uint32
	total                  uint32 // debug mode: bytes of the message
	says                   signature
	data                   []byte
}

// early is a part that came before its call was begun.
type early struct {
	part
	src  core.Rank
	buf  []byte // what data lies in; kept
	next *early
}

// onColl handles [team, team, call, from, number, offset, scratch, which] and, in debug
// mode, [what, what, what, what, total]: a part of a call's message.
func (t *Team) onColl(tok *core.Token, src core.Rank, args []uint32, data []byte) error {
	s := &t.calls
	want := 8
	if t.ep.debug {
		want = 13
	}
	if len(args) != want {
		return fmt.Errorf("%d arguments", len(args))
	}
	m := part{seq: args[2], from: args[3], number: args[4], off: args[5], base: args[6], which: args[7], data: data}
	if t.ep.debug {
		copy(m.says[:], args[8:])
		m.total = args[12]
	}
	if m.from >= uint32(len(t.members)) || t.members[m.from] != src || m.which >= budgets {
		return fmt.Errorf("it is not member %d of %v", m.from, t)
	}
	if m.seq-s.next < 1<<31 { // not begun
		return s.keep(&m, src)
	}
	x := s.at(m.seq)
	if x == nil {
		if t.ep.debug {
			return fmt.Errorf("call %d of %v is %v there, and was %v here", m.seq, t, m.says, s.said[m.seq%uint32(len(s.said))])
		}
		return fmt.Errorf("call %d of %v is over; do the members' arguments agree?", m.seq, t)
	}
	switch back := s.loans.found(int(m.from), m.which, len(data)); {
	case back == 0:
	case tok == nil: // it came before the team
		t.ep.confirm(src, t, m.which, back)
	default:
		t.ep.reply(tok, handlerCollCredit, args[0], args[1], uint32(t.self), m.which, back)
	}
	return s.deliver(x, &m)
}

// keep keeps a part until its call is begun.
func (s *calls) keep(m *part, src core.Rank) error {
	if s.loans.keep(int(m.from), m.which, len(m.data)) {
		return fmt.Errorf("it is ahead by more than %d bytes", lendingWindow)
	}
	e := s.unused
	if e == nil {
		e = new(early)
	} else {
		s.unused = e.next
	}
	e.part, e.src = *m, src
	e.buf = append(e.buf[:0], m.data...)
	e.data = e.buf
	if s.early == nil {
		s.early = make(map[uint32]*early)
	}
	e.next = s.early[m.seq]
	s.early[m.seq] = e
	return nil
}

// replay delivers the messages of a call that came before it was begun.
func (s *calls) replay(x *call) {
	if len(s.early) == 0 {
		return
	}
	e := s.early[x.seq]
	if e == nil {
		return
	}
	delete(s.early, x.seq)
	ep := s.team.ep
	for e != nil {
		s.loans.unkeep(int(e.from), e.which, len(e.data))
		if back := s.loans.found(int(e.from), e.which, len(e.data)); back > 0 {
			ep.confirm(e.src, s.team, e.which, back)
		}
		if err := s.deliver(x, &e.part); err != nil {
			ep.core.Fail(fmt.Errorf("extended: rank %d: collective message from rank %d: %w", ep.Rank(), e.src, err))
		}
		done := e
		e = e.next
		if done.data = nil; cap(done.buf) > keepEarly {
			done.buf = nil
		}
		done.next, s.unused = s.unused, done
	}
}

// keepEarly is how large a buffer of a part that came early is kept for the next one.
const keepEarly = 4 << 10

// deliver puts a part of a message where it belongs.
func (s *calls) deliver(x *call, m *part) error {
	t := s.team
	if t.ep.debug && x.says != m.says {
		return fmt.Errorf("call %d of %v is %v there, %v here", m.seq, t, m.says, x.says)
	}
	i := x.plan.find(int(m.from), m.number)
	if i < 0 {
		return fmt.Errorf("%v does not receive message %d of member %d; do the members' arguments agree?", x.says, m.number, m.from)
	}
	r := &x.plan.Recvs[i]
	if t.ep.debug && m.total != uint32(r.To.Len) {
		return fmt.Errorf("call %d of %v, %v: %d bytes from member %d there, %d here", m.seq, t, x.says, m.total, m.from, r.To.Len)
	}
	n := max(1, len(m.data)) // a signal counts one
	if r.To.Len == 0 && len(m.data) > 0 || r.To.Len > 0 && len(m.data) == 0 ||
		uint64(m.off)+uint64(len(m.data)) > uint64(r.To.Len) || n > x.left[i] {
		return fmt.Errorf("%v: %d bytes at %d of a message of %d; do the members' arguments agree?", x.says, len(m.data), m.off, r.To.Len)
	}
	if x.plan.shm > 0 {
		if m.base > uint32(t.ep.extra-x.plan.shm) {
			return fmt.Errorf("shared scratch at %d", m.base)
		}
		x.base[m.from] = m.base
	}
	copy(s.memory(x, r.To)[m.off:], m.data)
	if x.left[i] -= n; x.left[i] == 0 {
		s.arrived(x, i)
	}
	return nil
}

// arrived lets a call go on if it waits for message i, which is whole now.
func (s *calls) arrived(x *call, i int) {
	if x.queued || x.step >= len(x.plan.Steps) {
		return
	}
	if step := &x.plan.Steps[x.step]; step.Kind == coll.Await && step.Msg == i {
		x.queued = true
		s.ready = append(s.ready, x)
		s.team.ep.engage(s.team)
	}
}
