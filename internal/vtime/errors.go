package vtime

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
)

// DeadlockError says that procs wait although nothing is left to happen.
type DeadlockError struct {
	At    Time   // of the last thing that happened
	Waits []Wait // one for every proc that has not ended, in the order of Spawn
}

// Wait is one proc's part in a deadlock.
type Wait struct {
	Proc  string // its name
	Op    string // what it waits for, as given to SetWaiting
	Since Time   // when it parked

	// Panic is the stack of a proc that waits in a deferred call because it
	// panics, and nil for others. It is the likely reason for the deadlock;
	// the value of the panic is lost.
	Panic []byte
}

// Error names every proc that waits, and what it waits for.
func (e *DeadlockError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "vtime: deadlock at %v: nothing is left to happen, but procs wait (%d):", e.At, len(e.Waits))
	for _, w := range e.Waits {
		op := w.Op
		if op == "" {
			op = "an arrival"
		}
		fmt.Fprintf(&text, "\n  %s waits for %s since %v", w.Proc, op, w.Since)
		if w.Panic != nil {
			text.WriteString(", in a deferred call while it panics")
		}
	}
	for _, w := range e.Waits {
		if w.Panic != nil {
			fmt.Fprintf(&text, "\n\npanic of %s:\n%s", w.Proc, w.Panic)
		}
	}
	return text.String()
}

// deadlock reports all procs that have not ended. Each notes its panic in its
// entry when it is unwound.
func (k *Kernel) deadlock() *DeadlockError {
	var stuck []*Proc
	for _, p := range k.procs {
		if !p.ended {
			stuck = append(stuck, p)
		}
	}
	e := &DeadlockError{At: k.now, Waits: make([]Wait, len(stuck))}
	for i, p := range stuck {
		e.Waits[i] = Wait{Proc: p.name, Op: p.op, Since: p.since}
		p.stuck = &e.Waits[i]
	}
	return e
}

// notePanic is called by the proc itself. That it panics shows nowhere but on
// its stack, since no deferred call has recovered yet.
func (w *Wait) notePanic() {
	if stack := debug.Stack(); w.Panic == nil && bytes.Contains(stack, []byte("\npanic(")) {
		w.Panic = stack
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
