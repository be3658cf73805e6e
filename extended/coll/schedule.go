// Package coll has the algorithms of the collective operations as pure schedules: what a
// rank sends to whom, receives from whom, copies and combines, in which order. It knows no
// network, no time and no memory, so the same schedule runs on every conduit, live and
// modelled, and is tested by a simulation that is a page long.
//
// A schedule belongs to one rank of a team and one call. Messages between two ranks are
// matched by their number: the k-th that a sends to b within the call is the k-th that b
// receives from a, however the network orders them.
package coll

// Buf tells which memory a Span lies in.
type Buf uint8

const (
	Src Buf = iota // the caller's source; never written
	Dst            // the caller's destination
	Tmp            // private scratch memory of Schedule.Tmp bytes, contents undefined at first
	// Shm is shared scratch memory of rank Span.Rank, its contents undefined at first. Others
	// may read it once they have awaited a message from the owner (which tells them where it
	// lies) and until the owner's schedule ends; none but the owner writes it.
	Shm
)

// Span is Len bytes at Off of a buffer.
type Span struct {
	Buf      Buf
	Rank     int // Shm only: the team rank that owns it
	Off, Len int
}

// Part returns n bytes at off of the span.
func (s Span) Part(off, n int) Span {
	s.Off, s.Len = s.Off+off, n
	return s
}

// Kind is what a step does.
type Kind uint8

const (
	// Send sends From to team rank Peer. The span stays unchanged until the schedule ends
	// or until a later step of this rank writes it; the executor sees to it that a write
	// after a Send does not change what was sent.
	Send Kind = iota
	// Await waits until message number Msg of Schedule.Recvs has arrived whole.
	Await
	// Copy copies From to To, which have equal lengths and do not overlap, unless they are
	// the same memory because the call is in place.
	Copy
	// Combine does To = To ⊕ From element by element (To is the left operand).
	Combine
)

// Step is one action. Steps are done in order; only Await may take time.
type Step struct {
	Kind     Kind
	Peer     int  // Send: to whom
	Number   int  // Send: how many messages went to Peer in this schedule before
	Msg      int  // Await: index in Recvs
	To, From Span // Send: From; Copy, Combine: both
}

// Recv is a message to be received. Its span belongs to the message alone until it is
// awaited, from the start of the schedule on or, at the latest, from when the peer may have
// sent it: an arrival can be put there at once, however early it is. What a step does there
// before must have happened before the peer's Send, by the order of steps and messages.
type Recv struct {
	Peer   int  // from whom
	Number int  // how many messages came from Peer in this schedule before
	To     Span // in Dst or Tmp; Len 0 for a signal
}

// Schedule is one rank's part of one collective call.
type Schedule struct {
	Recvs []Recv
	Steps []Step
	Tmp   int // bytes of private scratch
	Shm   int // bytes of shared scratch of this rank
}

// Builder makes a schedule step by step and numbers the messages. The zero Builder is ready
// for use.
type Builder struct {
	s      Schedule
	sent   counts // messages so far, by peer
	got    counts
	within *frame // the part that is being appended; nil: the whole
}

// Reset makes the Builder begin anew, in the memory of the schedule that it made last, which
// must not be used any more.
func (b *Builder) Reset() {
	b.s = Schedule{Recvs: b.s.Recvs[:0], Steps: b.s.Steps[:0]}
	b.sent.reset()
	b.got.reset()
}

// Send appends a Send of span to team rank peer. Empty data is not sent: both sides know.
func (b *Builder) Send(peer int, span Span) {
	if span.Len > 0 {
		b.send(peer, span)
	}
}

// Signal appends a Send of nothing to team rank peer.
func (b *Builder) Signal(peer int) { b.send(peer, Span{}) }

func (b *Builder) send(peer int, span Span) {
	peer, span = b.within.peer(peer), b.within.of(span)
	b.s.Steps = append(b.s.Steps, Step{Kind: Send, Peer: peer, Number: b.sent.next(peer), From: span})
}

// nothing is the index of a message that is not sent because it is empty.
const nothing = -1

// Recv declares the next message from peer and returns its index for Await.
func (b *Builder) Recv(peer int, to Span) (msg int) {
	if to.Len == 0 {
		return nothing
	}
	return b.recv(peer, to)
}

// RecvSignal declares the next message from peer, a signal.
func (b *Builder) RecvSignal(peer int) (msg int) { return b.recv(peer, Span{}) }

func (b *Builder) recv(peer int, to Span) (msg int) {
	peer, to = b.within.peer(peer), b.within.of(to)
	b.s.Recvs = append(b.s.Recvs, Recv{Peer: peer, Number: b.got.next(peer), To: to})
	return len(b.s.Recvs) - 1
}

// Await appends a wait for message msg.
func (b *Builder) Await(msg int) {
	if msg != nothing {
		b.s.Steps = append(b.s.Steps, Step{Kind: Await, Msg: msg})
	}
}

// Take declares the next message from peer and waits for it.
func (b *Builder) Take(peer int, to Span) { b.Await(b.Recv(peer, to)) }

// TakeTemp is Take of n bytes into private scratch.
func (b *Builder) TakeTemp(peer, n int) Span {
	t := b.Temp(n)
	b.Take(peer, t)
	return t
}

// Copy appends a copy, unless it is empty or onto itself.
func (b *Builder) Copy(to, from Span) {
	if to, from = b.within.of(to), b.within.of(from); to.Len > 0 && to != from {
		b.s.Steps = append(b.s.Steps, Step{Kind: Copy, To: to, From: from})
	}
}

// Combine appends to = to ⊕ from.
func (b *Builder) Combine(to, from Span) {
	if to.Len > 0 {
		b.s.Steps = append(b.s.Steps, Step{Kind: Combine, To: b.within.of(to), From: b.within.of(from)})
	}
}

// align keeps pieces of scratch on different cache lines.
const align = 64

func aligned(n int) int { return (n + align - 1) &^ (align - 1) }

// Temp takes n bytes of private scratch.
func (b *Builder) Temp(n int) Span {
	s := Span{Buf: Tmp, Off: b.s.Tmp, Len: n}
	b.s.Tmp += aligned(n)
	return s
}

// Shared takes n bytes of the shared scratch of team rank self, whose schedule this is.
func (b *Builder) Shared(self, n int) Span {
	s := Span{Buf: Shm, Rank: self, Off: b.s.Shm, Len: n}
	b.s.Shm += aligned(n)
	return s
}

// Schedule returns what was built.
func (b *Builder) Schedule() *Schedule { return &b.s }
