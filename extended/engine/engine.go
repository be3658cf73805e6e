package engine

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Config is what an engine is made for. It is equal on all members, but for Self.
type Config struct {
	Members  int                    // of the team
	Self     int                    // this one
	Hosts    *coll.Hosts            // of the members
	Part     int                    // bytes of the largest part of a message, up to MaxPart
	Debug    bool                   // members tell each other what their calls are, and meet in each
	Team     fmt.Stringer           // names the team in errors
	Describe func(Signature) string // names a call in errors
}

// Outlet is what an engine acts on.
type Outlet interface {
	// Send sends a part of a message to a member, which hands it to Arrive. False: there is no room now, and
	// Advance will be called. p and its Data are the engine's when Send returns.
	Send(to int, p *Part) bool
	// ReturnCredit gives bytes of credit back to a member, which calls Credit with this one's number, the window and
	// the bytes.
	ReturnCredit(to int, window, bytes uint32)
	// Engage has Advance called, soon but not by this call.
	Engage()
	// Fail tells of a part from a member that Arrive has kept, and that turned out to be wrong.
	Fail(from int, err error)
	// Shared returns a member's shared scratch memory, that of all teams. Only calls whose schedules use
	// it ask for it.
	Shared(member int) []byte
}

// Signature tells what a call is: operation, root, bytes, and type and operator of a
// reduction. In debug mode every message carries it.
type Signature [4]uint32

// Op is who waits for a call.
type Op interface {
	// Over says that the call is complete for this member.
	Over()
}

// Engine has a member's collective calls of a team. They are numbered as they are begun.
type Engine struct {
	Config
	out   Outlet
	part  Part    // that is being sent
	first uint32  // the oldest call that is not over
	next  uint32  // the next to be begun
	ring  []*call // by number modulo its length, a power of two; nil: over

	ready []*call // got what they waited for
	held  []*call // lack room, credit or scratch memory
	spare []*call // what held was before, for reuse
	retry bool    // one of those held may go on now
	full  bool    // there was no room for a message in this round

	soon       *unexpected            // parts of the next call to be begun
	unexpected map[uint32]*unexpected // and of those after it, by call
	unused     *unexpected
	free       *call
	credits    credits
	base       int    // where in shared scratch memory this team's piece lies
	space      Arena  // the piece
	asked      uint32 // tickets for it that were given out
	served     uint32 // and that were served
	plans      plans
	said       []Signature // debug mode: of the latest calls, by number modulo the length
}

// Init makes the engine ready for calls without shared scratch memory.
func (s *Engine) Init(c Config, out Outlet) {
	s.Config, s.out = c, out
	s.ring = make([]*call, 4)
	if c.Debug {
		s.said = make([]Signature, 1<<8)
	}
	s.credits.Init(c.Members)
	s.part.From = uint32(c.Self)
}

// Share gives the engine n bytes of shared scratch memory, of which this member's lie at off. All members call it
// with the same n, between the same calls. Calls that are under way have none of it.
func (s *Engine) Share(off, n int) { s.base, s.space.Size = off, n }

// UnderWay returns how many calls are under way, or wait for an older one to end.
func (s *Engine) UnderWay() int { return int(s.next - s.first) }

// at returns a call that has been begun and is not over, else nil.
func (s *Engine) at(seq uint32) *call {
	if seq-s.first >= s.next-s.first {
		return nil
	}
	return s.ring[seq&uint32(len(s.ring)-1)]
}

// call is one collective call of this rank.
type call struct {
	seq     uint32
	plan    *Plan
	op      Op
	private [coll.Shm][]byte // source, destination and scratch memory, by coll.Buf
	combine func(dst, src []byte)
	says    Signature

	step    int      // the next step
	sent    int      // bytes of it that have been sent
	left    []int    // by message to receive: bytes still to come, at first 1 for a signal
	queued  bool     // it, or what it was before it was recycled, is among Engine.ready
	held    bool     // and among Engine.held
	ticket  uint32   // for scratch memory, while it has none
	scratch Extent   // this rank's shared scratch
	base    []uint32 // by team rank: offset of its piece of its scratch
	next    *call    // on the free list
}

