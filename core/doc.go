// Package core is the Core API: jobs, endpoints, contexts, segments and active messages,
// and the contract that conduits implement.
//
// # Using it
//
// A program runs as a Job of ranks. Job.Attach makes the rank's Endpoint: it registers
// handlers, connects to the other ranks, and creates the segment, which may also be left to
// Context.AttachSegment. Active messages
// (RequestShort, RequestMedium, RequestLong, and Token.Reply… in handlers) run a handler
// at their destination. Handlers run only inside library calls of the destination, one at
// a time: whoever waits does so by WaitUntil, or polls.
//
//	ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: 128, Func: onHello}}})
//	err = ep.RequestShort(next, 128, 42)
//	err = ep.WaitUntil(func() bool { return arrived >= 1 })
//
// What is promised: every message is delivered exactly once if its destination polls now
// and then; a Long's payload is in place before its handler starts; everything that the
// sender wrote before sending is seen by the handler. What is not: any order between
// messages, even of one pair of ranks (Limits.Ordered says whether a conduit keeps it).
//
// A request may wait for room and runs handlers meanwhile; a reply always has room, so no
// flood of requests can deadlock. A handler may reply once, to a request only; take an
// HSL; query. Everything else it may not do: such calls, by the context that runs it,
// return a UsageError, and end the job with a message in debug mode. What a handler does by
// another context is not noticed.
//
// Calls go through a Context, one per goroutine; the Endpoint has a default one. In Many
// mode contexts may be used at the same time, in Single mode nothing is locked.
//
// # Jobs
//
// Ranks are processes (Main, with the Bootstrap of whatever started them), goroutines of
// one process (RunGoroutines), or coroutines in virtual time (RunModel); the program is the
// same. Returning nil from the body enters a final barrier that keeps serving peers. An
// error, a panic, Job.Exit or the death of a rank ends the whole job; every wait then
// returns the reason.
//
// # Writing a conduit
//
// Implement Conduit, in the order of its methods, and Register it; package loopback is
// the example to follow, package coretest the judge. The primitive is not "send these
// bytes" but "give me the place they go to": Reserve returns windows, core writes into
// them, Commit sends. Arrivals go up through Port.Dispatch.
package core
