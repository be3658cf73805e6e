package vtime

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// DeadlockError says that procs wait although nothing is left to happen, or nothing that ends their waits: a livelock.
type DeadlockError struct {
	At     Time   // of the last thing that happened
	Waits  []Wait // one for every proc that has not ended, in the order of Spawn
	Events uint64 // of a livelock: that have happened since a proc was woken; 0: nothing is left to happen
}

// Wait is one proc's part in a deadlock.
type Wait struct {
	Proc  string // its name
	Op    string // what it waits for, as given to SetWaiting, or as Explain has it
	Since Time   // when it parked

	// Panic is the stack of a proc that waits in a deferred call because it
	// panics, and nil for others. It is the likely reason for the deadlock;
	// the value of the panic is lost.
	Panic []byte
}

// Bounds of a deadlock's text: how many waits are told one by one, how many
// kinds of wait otherwise, how many procs of a kind by name, and how many panics.
const (
	mostWaits  = 16
	mostKinds  = 16
	mostNames  = 4
	mostPanics = 4
)

// Error names the procs that wait, and what they wait for; many that wait for
// the same in one line.
func (e *DeadlockError) Error() string {
	var text strings.Builder
	if e.Events == 0 {
		fmt.Fprintf(&text, "vtime: deadlock at %v: nothing is left to happen, but procs wait (%d):", e.At, len(e.Waits))
	} else {
		fmt.Fprintf(&text, "vtime: livelock at %v: the last %d events have woken no proc, and these wait (%d):", e.At, e.Events, len(e.Waits))
	}
	kinds := e.kinds()
	for _, k := range kinds[:min(mostKinds, len(kinds))] {
		text.WriteString("\n  " + k.String())
	}
	if more := len(kinds) - mostKinds; len(e.Waits) > mostWaits && more > 0 {
		fmt.Fprintf(&text, "\n  and %d other kinds of wait", more)
	}
	text.WriteString(e.Panics())
	return text.String()
}

// Panics tells of the procs that panic, the likely reason for the deadlock; "" if none does.
func (e *DeadlockError) Panics() string {
	var text strings.Builder
	panics := 0
	for _, w := range e.Waits {
		if w.Panic == nil {
			continue
		}
		if panics++; panics <= mostPanics {
			fmt.Fprintf(&text, "\n\npanic of %s:\n%s", w.Proc, w.Panic)
		}
	}
	if more := panics - mostPanics; more > 0 {
		fmt.Fprintf(&text, "\n\nand %d more procs that panic", more)
	}
	return text.String()
}

// waitKind is procs that wait for the same.
type waitKind struct {
	op          string
	panics      bool
	names       []string // of the first few
	procs       int
	first, last Time // when they began to wait
}

// kinds returns what procs wait for, in the order of the first of each kind. Few
// procs are kinds of their own.
func (e *DeadlockError) kinds() []*waitKind {
	type key struct {
		op     string
		panics bool
	}
	var all []*waitKind
	known := make(map[key]*waitKind)
	for _, w := range e.Waits {
		id := key{w.Op, w.Panic != nil}
		k := known[id]
		if k == nil || len(e.Waits) <= mostWaits {
			k = &waitKind{op: w.Op, panics: w.Panic != nil, first: w.Since, last: w.Since}
			known[id] = k
			all = append(all, k)
		}
		if k.procs++; len(k.names) < mostNames {
			k.names = append(k.names, w.Proc)
		}
		k.first, k.last = min(k.first, w.Since), max(k.last, w.Since)
	}
	return all
}

func (k *waitKind) String() string {
	verb, since := "waits", k.first.String()
	if k.procs > 1 {
		verb = "wait"
	}
	if k.last != k.first {
		since += " to " + k.last.String()
	}
	names := strings.Join(k.names, ", ")
	if more := k.procs - len(k.names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	op := k.op
	if op == "" {
		op = "an arrival"
	}
	text := fmt.Sprintf("%s %s for %s since %s", names, verb, op, since)
	if k.panics {
		text += ", in a deferred call while it panics"
	}
	return text
}

// deadlock reports all procs that have neither ended nor been lost. Each notes its panic in its
// entry when it is unwound.
func (k *Kernel) deadlock() *DeadlockError {
	var stuck []*Proc
	for _, p := range k.procs {
		if !p.ended && !p.lost {
			stuck = append(stuck, p)
		}
	}
	e := &DeadlockError{At: k.now, Waits: make([]Wait, len(stuck))}
	for i, p := range stuck {
		e.Waits[i] = Wait{Proc: p.name, Op: p.op, Since: p.since}
		if p.explain != nil && p.op != "" {
			e.Waits[i].Op = p.explain(p.op)
		}
		p.stuck = &e.Waits[i]
	}
	return e
}

// notePanic is called by the proc itself. That it panics shows nowhere but on
// its stack, since no deferred call has recovered yet.
func (w *Wait) notePanic() {
	if w.Panic == nil && panicking() {
		w.Panic = debug.Stack()
	}
}

// panicking reports whether a panic is unwinding the calling goroutine.
func panicking() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == "runtime.gopanic" {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// PanicError says that the body of a proc, or an event, panicked.
type PanicError struct {
	Proc  string // the proc's name; empty for an event
	At    Time   // the proc's own time, or the event's
	Value any    // of the panic
	Stack []byte // where it panicked, as debug.Stack gives it
}

// Error gives the name of the proc, the value and the stack.
func (e *PanicError) Error() string {
	who := "an event"
	if e.Proc != "" {
		who = e.Proc
	}
	return fmt.Sprintf("vtime: %s panicked at %v: %v\n\n%s", who, e.At, e.Value, e.Stack)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
