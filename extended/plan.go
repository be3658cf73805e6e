package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// plan is a schedule with what the engine looks up in it. Plans do not change, and are kept
// for the calls to come.
type plan struct {
	coll.Schedule
	left   []int   // by message to receive: its bytes, 1 for a signal
	first  []int32 // by member: the first message from it, -1 if none
	second []int32 // by message: the next from the same member, -1 if none
	shm    int     // bytes used of any member's shared scratch
}

func newPlan(s *coll.Schedule, members int) *plan {
	p := &plan{Schedule: *s, left: make([]int, len(s.Recvs)), first: make([]int32, members), second: make([]int32, len(s.Recvs))}
	for i := range p.first {
		p.first[i] = -1
	}
	for i := len(s.Recvs) - 1; i >= 0; i-- {
		r := &s.Recvs[i]
		p.left[i] = max(1, r.To.Len)
		p.second[i], p.first[r.Peer] = p.first[r.Peer], int32(i)
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
func (p *plan) find(member, n int) int {
	i := p.first[member]
	for ; n > 0 && i >= 0; n-- {
		i = p.second[i]
	}
	return int(i)
}

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
		text += fmt.Sprintf(" by %v of %v", Op(kind&0xffffff), Type(kind>>24-1))
	}
	return text
}

// anyBytes stands for lengths that differ from member to member.
const anyBytes = ^uint32(0)

// plans keeps a team's plans by the calls they are for, and the last one apart.
type plans struct {
	last   coll.Call
	newest *plan
	byCall map[coll.Call]*plan
}

// plansMax bounds what is kept: a program that makes ever new calls starts anew.
const plansMax = 1 << 10

// get returns the plan of a call.
func (s *plans) get(t *Team, k coll.Call) (*plan, error) {
	k.N, k.Self, k.Reach, k.ShmLimit = len(t.members), t.self, t.reach, auxiliary/4
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
		p = newPlan(sched, k.N)
		if s.byCall == nil || len(s.byCall) >= plansMax {
			s.byCall = make(map[coll.Call]*plan)
		}
		s.byCall[k] = p
	}
	s.last, s.newest = k, p
	return p, nil
}
