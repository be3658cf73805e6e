package vtime

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// Target is the receiver of events. Fire runs to its end, and no time passes
// in it: it may schedule events, call Arrive and Unwind, but it is no proc, so
// it cannot wait. The words a and b are those given to At.
type Target interface {
	Fire(a, b uint64)
}

// Kernel holds one modelled job: its clock, its events and its procs. A
// kernel with its procs and targets belongs to one logical thread; different
// kernels share nothing and may run in parallel.
type Kernel struct {
	now    Time
	queue  queue
	seq    uint64   // events scheduled so far
	fired  uint64   // events and wake-ups that have happened
	events []event  // what the slots of entries refer to
	free   []uint32 // slots without an event

	procs   []*Proc
	running *Proc // has the turn; nil while events fire
	turn    *Proc // has it, or is being given it
	main    Proc  // stands for the loop, which has the turn when no proc is due

	trails []trail // of procs, and the loop's

	seed     uint64
	trace    *trace           // nil: none
	counted  []func() []Usage // the resources of models
	chance   string           // why the run is not deterministic; "" if it is
	switches uint64           // turns given to coroutines
	live     int              // procs that have neither ended nor been lost

	started bool
	exited  bool       // a body or an event called Goexit
	over    bool       // no event fires and no proc waits any more
	mu      sync.Mutex // guards cause
	cause   error      // what Run returns

	owner uintptr // identity of the goroutine that has the turn; 0: not known
	watch watchdog
}

// event is what happens when an entry of the queue is due.
type event struct {
	to   Target
	a, b uint64
}

// New returns a kernel at time 0. The seed decides all that is random in it.
func New(seed uint64) *Kernel {
	k := &Kernel{seed: seed}
	k.main.kernel, k.main.ended = k, true
	return k
}

// Now returns the kernel's time: that of the event which fires, or the one up
// to which the running proc has synchronised. See Proc.Now for a proc's own.
func (k *Kernel) Now() Time { return k.now }

// Events returns how many events and wake-ups have happened.
func (k *Kernel) Events() uint64 { return k.fired }

// Switches returns how often a proc was given the turn by a switch of coroutines.
func (k *Kernel) Switches() uint64 { return k.switches }

// Disturb says that something of the host, such as a time measured on it, is
// going to influence the run, which is then not deterministic. The first reason
// counts; it goes into the trace.
func (k *Kernel) Disturb(reason string) {
	if k.chance != "" {
		return
	}
	k.chance = reason
	if k.trace != nil {
		k.traced(k.trace.comment("not deterministic from %d on: %s", int64(k.now), reason))
	}
}

// Disturbed returns the reason given to Disturb, or "" for a run that depends
// on nothing but its seed.
func (k *Kernel) Disturbed() string { return k.chance }

// At schedules to.Fire(a, b) for time t. Events of one time fire in the order
// in which they were scheduled. It panics if t has passed. It allocates only
// when more events are scheduled at once than ever before.
func (k *Kernel) At(t Time, to Target, a, b uint64) {
	if t < k.now {
		panic(k.past("event", to, t))
	}
	if k.owner != 0 && k.owner != cpu.Goroutine() {
		panic(foreign("At", ""))
	}
	k.queue.push(entry{at: t, key: k.seq, slot: k.put(event{to, a, b})})
	k.seq++
}

// past says what is wrong with a time before the present one.
func (k *Kernel) past(what string, to Target, t Time) string {
	if t < 0 { // a sum that is no Time
		return fmt.Sprintf("vtime: %s for %T after the end of virtual time, which lasts 106 days; it is already %v", what, to, k.now)
	}
	return fmt.Sprintf("vtime: %s for %T scheduled at %v, but it is already %v", what, to, t, k.now)
}

// put stores an event in a free slot.
func (k *Kernel) put(ev event) uint32 {
	last := len(k.free) - 1
	if last < 0 {
		k.events = append(k.events, ev)
		return uint32(len(k.events) - 1)
	}
	slot := k.free[last]
	k.free = k.free[:last]
	k.events[slot] = ev
	return slot
}

// take empties a slot, so that the table keeps no target alive.
func (k *Kernel) take(slot uint32) event {
	ev := k.events[slot]
	k.events[slot].to = nil
	k.free = append(k.free, slot)
	return ev
}

// Rand returns a new generator. Its numbers depend on the kernel's seed and on
// purpose alone, so that one more user of chance does not change what the
// others see. Asking twice for one purpose gives the same numbers twice.
func (k *Kernel) Rand(purpose string) *rand.Rand {
	text := append(binary.LittleEndian.AppendUint64(nil, k.seed), purpose...)
	return rand.New(rand.NewChaCha8(sha256.Sum256(text)))
}
