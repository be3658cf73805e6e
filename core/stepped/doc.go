// Package stepped lets the ranks of a modelled job be processes of their own, whose variables and memory are private, as those of
// a program in C.
//
// The model's process has the modelled conduits, and for each rank a coroutine (core.RunSeats) at one end of a socket; the rank's
// process is at the other. There it has all of core and what lies above, over a conduit that hands each call of the contract to
// the model's process (core.JoinStepped). So virtual time passes, and messages go, as if the rank were a coroutine itself: the model
// gets the same calls in the same order, and a trace of the run is the same byte for byte.
//
// # Turns
//
// A rank sends a call and waits for the answer. The coroutine that has got the answer to give waits for the next call, and with it
// the whole model. So one rank runs at a time: the one whose turn it is. While a call is carried out the model may call the rank, to run a
// handler or to say where it is; the rank then calls in its turn before it answers. Time that a rank charges is
// told with its next call, and what has completed meanwhile with each frame that goes to the rank.
//
// The segment is memory of both processes. Other payloads are copied with the calls.
//
// # The end
//
// A rank that ends the job says so and leaves. When the job is over otherwise, the others are told in place of an answer. A process that
// has ended without a word is noticed at its rank's turn.
package stepped
