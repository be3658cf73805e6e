package spawner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// strayTime is how long the output stays open after the ranks have ended, for processes of
// theirs that have escaped and still hold it.
const strayTime = time.Second

// output is where the ranks' output and the launcher's own messages go.
type output struct {
	out, err  *sink
	dir       string
	pipes     pipes          // of ranks on this host
	group     sync.WaitGroup // of what comes from other hosts
	own       *stream
	messages  chan remark   // nil when nothing may be reported any more
	delivered chan struct{} // closed when all messages are

	failed func(error)
	mu     sync.Mutex
	lost   error // the first of writing
}

// remark is what the launcher itself writes.
type remark struct {
	text string
	then func() // called when text and all before it are written, unless nil
}

// newOutput makes the output of a job. failed hears of errors of writing.
func newOutput(spec *Spec, failed func(err error)) (*output, error) {
	if spec.OutputDir != "" {
		if err := os.MkdirAll(spec.OutputDir, 0o777); err != nil {
			return nil, fmt.Errorf("output directory: %w", err)
		}
	}
	o := &output{dir: spec.OutputDir, messages: make(chan remark, 64+3*spec.N), failed: failed}
	o.pipes.lineWait = lineWait
	o.out = newSink(spec.Stdout, "standard output", spec.TagOutput, spec.Timestamps, o.fail)
	o.err = o.out
	if !sameWriter(spec.Stdout, spec.Stderr) {
		o.err = newSink(spec.Stderr, "standard error", spec.TagOutput, spec.Timestamps, o.fail)
	}
	o.own = &stream{to: o.err}
	messages := o.messages
	o.delivered = done(func() {
		for m := range messages {
			if m.text != "" {
				o.err.write(o.own, []byte(m.text))
			}
			if m.then != nil {
				m.then()
			}
		}
	})
	return o, nil
}

// sameWriter reports whether both lead to one place, such as a terminal.
func sameWriter(a, b io.Writer) bool {
	fa, ok := a.(*os.File)
	fb, ok2 := b.(*os.File)
	if ok && ok2 {
		sa, err := fa.Stat()
		sb, err2 := fb.Stat()
		return err == nil && err2 == nil && os.SameFile(sa, sb)
	}
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

// attach begins to collect the output of a rank and returns the ends of the pipes that
// the rank gets as standard output and standard error.
func (o *output) attach(rank int) (stdout, stderr *os.File, err error) {
	out, errs, err := o.streams(rank)
	if err != nil {
		return nil, nil, err
	}
	return o.pipes.open(out, errs)
}

// streams returns those of a rank.
func (o *output) streams(rank int) (out, errs *stream, err error) {
	if out, err = o.stream(rank, o.out, "out"); err != nil {
		return nil, nil, err
	}
	if errs, err = o.stream(rank, o.err, "err"); err != nil {
		out.abandon()
		return nil, nil, err
	}
	return out, errs, nil
}

func (o *output) stream(rank int, k *sink, suffix string) (s *stream, err error) {
	s = &stream{rank: rank, to: k, failed: k.failed, tag: fmt.Appendf(nil, "[%d] ", rank)}
	if o.dir != "" {
		s.file, err = os.Create(filepath.Join(o.dir, fmt.Sprintf("rank.%d.%s", rank, suffix)))
	}
	return s, err
}

// report writes a message of the launcher itself. It never blocks: what a stuck standard
// error cannot take is dropped, so that it cannot keep a job from ending.
func (o *output) report(format string, args ...any) {
	o.say(remark{text: fmt.Sprintf("aqueduct: "+format+"\n", args...)})
}

// reported has then called, on another goroutine, when the messages until now are written. It is not called if standard error is stuck.
func (o *output) reported(then func()) { o.say(remark{then: then}) }

func (o *output) say(m remark) {
	select {
	case o.messages <- m:
	default:
	}
}

// tagLines makes all output carry tags from now on.
func (o *output) tagLines() {
	o.out.tagged.Store(true)
	o.err.tagged.Store(true)
}

// fail notes an error of writing.
func (o *output) fail(err error) {
	o.mu.Lock()
	if o.lost == nil {
		o.lost = err
	}
	o.mu.Unlock()
	o.failed(err)
}

// failure returns the first error of writing.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// drain is called when the ranks have ended. The channel is closed when everything they
// have written is delivered.
func (o *output) drain() <-chan struct{} {
	o.pipes.endBy(time.Now().Add(strayTime))
	return done(func() {
		o.pipes.group.Wait()
		o.group.Wait()
	})
}

// finish makes further reports vanish. The channel is closed when the earlier ones are
// delivered.
func (o *output) finish() <-chan struct{} {
	close(o.messages)
	o.messages = nil
	return o.delivered
}

// close has nothing begin to be written any more, by streams that were given up.
func (o *output) close() {
	o.out.closed.Store(true)
	o.err.closed.Store(true)
}

// done runs f on a goroutine of its own and closes the channel when it returns.
func done(f func()) chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		f()
	}()
	return c
}
