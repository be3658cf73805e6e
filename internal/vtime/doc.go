// Package vtime is the deterministic discrete-event kernel below modelled
// jobs: a clock in picoseconds, a queue of events, and procs, the coroutines
// in which the ranks of a job run.
//
// # Loops
//
// Hardware, and the programs in it, need the clock and the events alone: a
// [Loop], with its [Timer]s and beside it [Resource]s. Three things drive one:
//
//   - a [Simulation] by itself: without ranks, as far as its user likes;
//   - a [Kernel] by the coroutines of ranks: the rest of this page;
//   - a [Live] by the host's clock: events fire when it reaches their time.
//
// What is written for a Loop runs unchanged by each. What it may count on in all: events
// fire one at a time, in the order of their times, none before its time, and run to their end.
// In virtual time an event fires exactly when it is due; live it may be late.
//
// # Time
//
// A [Kernel] takes what is due from its queue, earliest first, and sets its
// clock to each. Two kinds of thing are due: events, which are calls of a
// [Target] that run to their end (a message arrives, a link falls idle, a timer
// expires), and the wake-ups of procs. What is due at the same time happens by
// a fixed rule:
//
//   - events before procs, so that a proc sees all that arrives at its time;
//   - events in the order in which they were scheduled;
//   - procs in the order in which they were spawned.
//
// Nothing else has a say, neither the Go scheduler nor the wall clock, and
// random numbers come from [Loop.Rand]. One seed gives one run.
//
// # Procs run ahead
//
// The body of a [Proc] is ordinary Go code, for which no time passes except by
// [Proc.Charge]. That only adds to the proc's lag: the proc is then ahead of
// the kernel, and stamps what it does with its own time, [Proc.Now]:
//
//	p.Charge(headerBuild)
//	k.At(p.Now()+latency, link, dst, n)
//
// Before it looks at anything that events or other procs change, it calls
// [Proc.Sync], which brings the kernel to the proc's time. So between two looks
// a proc costs nothing but the code it runs, a Sync with nothing due is a
// comparison, and events are fired on the stack of whichever proc waits;
// coroutines are switched only when another proc is due, straight to that.
// What only one proc can see a model may put off until that proc looks: see [Proc.BeforeLook].
//
// # Waiting
//
// A rank that waits polls, and each empty poll costs some time. Instead of
// modelling a million empty polls, it parks after the first:
//
//	for {
//		seen := p.Arrivals // before looking
//		if done() {
//			return
//		}
//		t0 := p.Now()
//		if poll() > 0 || p.Arrivals != seen {
//			continue // something may have come while the poll was in Sync
//		}
//		p.Park(p.Now() - t0) // the period is what the empty poll cost
//	}
//
// Every event that could end a wait calls [Proc.Arrive]. That wakes a parked
// proc on its poll grid: at the time of the first poll that would have seen
// the arrival. As long as empty polls cost the same, parking is therefore the
// same as spinning, to the picosecond and in every tie, with one exception: if
// two procs act at the same picosecond and one reaches the other with no delay
// at all, a spinning proc that has already had its turn would notice one poll
// later than a parked one.
//
// No arrival is lost: nothing happens in the kernel between the comparison of
// Arrivals and the parking, and what falls due in between, because the poll
// was charged for after it looked, wakes the proc at the start of its grid.
//
// A proc may be able to tell, without a Sync, that its next poll would find nothing
// unless something calls Arrive before. It may then park in place of that poll, at
// its own time and with the poll's cost as the period. That saves a switch.
//
// A poll must cost something. A loop around a free one never lets time pass.
//
// # Timers, resources, traces
//
// A [Timer] is an event that can be moved and called off, as time-outs are; what
// was called off does not happen in any respect. A [Resource] serves its users
// one after the other and counts how busy it was, for the report ([Loop.CountUsage]). [Loop.Trace] writes all that
// happens, the same bytes in equal runs; so the words of events, and labels, must
// not hold addresses.
//
// # Host time
//
// Only two things look at the host. [Kernel.Watchdog] ends a run in which a body
// blocks its goroutine other than through the kernel, and names it; a run in
// which nobody does so is not influenced. And models may let time pass as it was
// measured on the host; they call [Loop.Disturb], so that everybody knows.
//
// The kernel's calls panic in goroutines that are not its own, where the
// architecture lets them be told apart (amd64, arm64).
//
// # The end
//
// [Kernel.Run] returns when every body has returned. It ends early when nothing
// is left to happen but procs are parked, or nothing that wakes one (a [DeadlockError] names each and what
// it waits for), when a body or an event panics (a [PanicError]), when all procs
// that have not ended were lost ([Proc.Lose]), or when something calls
// [Kernel.Unwind]. Then all coroutines are unwound, one after
// the other: the deferred calls of each run, and recover returns nil in them,
// as after runtime.Goexit. If a deferred call wants to wait it is cut short,
// and the next one runs. Nothing hangs, and no goroutine is left, but after a
// [BlockedError], since nobody can end a blocked goroutine.
package vtime
