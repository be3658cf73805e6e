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
type trail struct {
	proc, goroutine, stack uintptr
	coroutine, call        uintptr // on which the goroutine sleeps, and the function that wakes it there
}

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

// leaveTrail notes where the caller's goroutine is going to sleep, on a coroutine that is the next one's
// until then, and what is called there to wake it: that of next and yield which it does not call itself. Its
// stack may have moved when it wakes: then the hint is of no use, and does no harm.
func (p *Proc) leaveTrail(at *coroutine) {
	var here byte
	call := *(*uintptr)(unsafe.Pointer(&at.next))
	if !at.entered {
		call = *(*uintptr)(unsafe.Pointer(&at.yield))
	}
	*p.trail = trail{uintptr(unsafe.Pointer(p)), p.self, uintptr(unsafe.Pointer(&here)), uintptr(unsafe.Pointer(at)), call}
}

// manyProcs is from how many procs on the caches do not hold what they need.
const manyProcs = 128

// How many entries ahead of the first foresee looks: for where something is that happens; when
// that is in the caches, for what it is; and then for what the first word of that leads to. An event
// takes some 50 ns, and memory 100 ns.
const (
	slotsAhead   = 8
	targetsAhead = 4
	firstAhead   = 1
)

// targetLines is how much of a target is prefetched: a packet of package hardware needs two lines.
const targetLines = 2

// firstLines is how much is prefetched of what the first word of a target leads to: of a site of package
// hardware it is the packet that is served first, which needs three lines.
const firstLines = 3

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
			cpu.Prefetch(k.valueOf(e))
		} else {
			cpu.Prefetch(unsafe.Pointer(&k.trails[e.key&^wakeup]))
		}
		if e := &run[targetsAhead]; e.key&wakeup == 0 {
			cpu.PrefetchLines(uintptr(k.targetOf(e)), targetLines)
		}
		if e := &run[firstAhead]; e.key&wakeup == 0 {
			if t := k.targetOf(e); t != nil {
				cpu.PrefetchLines(*(*uintptr)(t), firstLines) // whatever it is: a hint is no access
			}
		}
	}
	if len(run) > 0 && run[0].key&wakeup != 0 {
		t := &k.trails[run[0].key&^wakeup]
		cpu.PrefetchLines(t.coroutine, 1)
		cpu.PrefetchLines(t.call, 1)
		cpu.PrefetchLines(t.proc, procLines)
		cpu.PrefetchLines(t.goroutine, goroutineLines)
		cpu.PrefetchLines(t.stack-switchLines*cacheLine, switchLines+callerLines)
	}
}

// valueOf returns where it is written what an event's entry stands for.
func (l *Loop) valueOf(e *entry) unsafe.Pointer {
	if e.slot&timerEntry != 0 {
		return unsafe.Pointer(&l.timers.timers[e.slot&^timerEntry])
	}
	return unsafe.Pointer(&l.queue.values[e.slot])
}

// targetOf returns where an event's target is, the second word of the interface, or its timer.
func (l *Loop) targetOf(e *entry) unsafe.Pointer {
	v := l.valueOf(e)
	if e.slot&timerEntry != 0 {
		return *(*unsafe.Pointer)(v)
	}
	return (*[2]unsafe.Pointer)(v)[1]
}
