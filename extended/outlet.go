package extended

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// What lies between the engines of teams and the network. A handler hands an engine what has arrived; if that
// lets it go on, the team is engaged, and the poll that ran the handler has the team advance.

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
		did += t.disseminate(c)
		t.outlet.c = c
		did += t.engine.Advance()
		teams[i] = nil
	}
	ep.spare = teams
	return did + ep.sendCreditReturns(c)
}

// later handles a send that failed: without room, the team tries again at the next poll.
func (t *Team) later(err error) {
	if errors.Is(err, core.ErrNoRoom) {
		t.ep.engage(t)
	} else {
		t.ep.core.Fail(err)
	}
}

// outlet implements engine.Outlet for a team.
type outlet struct {
	*Team
	c *core.Context // that sends; set before the engine is called
}

// Send implements engine.Outlet.
func (o *outlet) Send(to int, p *engine.Part) bool {
	t := o.Team
	m := core.Message{Kind: core.Medium, Handler: handlerColl, Data: p.Data, Immediate: true}
	if len(p.Data) == 0 {
		m.Kind = core.Short
	}
	args := [13]uint32{uint32(t.id), uint32(t.id >> 32), p.Call, p.From, p.Number, p.Off, p.Shared, p.Window}
	n := 8
	if t.ep.debug {
		n += copy(args[n:], p.Says[:])
		args[n] = p.Total
		n++
	}
	err := o.c.Request(t.members.At(to), m, args[:n]...)
	if err != nil {
		t.later(err)
	}
	return err == nil
}

// Engage implements engine.Outlet.
func (o *outlet) Engage() { o.ep.engage(o.Team) }

// Fail implements engine.Outlet.
func (o *outlet) Fail(from int, err error) {
	o.ep.core.Fail(fmt.Errorf("extended: rank %d: collective message from rank %d: %w", o.ep.Rank(), o.members.At(from), err))
}

// Shared implements engine.Outlet: the part of the member's segment beyond the client's.
func (o *outlet) Shared(member int) []byte {
	owner := o.members.At(member)
	return o.ep.whole.of(owner)[o.ep.SegmentSize(owner):]
}

// onColl handles [team, team, call, from, number, offset, scratch, window] and, in debug
// mode, [what, what, what, what, total]: a part of a call's message.
func (t *Team) onColl(tok *core.Token, src core.Rank, args []uint32, data []byte) error {
	want := 8
	if t.ep.debug {
		want = 13
	}
	if len(args) != want {
		return fmt.Errorf("%d arguments", len(args))
	}
	m := engine.Part{Call: args[2], From: args[3], Number: args[4], Off: args[5], Shared: args[6], Window: args[7], Data: data}
	if t.ep.debug {
		copy(m.Says[:], args[8:])
		m.Total = args[12]
	}
	if !t.members.Is(m.From, src) {
		return fmt.Errorf("it is not member %d of %v", m.From, t)
	}
	back, err := t.engine.Arrive(&m)
	switch {
	case back == 0:
	case tok == nil: // it came before the team
		t.outlet.ReturnCredit(int(m.From), m.Window, back)
	default:
		t.ep.reply(tok, handlerCollCredit, args[0], args[1], uint32(t.self), m.Window, back)
	}
	return err
}

// creditReturn is credit that goes back to a member by a request.
type creditReturn struct {
	dst    core.Rank
	team   *Team
	window uint32
	back   uint32
}

// ReturnCredit implements engine.Outlet: by a request, where no reply can.
func (o *outlet) ReturnCredit(to int, window, back uint32) {
	o.ep.creditReturns = append(o.ep.creditReturns, creditReturn{o.members.At(to), o.Team, window, back})
	o.ep.core.Kick()
}

// sendCreditReturns sends what credit goes back by requests, as far as there is room.
func (ep *Endpoint) sendCreditReturns(c *core.Context) (did int) {
	if len(ep.creditReturns) == 0 {
		return 0
	}
	wait := ep.creditReturns[:0]
	for _, x := range ep.creditReturns {
		err := c.TryShort(x.dst, handlerCollCredit, uint32(x.team.id), uint32(x.team.id>>32), uint32(x.team.self), x.window, x.back)
		switch {
		case err == nil:
			did++
		case errors.Is(err, core.ErrNoRoom):
			wait = append(wait, x)
			ep.core.Kick()
		default:
			ep.core.Fail(err)
			return did
		}
	}
	clear(ep.creditReturns[len(wait):])
	ep.creditReturns = wait
	return did
}

// onCollCredit handles [team, team, from, window, bytes]: credit comes back.
func (ep *Endpoint) onCollCredit(tok *core.Token, args []uint32, _ []byte) {
	if len(args) != 5 {
		ep.malformed(tok, "%d arguments", len(args))
		return
	}
	t := ep.teams[join(args[0], args[1])]
	if t == nil {
		return // it was freed meanwhile
	}
	from := args[2]
	if !t.members.Is(from, tok.Src()) {
		ep.malformed(tok, "it is not member %d of %v", from, t)
		return
	}
	if err := t.engine.Credit(int(from), args[3], args[4]); err != nil {
		ep.malformed(tok, "%v", err)
	}
}

// minPiece is the size of the smallest piece of shared scratch memory of a team. The largest is a fourth of all there
// is, and at most half of what is left.
const minPiece = 64 << 10

// takePiece takes a team's piece of what this rank's segment has beyond the client's part, to which peers look and only
// the owner writes; its length is 0 if there is none. The team gives it to its calls.
func (ep *Endpoint) takePiece() engine.Extent {
	for n := min(ep.scratch.Size/4, ep.scratch.Left()/2) &^ (minPiece - 1); n >= minPiece; n /= 2 {
		if e, ok := ep.scratch.Take(n); ok {
			return e
		}
	}
	return engine.Extent{}
}
