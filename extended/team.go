package extended

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
	"github.com/aqueduct-go/aqueduct/extended/group"
)

// Team is an ordered group of ranks that synchronise and communicate collectively; each
// member has its own value. All members call the same collectives and barriers of a team in
// the same order. Across teams the order must be one that would not deadlock if every call
// were a blocking barrier (GASNet-EX).
type Team struct {
	ep      *Endpoint
	id      uint64
	members group.Group
	self    int
	hosts   *coll.Hosts   // of the members; nil: all share one, or none do
	reach   bool          // every member reaches every member's segment
	taken   engine.Extent // of shared scratch memory
	freed   bool
	engaged bool // it is on the endpoint's list of teams that may go on

	barrier  barrier
	engine   engine.Engine
	outlet   outlet           // of the engine
	made     tally            // collective calls begun, those of the network among them
	declined engine.Signature // of the last call that the network did not take
}

// worldID is the id of the team of all ranks. Others are named after their first member, and
// a serial number that this member chose.
const worldID = math.MaxUint64

// World returns the team of all ranks of the endpoint's group, in order of rank
// (GASNet-EX: the primordial team). A handler may call it.
func (ep *Endpoint) World() *Team { return ep.world }

// Rank returns the caller's rank in the team, 0 ≤ Rank < Size; -1 for nil, which who is no
// member of a new team gets. A handler may call it.
func (t *Team) Rank() int {
	if t == nil {
		return -1
	}
	return t.self
}

// Size returns the number of members, 0 for nil. A handler may call it.
func (t *Team) Size() int {
	if t == nil {
		return 0
	}
	return t.members.Size()
}

// Members returns the members' ranks in the job, by team rank. The slice is the team's. A
// handler may call it.
func (t *Team) Members() []core.Rank { return t.members.Members() }

// Jobrank returns the rank in the job of team rank i, or -1 if there is none. A handler may
// call it.
func (t *Team) Jobrank(i int) core.Rank { return t.members.At(i) }

// RankOf returns the team rank of a rank of the job, or -1 if it is no member. A handler
// may call it.
func (t *Team) RankOf(job core.Rank) int { return t.members.RankOf(job) }

// Reach reports whether every member reaches every member's segment directly.
func (t *Team) Reach() bool { return t.reach }

// Endpoint returns the endpoint that the team belongs to.
func (t *Team) Endpoint() *Endpoint { return t.ep }

// newTeam makes the caller's part of a team, for which messages may have come already, and
// returns when all members have the team.
func (c *Context) newTeam(id uint64, members group.Group) (*Team, error) {
	ep := c.ep
	t := &Team{ep: ep, id: id, members: members, self: -1, declined: engine.Signature{2: anyBytes}}
	t.made.single = ep.single
	t.self = t.RankOf(ep.Rank())
	t.hosts = hostsOf(ep.core.Job(), t)
	t.barrier.team, t.outlet.Team = t, t
	t.engine.Init(engine.Config{
		Members: members.Size(), Self: t.self, Hosts: t.hosts, Part: ep.piece.coll, Debug: ep.debug, Team: t, Describe: describe,
	}, &t.outlet)
	err := c.Exclusively(func() {
		ep.teams[id] = t
		for _, m := range ep.unexpected[id] {
			ep.unexpectedCost -= engine.Cost(len(m.data))
			m.deliver(t)
		}
		delete(ep.unexpected, id)
	})
	if err != nil {
		return nil, err
	}
	return t, t.settle(c)
}

