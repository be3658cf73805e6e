// Package cost runs the schedules of a collective call on a cost model: no ranks that
// execute, no data, only times. A rank is a position in its schedule and a time, some hundred
// bytes, so one core carries a call of many millions of ranks. Nothing is inferred from
// symmetry: every message of every rank is simulated.
//
// What a step costs a Model says. LogGP is the textbook's; a profile of a machine, with hops
// and shared links, is another one.
package cost

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Model says what the steps of schedules cost. A model has the state of one run: which links
// are taken until when, for instance. It may not answer with a time before the one it is
// asked about.
//
// Calls come in the order of the times that they are about: now, or for Receive the later of
// since and arrival; at one time in the order of ranks (the first argument), as in package
// vtime; of one rank in the order of its steps. So a model of shared resources can serve
// first who comes first.
type Model interface {
	// Send has rank src, from time now on, send a message to dst. It returns when src can go
	// on, and when dst can take the message. Signals have 0 bytes.
	Send(src, dst, bytes int, now vtime.Time) (free, arrival vtime.Time)
	// Receive has rank dst take the next message that its schedule awaits, for which it has
	// been waiting since a time before arrival, or which was there when it looked, at since.
	// It returns when dst can go on, not before both.
	Receive(dst, src, bytes int, since, arrival vtime.Time) vtime.Time
	// Copy returns when rank, from now on, has copied bytes.
	Copy(rank, bytes int, now vtime.Time) vtime.Time
	// Combine returns when rank, from now on, has combined vectors of so many bytes.
	Combine(rank, bytes int, now vtime.Time) vtime.Time
}

// Independent is a Model that shares nothing between ranks: what it answers to a call depends
// on earlier calls with the same first argument only. Then the order among ranks cannot
// matter, and a run that does without it gives the same times sooner.
type Independent interface {
	Model
	Independent()
}

// Profile makes models of one machine for any number of ranks.
type Profile interface {
	Model(ranks int) Model
	String() string
}
