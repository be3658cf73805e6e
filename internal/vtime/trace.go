package vtime

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"strconv"
)

// Labelled is a Target that says in traces what its event is; Label is called
// just before Fire, and only when there is a trace. A target without it is
// called by its type.
type Labelled interface {
	Target
	Label(a, b uint64) string
}

// traceBuffer is how many bytes are written at once.
const traceBuffer = 64 << 10

// Digest, given to Trace, makes a number of the run instead of lines: of the times, words
// and wake-ups, not of labels, so that it costs next to nothing. Equal runs have equal
// numbers. What is written to it counts for nothing.
type Digest struct{ sum uint64 }

// Sum returns the number.
func (d *Digest) Sum() uint64 { return d.sum }

// Write does nothing.
func (d *Digest) Write(b []byte) (int, error) { return len(b), nil }

func (d *Digest) add(words ...uint64) {
	for _, w := range words {
		d.sum = bits.RotateLeft64((d.sum^w)*0x9e3779b97f4a7c15, 29)
	}
}

// trace writes what happens, a line for each thing, or adds it to a digest.
type trace struct {
	digest *Digest // nil: lines
	w      *bufio.Writer
	line   []byte
}

// Trace has the run written to w, a line for each event and for each wake-up of
// a proc: the time in picoseconds, what it is, and an event's two words. The
// words must therefore not depend on the host, as addresses would. Comments
// begin with #; the last line says how the run ended. Equal runs write equal
// bytes; a *Digest as w tells runs apart without making any. It is called before Run, with nil to write nothing. What is written is buffered; an error
// of w ends the run.
//
// What a proc does by itself between two waits is no event, nor is a Sync with
// nothing due, and what a stopped Timer would have done.
func (l *Loop) Trace(w io.Writer) {
	if l.trace = nil; w != nil {
		digest, _ := w.(*Digest)
		l.trace = &trace{digest: digest, w: bufio.NewWriterSize(w, traceBuffer)}
	}
}

// event writes what is going to fire.
func (t *trace) event(at Time, ev *event) error {
	if t.digest != nil {
		t.digest.add(uint64(at), ev.a, ev.b)
		return nil
	}
	to := ev.to
	if x, ok := to.(expiry); ok {
		to = x.Timer.to
	}
	b := t.begin(at)
	if l, ok := to.(Labelled); ok {
		b = append(b, l.Label(ev.a, ev.b)...)
	} else {
		b = append(b, reflect.TypeOf(to).String()...)
	}
	b = strconv.AppendUint(append(b, ' '), ev.a, 10)
	b = strconv.AppendUint(append(b, ' '), ev.b, 10)
	return t.end(b)
}

// wake writes which proc goes on.
func (t *trace) wake(at Time, p *Proc) error {
	if t.digest != nil {
		t.digest.add(uint64(at), p.key)
		return nil
	}
	return t.end(append(append(t.begin(at), "wake "...), p.name...))
}

// comment writes a line that no event is behind.
func (t *trace) comment(format string, args ...any) error {
	_, err := fmt.Fprintf(t.w, "# "+format+"\n", args...)
	return err
}

func (t *trace) begin(at Time) []byte {
	return append(strconv.AppendInt(t.line[:0], int64(at), 10), ' ')
}

func (t *trace) end(b []byte) error {
	t.line = append(b, '\n')
	_, err := t.w.Write(t.line)
	return err
}

// traced ends the run if its trace could not be written.
func (l *Loop) traced(err error) {
	if err != nil {
		l.end(traceError(err))
	}
}

func traceError(err error) error { return fmt.Errorf("vtime: write the trace: %w", err) }

// closeTrace writes how the run ended, and what is still buffered.
func (l *Loop) closeTrace() {
	if l.trace == nil {
		return
	}
	how := "done"
	if l.cause != nil {
		how = "failed"
	}
	_ = l.trace.comment("%s at %d: %d events", how, int64(l.now), l.fired)
	if err := l.trace.w.Flush(); err != nil && l.cause == nil { // of whatever write it was
		l.cause = traceError(err)
	}
}

// close ends a loop that its driver does not take up again.
func (l *Loop) close() error {
	l.closeTrace()
	l.trace, l.over = nil, true
	return l.cause
}
