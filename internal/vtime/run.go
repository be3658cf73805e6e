package vtime

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Spawn adds a proc that runs body from time 0; its name is for reports. All
// procs are spawned before Run. A body waits through Park alone (whoever waits
// for another proc in any other way stops the whole kernel), and must not lock
// its OS thread.
func (k *Kernel) Spawn(name string, body func(*Proc)) *Proc {
	if k.started {
		panic(fmt.Sprintf("vtime: proc %q spawned after Run was called", name))
	}
	p := &Proc{kernel: k, name: name, body: body, key: wakeup | uint64(len(k.procs))}
	k.procs = append(k.procs, p)
	return p
}

// Run runs the job. It returns nil when every proc's body has returned, each
// at its own time, or, in a kernel without procs, when no event is left;
// events that are still to come then do not fire. It returns the cause given
// to Unwind, a *PanicError if a body or an event panicked, or a *DeadlockError
// if no event was left while procs were parked, or events went on and on that woke none. In every case all procs have
// ended and their deferred calls have run. If a body or an event calls
// runtime.Goexit, as a test's FailNow does, Run passes it on to its caller.
// A kernel runs once.
func (k *Kernel) Run() error {
	if k.started {
		panic("vtime: Run called twice on one kernel")
	}
	k.started = true
	// The coroutines are made and switched on goroutines of the kernel's own:
	// the caller's may be locked to its thread, and that must be the same for
	// all of them.
	ended := make(chan struct{})
	go func() {
		returned := false
		defer k.reap(0, ended)
		defer func() {
			if !returned {
				k.exited = true
			}
			k.unwind()
			k.closeTrace()
		}()
		k.loop()
		returned = true
	}()
	if err := k.guard(ended); err != nil {
		return err
	}
	if k.exited {
		runtime.Goexit()
	}
	return k.cause
}

// loop makes the coroutines, gives the turn to the first proc due and gets it
// back when none is.
func (k *Kernel) loop() {
	k.unended = len(k.procs)
	k.look = livelockEvents
	k.trails = make([]trail, len(k.procs)+1)
	k.main.trail = &k.trails[len(k.procs)]
	k.main.begin()
	for i, p := range k.procs {
		p.trail = &k.trails[i]
		p.coroutine.start(p.run)
		p.at = &p.coroutine
		k.queue.entries.push(entry{at: k.now, key: p.key})
	}
	k.main.give(k.due())
	if k.unended > 0 && !k.over {
		k.end(k.deadlock())
	}
}

// due fires events until a proc is due, and returns that; the loop's if the run
// is over or nothing is left to happen. It runs on the stack of whoever waits.
func (k *Kernel) due() (next *Proc) {
	k.running, next = nil, &k.main
	defer k.catchEvent()
	for k.queue.entries.n > 0 && !k.over {
		if k.watch.state.Load() != quiet {
			k.answer()
			continue
		}
		if k.fired >= k.look {
			if e := k.livelock(); e != nil {
				k.end(e)
				continue
			}
		}
		e := k.queue.entries.pop()
		k.foresee()
		if e.key&wakeup != 0 {
			p := k.procs[e.key&^wakeup]
			if p.lost {
				continue
			}
			k.now = e.at
			k.fired++
			k.woken = k.fired
			if k.trace != nil {
				k.traced(k.trace.wake(e.at, p))
			}
			return p
		}
		k.fire(e)
	}
	return next
}

// catchEvent is deferred by due. It keeps an event's panic from the proc on
// whose stack the event happened to fire.
func (k *Kernel) catchEvent() {
	if v := recover(); v != nil {
		k.end(&PanicError{At: k.now, Value: v, Stack: debug.Stack()})
	}
}

// Unwind ends the run: nothing fires any more, the deferred calls of every proc
// run, proc by proc in the order of Spawn, and Run returns cause, which may be
// nil. The first call decides. From a proc's body it does not return; from an
// event, or before Run, it does.
func (k *Kernel) Unwind(cause error) {
	k.end(cause)
	if k.running != nil {
		k.running.give(&k.main)
	}
}
