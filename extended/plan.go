package extended

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// plan is a schedule with what the engine looks up in it. Plans do not change, and are kept
// for the calls to come.
type plan struct {
	coll.Schedule
	left  []int    // by message to receive: its bytes, 1 for a signal
	names []uint64 // of messages to receive, ascending; see nameOf
	order []int32  // the messages in this order
	shm   int      // bytes used of any member's shared scratch
}

// nameOf names a message to receive, of the schedule of one call: by sender and number.
func nameOf(member int, number uint32) uint64 { return uint64(member)<<32 | uint64(number) }

func newPlan(s *coll.Schedule) *plan {
	n := len(s.Recvs)
	p := &plan{Schedule: *s, left: make([]int, n), names: make([]uint64, n), order: make([]int32, n)}
	p.Steps, p.Recvs = slices.Clone(s.Steps), slices.Clone(s.Recvs)
	for i := range s.Recvs {
		p.left[i], p.order[i] = max(1, s.Recvs[i].To.Len), int32(i)
	}
	name := func(i int32) uint64 { return nameOf(s.Recvs[i].Peer, uint32(s.Recvs[i].Number)) }
	slices.SortFunc(p.order, func(a, b int32) int { return cmp.Compare(name(a), name(b)) })
	for k, i := range p.order {
		p.names[k] = name(i)
	}
	for i := range s.Steps {
		for _, span := range [...]coll.Span{s.Steps[i].From, s.Steps[i].To} {
			if span.Buf == coll.Shm {
				p.shm = max(p.shm, span.Off+span.Len)
			}
		}
	}
	return p
}

// find returns the index of message number n from a member, -1 if there is none.
func (p *plan) find(member int, n uint32) int {
	if k, ok := slices.BinarySearch(p.names, nameOf(member, n)); ok {
		return int(p.order[k])
	}
	return -1
}

// weight is about how many words the plan takes.
func (p *plan) weight() int { return 16 * (1 + len(p.Steps) + len(p.Recvs)) }

// signature tells what a call is: operation, root, bytes, and type and operator of a
// reduction. In debug mode every message carries it.
type signature [4]uint32

func (s signature) String() string {
	text := fmt.Sprintf("%v", coll.Op(s[0]))
	if coll.Op(s[0]).Rooted() {
		text += fmt.Sprintf(" with root %d", s[1])
	}
	if s[2] != anyBytes {
		text += fmt.Sprintf(" of %d bytes", s[2])
	}
	switch kind := s[3]; {
	case kind >= userKind:
		text += fmt.Sprintf(" with an operator on elements of %d bytes", kind-userKind)
	case kind != 0:
		typ, op := typed(kind)
		text += fmt.Sprintf(" by %v of %v", op, typ)
	}
	return text
}

// anyBytes stands for lengths that differ from member to member.
const anyBytes = ^uint32(0)

// plans keeps a team's plans by the calls they are for, the last one apart, and the last one
// of each operation with lengths that differ.
type plans struct {
	last    coll.Call
	newest  *plan
	byCall  map[coll.Call]*plan
	weight  int
	varying map[coll.Op]*varyingPlan
}

// plansWeight bounds what is kept: a program that makes ever new calls starts anew.
const plansWeight = 1 << 20

// get returns the plan of a call.
func (s *plans) get(t *Team, k coll.Call) (*plan, error) {
	k.N, k.Self, k.Reach, k.ShmLimit = len(t.members), t.self, t.piece.n > 0, t.piece.n/2
	if s.newest != nil && s.last == k {
		return s.newest, nil
	}
	p := s.byCall[k]
	if p == nil {
		call := k // k itself stays off the heap
		sched, err := coll.Plan(&call, t.ep.forced)
		if err != nil {
			return nil, err
		}
		p = t.newPlan(sched)
		if s.weight += p.weight(); s.byCall == nil || s.weight > plansWeight {
			s.byCall, s.weight = make(map[coll.Call]*plan), p.weight()
		}
		s.byCall[k] = p
	}
	s.last, s.newest = k, p
	return p, nil
}

// newPlan makes the plan of a schedule. In debug mode members meet in every call, so that
// none can miss that others make a different one.
func (t *Team) newPlan(s *coll.Schedule) *plan {
	if t.ep.debug {
		s = coll.Meet(s, t.self, len(t.members))
	}
	return newPlan(s)
}

// varyingPlan is a plan with the blocks it is for.
type varyingPlan struct {
	recv, send []coll.Span
	plan       *plan
}

// exchange returns the plan in which members exchange the given blocks.
func (s *plans) exchange(t *Team, op coll.Op, recv, send []coll.Span) *plan {
	if v := s.varying[op]; v != nil && slices.Equal(v.recv, recv) && slices.Equal(v.send, send) {
		return v.plan
	}
	if s.varying == nil {
		s.varying = make(map[coll.Op]*varyingPlan)
	}
	p := t.newPlan(coll.Exchange(t.self, recv, send, t.ep.debug))
	s.varying[op] = &varyingPlan{recv, send, p}
	return p
}
