package grim

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// polling is what an endpoint keeps for a program that is a coroutine and takes messages itself. What waits in the overflow queue moves on
// without it: a second processor of the host looks at the front register, as an endpoint without a coroutine does.
type polling struct {
	visible int        // messages that the program would find
	taken   uint64     // by Take, that Release has not been called for
	seen    uint64     // the endpoint's seen when Room said no
	loads   uint64     // and the blocks that the NIC had fetched
	helped  bool       // the second processor is at work
	stolen  vtime.Time // by interrupts since Interrupts was called
}

// Take returns the first message that has come, or nil. It charges what finding and decoding takes. The message is valid until the next
// Take, its payload until Release. Messages of the library's own, such as the server's list, are handled by Take. The coroutine calls Sync before the first
// Take of a poll, and EmptyPoll is what a poll without a message costs.
func (e *Endpoint) Take() *Message {
	e.Interrupts()
	for e.program.visible > 0 {
		e.program.visible--
		e.program.taken++
		e.work(e.host.profile.Host.Receive)
		m := e.next()
		if m.Handler >= firstHandler {
			e.counts.Received++
			return m
		}
		e.call(m)
	}
	return nil
}

// Interrupts charges what interrupts on behalf of the endpoint have taken since it was called last. Take does it too.
func (e *Endpoint) Interrupts() {
	e.work(e.program.stolen)
	e.program.stolen = 0
}

// Release gives back the room of all messages that Take has returned, by one write to the NIC.
func (e *Endpoint) Release() {
	if n := e.program.taken; n > 0 {
		e.program.taken = 0
		e.host.loop.At(e.options.Proc.Now(), e, n, eventReleased)
	}
}

// Room reports whether Send would put a message with so many bytes of payload into the channel's queue, behind fewer than depth others. It looks at the front register
// if the library knows of no room. After false RoomReturned tells when to ask again.
func (e *Endpoint) Room(payload, depth int) bool {
	p := e.host.program
	e.refused = e.overflow.Len() > 0 || e.options.Limit > 0 && e.unanswered >= e.options.Limit ||
		e.fetched(payload) && !p.loads(1) ||
		e.sizes.Len() >= depth && (!e.look() || e.sizes.Len() >= depth) || !e.room(Padded(payload))
	e.program.seen, e.program.loads = e.seen, p.load.Finished()
	return !e.refused
}

// RoomReturned reports, once, whether room has come back since Room said no. It looks at the front register while it waits for room.
func (e *Endpoint) RoomReturned() bool {
	if !e.refused || e.overflow.Len() > 0 {
		return false
	}
	e.look()
	e.refused = e.seen == e.program.seen && e.host.program.load.Finished() == e.program.loads
	return !e.refused
}

// returned tells the coroutine that a poll would see room that it waits for.
func (e *Endpoint) returned() {
	if e.options.Proc != nil && e.refused && e.overflow.Len() == 0 {
		e.options.Proc.Arrive()
	}
}

// EmptyPoll returns what a poll takes that finds nothing, and whether one would find nothing now.
func (e *Endpoint) EmptyPoll() (cost vtime.Time, idle bool) {
	cost = e.host.profile.Host.Poll
	idle = e.program.visible == 0
	if e.refused && e.overflow.Len() == 0 {
		cost += e.host.profile.Host.Read
		idle = idle && e.channel.front == e.program.seen && e.host.program.load.Finished() == e.program.loads
	}
	return cost, idle
}

// interrupt takes time of the endpoint's processor for an interrupt of the host. A coroutine notices in its next poll.
func (e *Endpoint) interrupt(d vtime.Time) {
	if e.options.Proc != nil {
		e.program.stolen += d
	} else {
		e.cpu.Use(e.host.loop.Now(), d)
	}
}