// settle has the members agree on what they can do: whether all reach each other, and how
// much shared scratch memory everybody can spare. The world does so again when segments have come later. Other teams
// may be made while another goroutine attaches the segment, so that some members have theirs.
func (t *Team) settle(c *Context) error {
	const ( // what a member offers; 0: it does not reach all
		later = 1 << 32 // there are no segments yet, which it may reach then
		now   = 2 << 32 // it reaches all, and has so many bytes
	)
	ep := t.ep
	var piece engine.Extent
	offer := uint64(0)
	if err := c.Exclusively(func() {
		switch {
		case !slices.ContainsFunc(t.members.Members(), func(r core.Rank) bool { return ep.reach.of(r) == nil }):
			piece = ep.takePiece()
			offer = now | uint64(piece.Len)
		case ep.later && ep.core.Reaches():
			offer = later
		}
	}); err != nil {
		return err
	}
	agreed := offer
	if t.id != worldID || ep.core.Reaches() || t.barrier.Ready() { // else all know, and attaching was a barrier
		var err error
		if agreed, err = t.least(c, offer); err != nil {
			return err
		}
	}
	return c.Exclusively(func() {
		t.reach, t.taken = agreed >= now, piece
		if n := int(uint32(agreed)); n > 0 {
			t.engine.Share(piece.Off, n)
		}
		if t.barrier.Ready() {
			return
		}
		for _, m := range t.barrier.makeReady(agreed >= later) {
			m.deliver(t)
		}
	})
}

// least returns the least of the members' numbers. Collective.
func (t *Team) least(c *Context, n uint64) (uint64, error) {
	word := binary.NativeEndian.AppendUint64(nil, n)
	err := t.AllReduce(c, word, word, Reduction{Type: Uint64, Op: Min})
	return binary.NativeEndian.Uint64(word), err
}

// use checks that the team can be used by the context.
func (t *Team) use(c *Context, call string) error {
	switch {
	case t == nil:
		return c.ep.misuse(call, "no team: the caller is not a member")
	case t.freed:
		return c.ep.misuse(call, "the team was freed")
	case t.ep != c.ep:
		return c.ep.misuse(call, "the team belongs to another rank's endpoint")
	}
	return nil
}

// Split divides the team: members that give the same colour ≥ 0 make a new team, ranked by
// key and, of equal keys, by their rank here. A member with a colour < 0 joins none and gets
// nil. Collective over the team; a barrier of each new team.
func (t *Team) Split(c *Context, color, key int) (*Team, error) {
	if err := t.use(c, "Split"); err != nil {
		return nil, err
	}
	return t.split(c, group.Choice{Color: color, Key: key})
}

func (t *Team) split(c *Context, mine group.Choice) (*Team, error) {
	if err := c.Exclusively(func() { mine.Serial = t.ep.freeSerial() }); err != nil {
		return nil, err
	}
	table := make([]byte, group.ChoiceSize*t.Size())
	if err := t.AllGather(c, table, mine.Encode()); err != nil {
		return nil, err
	}
	if mine.Color < 0 {
		return nil, nil
	}
	part, serial := t.members.Split(table, mine.Color)
	return c.newTeam(uint64(part.At(0))<<32|uint64(serial), part)
}

// freeSerial returns a serial number that no team named after this rank has.
func (ep *Endpoint) freeSerial() uint32 {
	for {
		ep.serial++
		if ep.teams[uint64(ep.Rank())<<32|uint64(ep.serial)] == nil {
			return ep.serial
		}
	}
}

// Subteam makes a team of the given members, named by their ranks here, in that order.
// Collective over the team: the members all give the same list, everybody else gives a list
// without the caller, such as nil, and gets nil.
func (t *Team) Subteam(c *Context, ranks []int) (*Team, error) {
	if err := t.use(c, "Subteam"); err != nil {
		return nil, err
	}
	mine, err := t.members.Subset(ranks, t.self)
	if err != nil {
		return nil, t.ep.misuse("Subteam", "%v", err)
	}
	child, err := t.split(c, mine)
	if err != nil || child == nil {
		return nil, err
	}
	same := uint64(0)
	if t.members.IsSubset(ranks, &child.members) {
		same = 1
	}
	if same, err = child.least(c, same); err != nil {
		return nil, err
	}
	if same == 0 {
		if err := child.Free(c); err != nil {
			return nil, err
		}
		return nil, t.ep.misuse("Subteam", "the members gave different lists; this one gave %v", ranks)
	}
	return child, nil
}

