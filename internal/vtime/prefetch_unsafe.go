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

// foresee prefetches for what comes first in the queue, as far as that is known
// without looking for it.
func (k *Kernel) foresee() {
	q := &k.queue.entries
	if q.head == len(q.run) {
		return
	}
	e := &q.run[q.head]
	if e.key&wakeup == 0 {
		cpu.Prefetch(unsafe.Pointer(&k.queue.values[e.slot&^timerEntry]))
		return
	}
	t := &k.trails[e.key&^wakeup]
	cpu.PrefetchLines(t.proc, procLines)
	cpu.PrefetchLines(t.goroutine, goroutineLines)
	cpu.PrefetchLines(t.stack-switchLines*cacheLine, switchLines+callerLines)
}
