package vtime

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// A rank of a large job finds nothing in the processor's caches when it gets its
// turn, and waits for memory a dozen times. So while one proc runs, the processor
// is asked for what the next one will need. That changes nothing but the speed.

// trail tells where the memory lies that a proc needs first. Those of all procs lie
// together, so that looking one up does not wait for memory, too.
type trail struct{ proc, goroutine, stack uintptr }

// Cache lines that a waking proc touches: of its Proc and of the Go runtime's
// descriptor of its goroutine, which are their sizes, and of its stack the frames
// of the switch, below where give stands, and those of the callers, as measured.
const (
	cacheLine      = 64
	procLines      = (int(unsafe.Sizeof(Proc{})) + cacheLine - 1) / cacheLine
	goroutineLines = 7
	switchLines    = 3
	callerLines    = 9
)

// leaveTrail notes where the caller's goroutine is going to sleep. Its stack may have moved
// when it wakes: then the hint is of no use, and does no harm.
func (p *Proc) leaveTrail() {
	var here byte
	*p.trail = trail{uintptr(unsafe.Pointer(p)), p.self, uintptr(unsafe.Pointer(&here))}
}

// manyProcs is from how many procs on the caches do not hold what they need.
const manyProcs = 128

// How many entries ahead of the first foresee looks: for where something is that happens, and
// then, when that is in the caches, for what it is. An event takes some 50 ns, and memory 100 ns.
const (
	slotsAhead   = 8
	targetsAhead = 3
	firstAhead   = 1
)

// How much of a target is prefetched, and of what its first word points to, if it does: a packet of package
// hardware, and a site with the first packet that it is going to serve.
const (
	targetLines = 2
	firstLines  = 3
)

// foresee prefetches for what comes next in the queue, as far as that is known without looking
// for it.
func (k *Kernel) foresee() {
	if len(k.procs) < manyProcs {
		return
	}
	q := &k.queue.entries
	run := q.run[q.head:]
	if len(run) > slotsAhead {
		if e := &run[slotsAhead]; e.key&wakeup == 0 {
			cpu.Prefetch(unsafe.Pointer(&k.queue.values[e.slot&^timerEntry]))
		} else {
			cpu.Prefetch(unsafe.Pointer(&k.trails[e.key&^wakeup]))
		}
		if e := &run[targetsAhead]; e.key&wakeup == 0 {
			cpu.PrefetchLines(uintptr(targetOf(&k.queue.values[e.slot&^timerEntry])), targetLines)
		}
		if e := &run[firstAhead]; e.key&wakeup == 0 {
			if to := targetOf(&k.queue.values[e.slot&^timerEntry]); to != nil {
				cpu.PrefetchLines(*(*uintptr)(to), firstLines)
			}
		}
	}
	if len(run) > 0 && run[0].key&wakeup != 0 {
		t := &k.trails[run[0].key&^wakeup]
		cpu.PrefetchLines(t.proc, procLines)
		cpu.PrefetchLines(t.goroutine, goroutineLines)
		cpu.PrefetchLines(t.stack-switchLines*cacheLine, switchLines+callerLines)
	}
}

// targetOf returns where an event's target is: the second word of the interface.
func targetOf(ev *event) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&ev.to))[1] }
