// Package colltest carries out the schedules of all members of a collective call on plain
// memory, in any order that the schedules allow, and checks that every other order would
// come to the same.
package colltest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Member is one member's part of a call.
type Member struct {
	Schedule *coll.Schedule
	Mem      []byte // the caller's memory, which Src and Dst lie in
	Src, Dst Extent // they overlap if the call is in place
}

// Extent is a piece of memory, in bytes.
type Extent struct{ Off, Len int }

// Event is a step that can be done: a member's next, unless that waits for a message that
// has not been sent.
type Event struct {
	Member int
	Step   *coll.Step
}

// Order chooses the event that happens next. It decides all there is to decide: a cost
// model gives every event a time and chooses the earliest.
type Order func(ready []Event) int

// Random is an order by chance that is the same for the same seed.
func Random(seed uint64) Order {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(ready []Event) int { return r.IntN(len(ready)) }
}

// Simulate carries out the members' schedules; combine does dst = dst ⊕ src. It returns the
// first fault of a schedule: a message that the other side does not expect or that nobody
// awaits, memory that is read undefined or too early, written too early, or not the
// schedule's to touch, or a deadlock.
func Simulate(members []Member, combine func(dst, src []byte), order Order) error {
	m := &machine{members: make([]member, len(members)), combine: combine}
	for i := range members {
		if err := m.members[i].init(i, &members[i], len(members)); err != nil {
			return err
		}
	}
	for i := range m.members {
		m.next(i)
	}
	for len(m.ready) > 0 {
		i := order(m.ready)
		e := m.ready[i]
		m.ready[i] = m.ready[len(m.ready)-1]
		m.ready = m.ready[:len(m.ready)-1]
		if err := m.step(e); err != nil {
			return fmt.Errorf("member %d, step %d %s: %w", e.Member, m.members[e.Member].done, stepString(e.Step), err)
		}
		m.members[e.Member].done++
		m.next(e.Member)
	}
	if err := m.over(); err != nil {
		return err
	}
	return m.races()
}

// machine is a simulation under way.
type machine struct {
	members []member
	ready   []Event
	reads   []read // of others' Shm
	combine func(dst, src []byte)
}

// next makes a member's next step ready, unless it must wait.
func (m *machine) next(i int) {
	x := &m.members[i]
	if x.done == len(x.Schedule.Steps) {
		return
	}
	s := &x.Schedule.Steps[x.done]
	if s.Kind == coll.Await && uint(s.Msg) < uint(len(x.came)) && x.came[s.Msg] == nil {
		x.waits = s.Msg
		return
	}
	m.ready = append(m.ready, Event{i, s})
}

// step does one step.
func (m *machine) step(e Event) error {
	x, s := &m.members[e.Member], e.Step
	x.clock[e.Member] = x.done + 1
	switch s.Kind {
	case coll.Send:
		return m.send(x, s)
	case coll.Await:
		return x.await(s.Msg)
	}
	from, err := m.read(x, s.From)
	if err != nil {
		return err
	}
	if s.From.Len != s.To.Len || s.From.Len == 0 {
		return fmt.Errorf("%d bytes to %d", s.From.Len, s.To.Len)
	}
	if a, b := x.place(s.From), x.place(s.To); a.overlaps(b) && (a != b || s.Kind != coll.Copy) {
		return fmt.Errorf("the spans overlap")
	}
	if s.Kind == coll.Copy {
		to, err := x.write(s.To)
		copy(to, from)
		return err
	}
	old, err := m.read(x, s.To)
	if err != nil {
		return err
	}
	result := append([]byte(nil), old...)
	m.combine(result, from)
	to, err := x.write(s.To)
	copy(to, result)
	return err
}

// message is one that was sent.
type message struct {
	data  []byte
	clock []int // the sender's
}

// send gives a message to the member that receives it.
func (m *machine) send(x *member, s *coll.Step) error {
	if uint(s.Peer) >= uint(len(m.members)) || s.Peer == x.rank {
		return fmt.Errorf("to member %d", s.Peer)
	}
	data, err := m.read(x, s.From)
	if err != nil {
		return err
	}
	if s.Number != x.sent[s.Peer] {
		return fmt.Errorf("number %d, want %d", s.Number, x.sent[s.Peer])
	}
	x.sent[s.Peer]++
	y := &m.members[s.Peer]
	i, ok := y.expects[source{x.rank, s.Number}]
	if !ok {
		return fmt.Errorf("member %d does not expect message %d", s.Peer, s.Number)
	}
	if n := y.Schedule.Recvs[i].To.Len; n != len(data) {
		return fmt.Errorf("%d bytes, but member %d expects %d", len(data), s.Peer, n)
	}
	y.came[i] = &message{append([]byte(nil), data...), append([]int(nil), x.clock...)}
	if y.waits == i {
		y.waits = never
		m.ready = append(m.ready, Event{s.Peer, &y.Schedule.Steps[y.done]})
	}
	return nil
}

// over checks that all has been done.
func (m *machine) over() error {
	var stuck []string
	for i := range m.members {
		x := &m.members[i]
		if x.done < len(x.Schedule.Steps) {
			r := x.Schedule.Recvs[x.waits]
			stuck = append(stuck, fmt.Sprintf("member %d waits for message %d of %d", i, r.Number, r.Peer))
		}
	}
	if stuck != nil {
		return fmt.Errorf("deadlock: %s", strings.Join(stuck, ", "))
	}
	for i := range m.members {
		for msg, a := range m.members[i].awaited {
			if a == never {
				return fmt.Errorf("member %d does not await its message %d", i, msg)
			}
		}
	}
	return nil
}

func stepString(s *coll.Step) string {
	span := func(s coll.Span) string {
		return fmt.Sprintf("%s[%d:+%d]", [...]string{"Src", "Dst", "Tmp", fmt.Sprintf("Shm of %d", s.Rank)}[s.Buf], s.Off, s.Len)
	}
	switch s.Kind {
	case coll.Send:
		return fmt.Sprintf("(send %s to %d)", span(s.From), s.Peer)
	case coll.Await:
		return fmt.Sprintf("(await %d)", s.Msg)
	}
	return fmt.Sprintf("(%s of %s to %s)", [...]string{coll.Copy: "copy", coll.Combine: "combine"}[s.Kind], span(s.From), span(s.To))
}