// Neighborhood returns the ranks whose segments this process reaches directly, ascending,
// its own included (gex_System_QueryNbrhdInfo). A handler may call it.
func (ep *Endpoint) Neighborhood() []core.Rank {
	var near []core.Rank
	for _, r := range ep.core.Group() {
		if r == ep.Rank() || ep.reach.of(r) != nil {
			near = append(near, r)
		}
	}
	return near
}

// NeighborhoodTeam makes the team of the caller's neighbourhood, which is the caller alone before there are segments.
// Collective over the world.
func (ep *Endpoint) NeighborhoodTeam(c *Context) (*Team, error) {
	return ep.world.Split(c, int(ep.Neighborhood()[0]), 0)
}

// Free ends the team: nothing of it may be under way, and no member uses it afterwards.
// Collective, a barrier. The world stays.
func (t *Team) Free(c *Context) error {
	if err := t.use(c, "Free"); err != nil {
		return err
	}
	if t == t.ep.world {
		return t.ep.misuse("Free", "the world cannot be freed")
	}
	if err := t.Barrier(c); err != nil {
		return err
	}
	var busy error
	if err := c.Exclusively(func() {
		if n := t.engine.UnderWay(); n > 0 || t.barrier.Notified() {
			busy = t.ep.misuse("Free", "%d collectives of the team are under way", n)
			return
		}
		t.freed = true
		delete(t.ep.teams, t.id)
		t.ep.scratch.Give(t.taken)
	}); err != nil {
		return err
	}
	return busy
}

// String names the team in messages.
func (t *Team) String() string {
	if t.id == worldID {
		return "world"
	}
	return fmt.Sprintf("team %d.%d of %d", t.id>>32, uint32(t.id), t.members.Size())
}

// unexpected is a message for a team that this rank has not made yet.
type unexpected struct {
	src     core.Rank
	handler teamHandler
	args    []uint32
	data    []byte
}

func (m *unexpected) deliver(t *Team) {
	if err := m.handler(t, nil, m.src, m.args, m.data); err != nil {
		t.ep.core.Fail(err)
	}
}

// teamHandler handles a message for a team; tok is nil when that came before the team.
type teamHandler func(t *Team, tok *core.Token, src core.Rank, args []uint32, data []byte) error

// forTeam returns a handler for messages whose first two arguments are a team's id.
func (ep *Endpoint) forTeam(handle teamHandler) core.Handler {
	return func(tok *core.Token, args []uint32, data []byte) {
		if len(args) < 2 {
			ep.malformed(tok, "%d arguments", len(args))
			return
		}
		id := join(args[0], args[1])
		t := ep.lastTeam
		if t == nil || t.id != id || t.freed {
			if t = ep.teams[id]; t == nil {
				ep.keepUnexpected(tok, id, &unexpected{tok.Src(), handle, slices.Clone(args), slices.Clone(data)})
				return
			}
			ep.lastTeam = t
		}
		if err := handle(t, tok, tok.Src(), args, data); err != nil {
			ep.malformed(tok, "%v", err)
		}
	}
}

// maxUnexpected bounds the bytes that peers who are ahead can make this rank keep, the cost
// of each message included: far more than the messages with which teams begin.
const maxUnexpected = 64 << 20

func (ep *Endpoint) keepUnexpected(tok *core.Token, id uint64, m *unexpected) {
	if ep.unexpectedCost += engine.Cost(len(m.data)); ep.unexpectedCost > maxUnexpected {
		ep.malformed(tok, "team %d.%d is unknown here, as are those of messages of %d bytes before; was it freed?", id>>32, uint32(id), ep.unexpectedCost)
		return
	}
	if ep.unexpected == nil {
		ep.unexpected = make(map[uint64][]*unexpected)
	}
	ep.unexpected[id] = append(ep.unexpected[id], m)
}
