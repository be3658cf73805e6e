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
	out, err *sink
	dir      string
	pipes    []*os.File
	group    sync.WaitGroup
	messages chan string
	own      *stream
}

// newOutput makes the output of a job. failed hears of the first error of each sink.
func newOutput(spec *Spec, failed func(err error)) (*output, error) {
	if spec.OutputDir != "" {
		if err := os.MkdirAll(spec.OutputDir, 0o777); err != nil {
			return nil, err
		}
	}
	o := &output{dir: spec.OutputDir, messages: make(chan string, 64+3*spec.N)}
	o.out = newSink(spec.Stdout, "standard output", spec.TagOutput, failed)
	o.err = o.out
	if !sameWriter(spec.Stdout, spec.Stderr) {
		o.err = newSink(spec.Stderr, "standard error", spec.TagOutput, failed)
	}
	o.own = &stream{sink: o.err}
	o.group.Go(o.deliver)
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
	stdout, err = o.stream(rank, o.out, "out")
	if err != nil {
		return nil, nil, err
	}
	stderr, err = o.stream(rank, o.err, "err")
	if err != nil {
		stdout.Close()
		return nil, nil, err
	}
	return stdout, stderr, nil
}

func (o *output) stream(rank int, k *sink, suffix string) (w *os.File, err error) {
	s := &stream{sink: k, tag: fmt.Appendf(nil, "[%d] ", rank)}
	if o.dir != "" {
		s.file, err = os.Create(filepath.Join(o.dir, fmt.Sprintf("rank.%d.%s", rank, suffix)))
		if err != nil {
			return nil, err
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		if s.file != nil {
			s.file.Close()
		}
		return nil, err
	}
	o.pipes = append(o.pipes, r)
	o.group.Go(func() { s.copyFrom(r) })
	return w, nil
}

// report writes a message of the launcher itself. It never blocks: what a stuck standard
// error cannot take is dropped, so that it cannot keep a job from ending.
func (o *output) report(format string, args ...any) {
	select {
	case o.messages <- fmt.Sprintf("aqueduct: "+format+"\n", args...):
	default:
	}
}

func (o *output) deliver() {
	for m := range o.messages {
		o.own.sink.write(o.own, []byte(m))
	}
}

// tagLines makes all output carry tags from now on.
func (o *output) tagLines() {
	o.out.tagged.Store(true)
	o.err.tagged.Store(true)
}

// finish returns when everything the ranks have written is delivered. It is called when
// they have ended; nothing may be reported any more.
func (o *output) finish() {
	for _, p := range o.pipes {
		p.SetReadDeadline(time.Now().Add(strayTime))
	}
	close(o.messages)
	o.group.Wait()
}
