package spawner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxLine is how much of a line is held back until its end has come.
	maxLine = 64 << 10
	// strayTime is how long the output stays open after the ranks have ended, for
	// processes of theirs that have escaped and still hold it.
	strayTime = time.Second
)

// sink is one destination of output, where lines of several streams meet. A line longer
// than maxLine is written in pieces; when another stream comes between two pieces, the
// first gets a newline and the second begins like a line.
type sink struct {
	tagged atomic.Bool // lines begin with their stream's tag
	mu     sync.Mutex
	w      io.Writer
	open   *stream // whose unfinished line was written last
	buf    []byte
	err    error           // the first error; nothing is written after it
	failed func(err error) // hears of it
}

// write writes complete lines, or a piece of a long line, of a stream.
func (k *sink) write(s *stream, data []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf = k.buf[:0]
	if k.open != nil && k.open != s {
		k.buf = append(k.buf, '\n')
		k.open = nil
	}
	tagged := k.tagged.Load()
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		if !tagged || n == 0 {
			n = len(data)
		}
		if tagged && k.open == nil {
			k.buf = append(k.buf, s.tag...)
		}
		k.buf = append(k.buf, data[:n]...)
		k.open = s
		if data[n-1] == '\n' {
			k.open = nil
		}
		data = data[n:]
	}
	k.flush()
}

// finish ends the unfinished line that s may have left. Untagged output stays byte for
// byte what the rank wrote.
func (k *sink) finish(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tagged.Load() && k.open == s {
		k.buf = append(k.buf[:0], '\n')
		k.open = nil
		k.flush()
	}
}

func (k *sink) flush() {
	if k.err != nil {
		return
	}
	if _, k.err = k.w.Write(k.buf); k.err != nil {
		k.failed(k.err)
	}
}

// stream is one rank's standard output or standard error on its way to a sink.
type stream struct {
	sink *sink
	tag  []byte   // "[rank] "
	file *os.File // gets a copy, if not nil
}

// copyFrom passes on what comes out of the pipe until its end, and closes it.
func (s *stream) copyFrom(pipe *os.File) {
	defer pipe.Close()
	held := make([]byte, 0, 4096)
	for {
		n, err := readPipe(pipe, held[len(held):cap(held)])
		s.save(held[len(held) : len(held)+n])
		held = s.pass(held[:len(held)+n])
		if err != nil {
			break
		}
	}
	if len(held) > 0 {
		s.sink.write(s, held)
	}
	s.sink.finish(s)
	if s.file != nil {
		s.file.Close()
	}
}

// pass writes the complete lines in held and returns the rest, with room to read more.
func (s *stream) pass(held []byte) []byte {
	if n := bytes.LastIndexByte(held, '\n') + 1; n > 0 {
		s.sink.write(s, held[:n])
		return held[:copy(held, held[n:])]
	}
	switch {
	case len(held) < cap(held):
	case len(held) < maxLine:
		held = append(make([]byte, 0, 2*len(held)), held...)
	default:
		s.sink.write(s, held)
		held = held[:0]
	}
	return held
}

// save writes the bytes to the stream's file.
func (s *stream) save(data []byte) {
	if s.file == nil || len(data) == 0 {
		return
	}
	if _, err := s.file.Write(data); err != nil {
		s.sink.failed(err)
		s.file.Close()
		s.file = nil
	}
}

// readPipe reads from the pipe. After its deadline it returns what is there at once and
// then io.EOF, so that a slow reader at the other end of a sink loses nothing.
func readPipe(pipe *os.File, b []byte) (n int, err error) {
	n, err = pipe.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) }); cerr != nil {
		return 0, cerr
	}
	if err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}

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

func newSink(w io.Writer, name string, tagged bool, failed func(error)) *sink {
	if w == nil {
		w = io.Discard
	}
	k := &sink{w: w, failed: func(err error) { failed(fmt.Errorf("%s: %w", name, err)) }}
	k.tagged.Store(tagged)
	return k
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
