package vtime

// Kernel holds one modelled job: a loop, and the procs whose coroutines drive it. A
// kernel with its procs and targets belongs to one logical thread; different
// kernels share nothing and may run in parallel.
type Kernel struct {
	Loop

	procs   []*Proc
	running *Proc // has the turn; nil while events fire
	turn    *Proc // has it, or is being given it
	main    Proc  // stands for the loop, which has the turn when no proc is due

	trails []trail // of procs, and the loop's

	switches uint64 // turns given to coroutines
	unended  int    // procs that have neither ended nor been lost

	started bool
	exited  bool // a body or an event called Goexit

	watch watchdog

	woken  uint64 // events until a proc was woken last
	look   uint64 // at how many events to look for a livelock
	looked Time   // at the last look
}

// New returns a kernel at time 0. The seed decides all that is random in it.
func New(seed uint64) *Kernel {
	k := &Kernel{Loop: Loop{seed: seed}}
	k.main.kernel, k.main.ended = k, true
	return k
}

// Switches returns how often a proc was given the turn by a switch of coroutines.
func (k *Kernel) Switches() uint64 { return k.switches }
