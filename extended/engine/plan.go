package engine

import (
	"cmp"
	"slices"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Plan is a schedule with what the engine looks up in it. Plans do not change, and are kept
// for the calls to come.
type Plan struct {
	coll.Schedule
	left  []int    // by message to receive: its bytes, 1 for a signal
	names []uint64 // of messages to receive, ascending; see nameOf
	order []int32  // the messages in this order
	shm   int      // bytes used of any member's shared scratch
}

// nameOf names a message to receive, of the schedule of one call: by sender and number.
func nameOf(member int, number uint32) uint64 { return uint64(member)<<32 | uint64(number) }

func newPlan(s *coll.Schedule) *Plan {
	n := len(s.Recvs)
	p := &Plan{Schedule: *s, left: make([]int, n), names: make([]uint64, n), order: make([]int32, n)}
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
func (p *Plan) find(member int, n uint32) int {
	name := nameOf(member, n)
	k, ok := 0, false
	if len(p.names) == 1 { // as between two members, which wait for little else
		ok = p.names[0] == name
	} else {
		k, ok = slices.BinarySearch(p.names, name)
	}
	if !ok {
		return -1
	}
	return int(p.order[k])
}

// weight is about how many words the plan takes.
func (p *Plan) weight() int { return 16 * (1 + len(p.Steps) + len(p.Recvs)) }

// plans keeps a team's plans by the calls they are for, the last one apart, and the last one
// of each operation with lengths that differ.
type plans struct {
	last    coll.Call
	newest  *Plan
	byCall  map[coll.Call]*Plan
	weight  int
	varying map[coll.Op]*varyingPlan
}

// plansWeight bounds what is kept: a program that makes ever new calls starts anew.
const plansWeight = 1 << 20

// Plan returns the plan of a call, of which the caller sets neither N, Self, Reach, ShmLimit nor Hosts. forced are
// algorithms that overrule the table.
func (s *Engine) Plan(k coll.Call, forced coll.Forced) (*Plan, error) {
	s.complete(&k)
	c := &s.plans
	if c.newest != nil && c.last.Equal(&k) {
		return c.newest, nil
	}
	p := c.byCall[k]
	if p == nil {
		call := k // k itself stays off the heap
		sched, err := coll.Plan(&call, forced)
		if err != nil {
			return nil, err
		}
		p = s.plan(sched)
		if c.weight += p.weight(); c.byCall == nil || c.weight > plansWeight {
			c.byCall, c.weight = make(map[coll.Call]*Plan), p.weight()
		}
		c.byCall[k] = p
	}
	c.last, c.newest = k, p
	return p, nil
}

// complete sets what a call has of the team.
func (s *Engine) complete(k *coll.Call) {
	k.N, k.Self, k.Hosts, k.Reach, k.ShmLimit = s.Members, s.Self, s.Hosts, s.space.Size > 0, s.space.Size/2
}

// Choices returns what can carry out a call of which the caller sets as for Plan.
func (s *Engine) Choices(k coll.Call) []coll.Choice {
	s.complete(&k)
	return coll.Choices(&k)
}

// Forget drops the plans that are kept, as those of other choices.
func (s *Engine) Forget() { s.plans = plans{} }

// plan makes the plan of a schedule. In debug mode members meet in every call, so that
// none can miss that others make a different one.
func (s *Engine) plan(sched *coll.Schedule) *Plan {
	if s.Debug {
		sched = coll.Meet(sched, s.Self, s.Members)
	}
	return newPlan(sched)
}

// varyingPlan is a plan with the blocks it is for.
type varyingPlan struct {
	recv, send []coll.Span
	plan       *Plan
}

// Exchange returns the plan in which members exchange the given blocks.
func (s *Engine) Exchange(op coll.Op, recv, send []coll.Span) *Plan {
	c := &s.plans
	if v := c.varying[op]; v != nil && slices.Equal(v.recv, recv) && slices.Equal(v.send, send) {
		return v.plan
	}
	if c.varying == nil {
		c.varying = make(map[coll.Op]*varyingPlan)
	}
	p := s.plan(coll.Exchange(s.Self, recv, send, s.Debug))
	c.varying[op] = &varyingPlan{recv, send, p}
	return p
}