// keepTmp is how much private scratch a recycled call keeps.
const keepTmp = 64 << 10

// Begin starts the next call: it carries out as much as can be done at once. Buffers are the engine's until
// op is told that the call is over, which may be before Begin returns.
func (s *Engine) Begin(p *Plan, op Op, dst, src []byte, combine func(dst, src []byte), says Signature) {
	x := s.free
	if x == nil {
		x = new(call)
	} else {
		s.free, x.next = x.next, nil
	}
	x.seq, x.plan, x.op, x.combine, x.says = s.next, p, op, combine, says
	x.private[coll.Src], x.private[coll.Dst] = src, dst
	x.step, x.sent = 0, 0
	x.left = append(x.left[:0], p.left...)
	if n, tmp := p.Tmp, &x.private[coll.Tmp]; n > cap(*tmp) {
		*tmp = make([]byte, n)
	} else {
		*tmp = (*tmp)[:n]
	}
	if p.shm > 0 && len(x.base) == 0 {
		x.base = make([]uint32, s.Members)
	}
	if p.Shm > 0 {
		x.ticket = s.asked
		s.asked++
	}
	if s.Debug {
		s.said[s.next%uint32(len(s.said))] = says
	}
	s.push(x)
	s.replay(x)
	s.run(x)
}

// push makes a call the newest.
func (s *Engine) push(x *call) {
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

// Advance lets calls go on that can, and returns how much was done.
func (s *Engine) Advance() (did int) {
	s.full = false
	for _, x := range s.ready {
		x.queued = false
		did += s.run(x)
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
		did += s.run(x)
	}
	clear(held)
	s.spare = held
	return did
}

// hold keeps a call that lacks something until retry is set.
func (s *Engine) hold(x *call) {
	if !x.held {
		x.held = true
		s.held = append(s.held, x)
	}
}

// again has the calls that lack something try again.
func (s *Engine) again() {
	if len(s.held) > 0 {
		s.retry = true
		s.out.Engage()
	}
}

// run does the steps of a call up to one that must wait, and returns how many. It may be
// called at any time.
func (s *Engine) run(x *call) (did int) {
	p := x.plan
	if p == nil {
		return 0 // it is over
	}
	if p.Shm > 0 && x.scratch.Len == 0 && !s.takeScratch(x) {
		s.hold(x)
		return 0
	}
	for ; x.step < len(p.Steps); x.step++ {
		step := &p.Steps[x.step]
		switch step.Kind {
		case coll.Send:
			if !s.send(x, step) {
				s.hold(x)
				return did
			}
		case coll.Await:
			if x.left[step.Msg] != 0 {
				return did
			}
		case coll.Copy:
			copy(s.memory(x, &step.To), s.memory(x, &step.From))
		case coll.Combine:
			x.combine(s.memory(x, &step.To), s.memory(x, &step.From))
		}
		did++
	}
	s.end(x)
	return did + 1
}

// takeScratch gives a call its shared scratch memory, in the order of calls, so that a
// large one is not overtaken for ever and members do not wait for each other.
func (s *Engine) takeScratch(x *call) bool {
	if x.ticket != s.served {
		return false
	}
	var ok bool
	if x.scratch, ok = s.space.Take(x.plan.Shm); ok {
		s.served++
		s.again()
	}
	return ok
}

// end recycles a call that is over and tells its operation.
func (s *Engine) end(x *call) {
	s.ring[x.seq&uint32(len(s.ring)-1)] = nil
	for s.first != s.next && s.ring[s.first&uint32(len(s.ring)-1)] == nil {
		s.first++
	}
	if x.scratch.Len > 0 {
		s.space.Give(x.scratch)
		s.again()
	}
	if x.seq-s.first >= 1<<31 { // another is the oldest now, which may send more
		s.again()
	}
	op := x.op
	x.plan, x.op, x.combine = nil, nil, nil
	x.private[coll.Src], x.private[coll.Dst] = nil, nil
	x.scratch = Extent{}
	if cap(x.private[coll.Tmp]) > keepTmp {
		x.private[coll.Tmp] = nil
	}
	x.next, s.free = s.free, x
	op.Over()
}

// memory returns a span of a call's buffers.
func (s *Engine) memory(x *call, span *coll.Span) []byte {
	if span.Buf == coll.Shm {
		return s.shared(x, span)
	}
	return x.private[span.Buf][span.Off : span.Off+span.Len]
}

// shared returns a span of shared scratch memory.
func (s *Engine) shared(x *call, span *coll.Span) []byte {
	base := x.base[span.Rank]
	if span.Rank == s.Self {
		base = s.sharedAt(x)
	}
	return s.out.Shared(span.Rank)[int(base)+span.Off:][:span.Len]
}

// sharedAt returns where a call's piece lies in this member's shared scratch memory.
func (s *Engine) sharedAt(x *call) uint32 { return uint32(s.base + x.scratch.Off) }

// send sends what is left of a step's message; it reports whether all has gone.
func (s *Engine) send(x *call, step *coll.Step) bool {
	data := s.memory(x, &step.From)
	credit := s.credits.At(step.Peer)
	window := newerCalls
	if x.seq == s.first {
		window = oldestCall
	}
	p := &s.part
	p.Call, p.Number, p.Shared, p.Window = x.seq, uint32(step.Number), s.sharedAt(x), uint32(window)
	p.Total, p.Says = uint32(len(data)), x.says
	for {
		if credit.used[window] >= creditWindow {
			return false // until credit comes back
		}
		p.Off, p.Data = uint32(x.sent), data[x.sent:min(len(data), x.sent+s.Part)]
		if !s.out.Send(step.Peer, p) {
			s.full, s.retry = true, true
			return false
		}
		credit.used[window] += Cost(len(p.Data))
		if x.sent += len(p.Data); x.sent == len(data) {
			x.sent = 0
			p.Data = nil
			return true
		}
	}
}

// Part is a part of a message between members. A message has its bytes in one or more parts; a signal
// has one part without bytes.
type Part struct {
	Call   uint32 // its number among the team's calls
	From   uint32 // member
	Number uint32 // of the message, among those of the sender to this receiver in the call
	Off    uint32 // of Data in the message
	Shared uint32 // where the sender's piece of its shared scratch memory lies
	Window uint32 // of credit that it uses
	Total  uint32 // bytes of the message
	Says   Signature
	Data   []byte
}

// ordinal returns the number of the part's call as people are told it: the first call is 1, as in reports of calls
// that hang.
func (p *Part) ordinal() uint32 { return p.Call + 1 }

// unexpected is a part that came before its call was begun.
type unexpected struct {
	Part
	buf  []byte // what Data lies in; kept
	next *unexpected
}

// Arrive takes a part that has come from member m.From. The caller has checked that it is a member's, and
// sends credit that is to be given back. The error says what is wrong with the part.
func (s *Engine) Arrive(m *Part) (back uint32, err error) {
	if m.Window >= windows {
		return 0, fmt.Errorf("no window %d", m.Window)
	}
	if m.Call-s.next < 1<<31 { // not begun
		return 0, s.keep(m)
	}
	x := s.at(m.Call)
	if x == nil {
		if s.Debug {
			return 0, fmt.Errorf("call %d of %v is %v there, and was %v here", m.ordinal(), s.Team, s.Describe(m.Says), s.Describe(s.said[m.Call%uint32(len(s.said))]))
		}
		return 0, fmt.Errorf("call %d of %v is over; do the members' arguments agree?", m.ordinal(), s.Team)
	}
	back = s.credits.find(int(m.From), m.Window, len(m.Data))
	return back, s.deliver(x, m)
}

// Credit takes the credit that a member has returned.
func (s *Engine) Credit(from int, window, back uint32) error {
	if window >= windows {
		return fmt.Errorf("no window %d", window)
	}
	x := s.credits.At(from)
	if int(back) > x.used[window] {
		return fmt.Errorf("%d bytes come back and %d were used", back, x.used[window])
	}
	x.used[window] -= int(back)
	s.again()
	return nil
}

// keep keeps a part until its call is begun.
func (s *Engine) keep(m *Part) error {
	if s.credits.keep(int(m.From), m.Window, len(m.Data)) {
		return fmt.Errorf("it is ahead by more than %d bytes", creditWindow)
	}
	e := s.unused
	if e == nil {
		e = new(unexpected)
	} else {
		s.unused = e.next
	}
	e.Part = *m
	e.buf = append(e.buf[:0], m.Data...)
	e.Data = e.buf
	if m.Call == s.next {
		e.next, s.soon = s.soon, e
		return nil
	}
	if s.unexpected == nil {
		s.unexpected = make(map[uint32]*unexpected)
	}
	e.next = s.unexpected[m.Call]
	s.unexpected[m.Call] = e
	return nil
}

// replay delivers the messages of the newest call that came before it was begun.
func (s *Engine) replay(x *call) {
	e := s.soon
	s.soon = nil
	if len(s.unexpected) > 0 {
		s.soon = s.unexpected[s.next]
		delete(s.unexpected, s.next)
	}
	for e != nil {
		s.credits.unkeep(int(e.From), e.Window, len(e.Data))
		if back := s.credits.find(int(e.From), e.Window, len(e.Data)); back > 0 {
			s.out.ReturnCredit(int(e.From), e.Window, back)
		}
		if err := s.deliver(x, &e.Part); err != nil {
			s.out.Fail(int(e.From), err)
		}
		done := e
		e = e.next
		if done.Data = nil; cap(done.buf) > keepUnexpected {
			done.buf = nil
		}
		done.next, s.unused = s.unused, done
	}
}

// keepUnexpected is how large a buffer of a part that came before its call was begun is kept for the next one.
const keepUnexpected = 4 << 10

// deliver puts a part of a message where it belongs.
func (s *Engine) deliver(x *call, m *Part) error {
	if s.Debug && x.says != m.Says {
		return fmt.Errorf("call %d of %v is %v there, %v here", m.ordinal(), s.Team, s.Describe(m.Says), s.Describe(x.says))
	}
	i := x.plan.find(int(m.From), m.Number)
	if i < 0 {
		return fmt.Errorf("%v does not receive message %d of member %d; do the members' arguments agree?", s.Describe(x.says), m.Number, m.From)
	}
	r := &x.plan.Recvs[i]
	if s.Debug && m.Total != uint32(r.To.Len) {
		return fmt.Errorf("call %d of %v, %v: %d bytes from member %d there, %d here", m.ordinal(), s.Team, s.Describe(x.says), m.Total, m.From, r.To.Len)
	}
	n := max(1, len(m.Data)) // a signal counts one
	if r.To.Len == 0 && len(m.Data) > 0 || r.To.Len > 0 && len(m.Data) == 0 ||
		uint64(m.Off)+uint64(len(m.Data)) > uint64(r.To.Len) || n > x.left[i] {
		return fmt.Errorf("%v: %d bytes at %d of a message of %d; do the members' arguments agree?", s.Describe(x.says), len(m.Data), m.Off, r.To.Len)
	}
	if x.plan.shm > 0 {
		if room := len(s.out.Shared(int(m.From))); room < x.plan.shm || m.Shared > uint32(room-x.plan.shm) {
			return fmt.Errorf("shared scratch at %d", m.Shared)
		}
		x.base[m.From] = m.Shared
	}
	copy(s.memory(x, &r.To)[m.Off:], m.Data)
	if x.left[i] -= n; x.left[i] == 0 {
		s.arrived(x, i)
	}
	return nil
}

// arrived lets a call go on if it waits for message i, which is whole now.
func (s *Engine) arrived(x *call, i int) {
	if x.queued || x.step >= len(x.plan.Steps) {
		return
	}
	if step := &x.plan.Steps[x.step]; step.Kind == coll.Await && step.Msg == i {
		x.queued = true
		s.ready = append(s.ready, x)
		s.out.Engage()
	}
}
