package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// What a rank says of its collective calls and barriers when it is asked where it is; see core.Place.

// count makes an operation that of the team's next collective call.
func (t *Team) count(op *operation, says engine.Signature) {
	op.team, op.made, op.says = t, t.made.Add(1), says
	bytes := says[2]
	if bytes == anyBytes {
		bytes = 0
	}
	op.span = t.ep.core.NoteCollective(op.call, int(bytes))
}

// callsKey and barriersKey name the sequences of calls that the members of the team make in one order.
func (t *Team) callsKey() string    { return fmt.Sprintf("call %x", t.id) }
func (t *Team) barriersKey() string { return fmt.Sprintf("barrier %x", t.id) }

// onLocate tells how many calls of each team this rank has made. It runs where handlers run.
func (ep *Endpoint) onLocate(entered map[string]uint64) {
	for _, t := range ep.teams {
		entered[t.callsKey()] = uint64(t.made.Load())
		entered[t.barriersKey()] = uint64(t.barrier.Epoch())
	}
}

// Awaits implements core.Call for a collective call. Who does not know the team has not made it yet,
// where this is its first call, in which it is made; else it has freed the team, so that it has made all
// its calls.
func (op *operation) Awaits() (string, core.Need) {
	t := op.team
	return fmt.Sprintf("%v (call %d of %v)", describe(op.says), op.made, t),
		core.Need{Key: t.callsKey(), Number: uint64(op.made), Members: t.inSurvey(), Gone: op.made > 1 && t.id != worldID}
}

// Awaits implements core.Call for the split-phase barrier. All members have made the team, so who does not
// know it has freed it.
func (b *barrier) Awaits() (string, core.Need) {
	t := b.team
	return fmt.Sprintf("barrier %d of %v", b.Epoch(), t),
		core.Need{Key: t.barriersKey(), Number: uint64(b.Epoch()), Members: t.inSurvey(), Gone: t.id != worldID}
}

// inSurvey returns the members as core.Need has them.
func (t *Team) inSurvey() []core.Rank {
	if t.Size() == t.ep.Size() {
		return nil
	}
	return t.Members()
}

// describe names a collective call by its signature.
func describe(s engine.Signature) string {
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
