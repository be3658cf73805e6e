package extended

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// The engine carries out the schedules of collective calls (package coll): many at a time,
// whatever the rank waits for meanwhile. A handler notes what has arrived; if that lets a
// team go on, it engages the team, and the poll that ran the handler has the team advance.

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

// calls are a team's collective calls.
type calls struct {
	team   *Team
	next   uint32  // number of the next call
	active []*call // begun and not over, in order of number
	early  []early // messages of calls that this rank has not begun
	free   *call
	plans  plans
	said   [1 << 8]signature // debug mode: of the latest calls
}

func (s *calls) init(t *Team) { s.team = t }

func (s *calls) underWay() int { return len(s.active) }

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
	ticket  uint32   // for scratch, while it has none
	scratch extent   // this rank's shared scratch
	base    []uint32 // by team rank: offset of its piece of its scratch
	next    *call    // on the free list
}

// begin starts a call: it carries out as much as can be done at once. It runs where
// handlers run. op gets one pending until the call is over.
func (s *calls) begin(c *core.Context, p *plan, op *operation, dst, src []byte, combine func(dst, src []byte), says signature) {
	x := s.free
	if x == nil {
		x = new(call)
	} else {
		s.free, x.next = x.next, nil
	}
	if s.team.ep.debug {
		s.said[s.next%uint32(len(s.said))] = says
	}
	x.seq, x.plan, x.op, x.dst, x.src, x.combine, x.says = s.next, p, op, dst, src, combine, says
	x.step, x.sent = 0, 0
	x.left = append(x.left[:0], p.left...)
	if n := p.Tmp; n > cap(x.tmp) {
		x.tmp = make([]byte, n)
	} else {
		x.tmp = x.tmp[:n]
	}
	if p.shm > 0 {
		if n := len(s.team.members); n > cap(x.base) {
			x.base = make([]uint32, n)
		} else {
			x.base = x.base[:n]
		}
	}
	if p.Shm > 0 {
		x.ticket = s.team.ep.scratch.ticket()
	}
	s.next++
	op.pending.Add(1)
	s.active = append(s.active, x)
	s.replay(x)
	s.run(c, x)
	s.sweep()
}

// advance lets every call go on.
func (s *calls) advance(c *core.Context) (did int) {
	for _, x := range s.active {
		did += s.run(c, x)
	}
	if did > 0 {
		s.sweep()
	}
	return did
}

// sweep removes the calls that are over.
func (s *calls) sweep() {
	keep := s.active[:0]
	for _, x := range s.active {
		if x.plan != nil {
			keep = append(keep, x)
		}
	}
	clear(s.active[len(keep):])
	s.active = keep
}

// run does the steps of a call up to one that must wait, and returns how many.
func (s *calls) run(c *core.Context, x *call) (did int) {
	p := x.plan
	if p == nil {
		return 0 // it is over
	}
	if p.Shm > 0 && x.scratch.n == 0 {
		var ok bool
		if x.scratch, ok = s.team.ep.scratch.take(s.team, x.ticket, p.Shm); !ok {
			return 0
		}
	}
	for ; x.step < len(p.Steps); x.step++ {
		step := &p.Steps[x.step]
		switch step.Kind {
		case coll.Send:
			if !s.send(c, x, step) {
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
		case coll.CombineLeft:
			s.combineLeft(x, step)
		}
		did++
	}
	s.end(x)
	return did + 1
}

// combineLeft does To = From ⊕ To.
func (s *calls) combineLeft(x *call, step *coll.Step) {
	to := s.memory(x, step.To)
	left := append(s.team.ep.fold[:0], s.memory(x, step.From)...)
	x.combine(left, to)
	copy(to, left)
	s.team.ep.fold = left
}

// end recycles a call that is over and tells its operation.
func (s *calls) end(x *call) {
	if x.scratch.n > 0 {
		s.team.ep.scratch.give(x.scratch)
	}
	op := x.op
	x.plan, x.op, x.dst, x.src, x.combine = nil, nil, nil, nil, nil
	x.scratch = extent{}
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
	base := x.scratch.off
	if span.Rank != t.self {
		base = int(x.base[span.Rank])
	}
	owner := t.members[span.Rank]
	return t.ep.whole[owner][t.ep.sizes[owner]+base+span.Off:][:span.Len]
}

// send sends what is left of a step's message; it reports whether all has gone.
func (s *calls) send(c *core.Context, x *call, step *coll.Step) bool {
	t := s.team
	dst := t.members[step.Peer]
	data := s.memory(x, step.From)
	for {
		part := data[x.sent:min(len(data), x.sent+t.ep.piece.coll)]
		confirm, ok := t.ep.mayLend(t, dst)
		if !ok {
			return false
		}
		m := core.Message{Kind: core.Medium, Handler: handlerColl, Data: part, Immediate: true}
		if len(part) == 0 {
			m.Kind = core.Short
		}
		args := [12]uint32{uint32(t.id), uint32(t.id >> 32), x.seq, uint32(t.self), uint32(step.Number), uint32(x.sent), uint32(x.scratch.off), confirm}
		n := 8
		if t.ep.debug {
			n += copy(args[n:], x.says[:])
		}
		if err := c.Request(dst, m, args[:n]...); err != nil {
			t.later(err)
			return false
		}
		t.ep.lend(dst, len(part), confirm)
		if x.sent += len(part); x.sent == len(data) {
			x.sent = 0
			return true
		}
	}
}

// early is a message of a call that this rank has not begun.
type early struct {
	seq, from, number, off uint32
	base                   uint32
	data                   []byte
	src                    core.Rank
	confirm                uint32
	says                   signature
}

// onColl handles [team, team, call, from, number, offset, scratch, confirm] and, in debug
// mode, [what, what]: a part of a call's message.
func (t *Team) onColl(tok *core.Token, src core.Rank, args []uint32, data []byte) error {
	s := &t.calls
	if n := len(args); n != 8 && n != 12 {
		return fmt.Errorf("%d arguments", n)
	}
	m := early{seq: args[2], from: args[3], number: args[4], off: args[5], base: args[6], data: data, src: src, confirm: args[7]}
	copy(m.says[:], args[8:])
	if m.from >= uint32(len(t.members)) || t.members[m.from] != src {
		return fmt.Errorf("it is not member %d of %v", m.from, t)
	}
	if m.seq-s.next < 1<<31 { // not begun
		m.data = slices.Clone(data)
		s.early = append(s.early, m)
		return nil
	}
	for _, x := range s.active {
		if x.seq == m.seq && x.plan != nil {
			if m.confirm != 0 {
				t.ep.confirm(tok, src, m.confirm)
			}
			return s.deliver(x, &m)
		}
	}
	if t.ep.debug {
		return fmt.Errorf("call %d of %v is %v there, and was %v here", m.seq, t, m.says, s.said[m.seq%uint32(len(s.said))])
	}
	return fmt.Errorf("call %d of %v is over; do the members' arguments agree?", m.seq, t)
}

// replay delivers the messages of a call that came before it was begun.
func (s *calls) replay(x *call) {
	if len(s.early) == 0 {
		return
	}
	keep := s.early[:0]
	for i := range s.early {
		m := &s.early[i]
		if m.seq != x.seq {
			keep = append(keep, *m)
			continue
		}
		if m.confirm != 0 {
			s.team.ep.confirm(nil, m.src, m.confirm)
		}
		if err := s.deliver(x, m); err != nil {
			s.team.ep.core.Fail(fmt.Errorf("extended: rank %d: collective message from rank %d: %w", s.team.ep.Rank(), m.src, err))
		}
	}
	clear(s.early[len(keep):])
	s.early = keep
}

// deliver puts a part of a message where it belongs.
func (s *calls) deliver(x *call, m *early) error {
	t := s.team
	if t.ep.debug {
		if x.says != m.says {
			return fmt.Errorf("call %d of %v is %v there, %v here", m.seq, t, m.says, x.says)
		}
	}
	i := x.plan.find(int(m.from), int(m.number))
	if i < 0 {
		return fmt.Errorf("%v does not receive message %d of member %d; do the members' arguments agree?", x.says, m.number, m.from)
	}
	r := &x.plan.Recvs[i]
	part := max(1, len(m.data)) // a signal counts one
	if r.To.Len == 0 && len(m.data) > 0 || r.To.Len > 0 && len(m.data) == 0 ||
		uint64(m.off)+uint64(len(m.data)) > uint64(r.To.Len) || part > x.left[i] {
		return fmt.Errorf("%v: %d bytes at %d of a message of %d; do the members' arguments agree?", x.says, len(m.data), m.off, r.To.Len)
	}
	if x.plan.shm > 0 {
		if m.base > auxiliary-uint32(x.plan.shm) {
			return fmt.Errorf("shared scratch at %d", m.base)
		}
		x.base[m.from] = m.base
	}
	copy(s.memory(x, r.To)[m.off:], m.data)
	if x.left[i] -= part; x.left[i] == 0 {
		t.ep.engage(t)
	}
	return nil
}
