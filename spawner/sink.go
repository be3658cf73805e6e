package spawner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxLine is how much of a line is held back until its end has come.
const maxLine = 64 << 10

// sink is one destination of output, where lines of several streams meet. A line longer
// than maxLine is written in pieces; when another stream comes between two pieces, the
// first gets a newline and the second begins like a line.
type sink struct {
	tagged  atomic.Bool // lines begin with their stream's tag
	stamped bool        // before that, lines begin with the time
	closed  atomic.Bool // nothing is written any more
	mu      sync.Mutex
	w       io.Writer
	name    string
	open    *stream // whose unfinished line was written last
	buf     []byte
	err     error           // the first error; nothing is written after it
	failed  func(err error) // hears of it
}

func newSink(w io.Writer, name string, tagged, stamped bool, failed func(error)) *sink {
	if w == nil {
		w = io.Discard
	}
	k := &sink{w: w, name: name, stamped: stamped, failed: failed}
	k.tagged.Store(tagged)
	return k
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
	var stamp []byte
	if k.stamped {
		stamp = time.Now().UTC().AppendFormat(make([]byte, 0, len(stampLayout)), stampLayout)
	}
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		if !tagged && !k.stamped || n == 0 {
			n = len(data)
		}
		if k.open == nil {
			k.buf = append(k.buf, stamp...)
			if tagged {
				k.buf = append(k.buf, s.tag...)
			}
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

// stampLayout is that of the time at the beginning of a line: RFC 3339 with milliseconds, in UTC, so that all are of one length and sort.
const stampLayout = "2006-01-02T15:04:05.000Z "

// finish ends the unfinished line that s may have left. Output without tags and times stays byte for
// byte what the rank wrote.
func (k *sink) finish(s *stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if (k.tagged.Load() || k.stamped) && k.open == s {
		k.buf = append(k.buf[:0], '\n')
		k.open = nil
		k.flush()
	}
}

func (k *sink) flush() {
	if k.err != nil || k.closed.Load() {
		return
	}
	if _, k.err = k.w.Write(k.buf); k.err != nil {
		k.failed(fmt.Errorf("%s: %w", k.name, k.err))
	}
}

// lineWait is how long an unfinished line, such as a prompt, is held back: no longer than
// people take for at once, yet longer than a program pauses within a line. The Job tells agents.
var lineWait = 200 * time.Millisecond

// destination is where the output of ranks goes: a sink, or on another host an outflow.
type destination interface {
	// write passes on complete lines, or a piece of a long line, of a stream.
	write(s *stream, data []byte)
	// finish ends the stream.
	finish(s *stream)
}

// stream is one rank's standard output or standard error on its way.
type stream struct {
	rank   int
	to     destination
	failed func(err error) // hears of errors of writing to file
	tag    []byte          // "[rank] "
	file   *os.File        // gets a copy, if not nil
	pipe   *os.File        // where it comes from; nil if an agent sends it

	lineWait time.Duration // how long an unfinished line is held back

	mu    sync.Mutex
	limit time.Time // when reading ends although the pipe does not; zero: never
}

// copy passes on what comes out of the pipe until its end, and closes it.
func (s *stream) copy() {
	defer s.pipe.Close()
	held := make([]byte, 0, 4096)
	for {
		n, err := s.read(held[len(held):cap(held)], len(held) > 0)
		s.save(held[len(held) : len(held)+n])
		held = s.pass(held[:len(held)+n])
		if err != nil && len(held) > 0 {
			s.to.write(s, held)
			held = held[:0]
		}
		if err != nil && err != errSilent {
			break
		}
	}
	s.finish()
}

// finish ends the stream and its file.
func (s *stream) finish() {
	s.to.finish(s)
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			s.failed(err)
		}
	}
}

// pass writes the complete lines in held and returns the rest, with room to read more.
func (s *stream) pass(held []byte) []byte {
	if n := bytes.LastIndexByte(held, '\n') + 1; n > 0 {
		s.to.write(s, held[:n])
		return held[:copy(held, held[n:])]
	}
	switch {
	case len(held) < cap(held):
	case len(held) < maxLine:
		held = append(make([]byte, 0, 2*len(held)), held...)
	default:
		s.to.write(s, held)
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
		s.failed(err)
		s.file.Close()
		s.file = nil
	}
}

// endBy has the stream end at the limit: its ranks have ended, and who else still holds
// the pipe is not waited for.
func (s *stream) endBy(limit time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.pipe.SetReadDeadline(limit)
}

// setDeadline ends the next read at the limit, or after a silence if that is sooner and
// somebody waits for what is held.
func (s *stream) setDeadline(waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.limit
	if soon := time.Now().Add(s.lineWait); waited && (d.IsZero() || soon.Before(d)) {
		d = soon
	}
	s.pipe.SetReadDeadline(d)
}

// atLimit reports whether the limit has come.
func (s *stream) atLimit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.limit.IsZero() && !time.Now().Before(s.limit)
}

// errSilent reports that nothing has come for a while.
var errSilent = errors.New("silence")

// read reads from the pipe; only if waited is set does it fail with errSilent. After the
// limit it returns what is there at once and then io.EOF, so that a slow reader at the
// other end of a sink loses nothing. What is there is no silence either, however late it is read.
func (s *stream) read(b []byte, waited bool) (n int, err error) {
	s.setDeadline(waited)
	n, err = s.pipe.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) }); cerr != nil {
		return 0, cerr
	}
	switch {
	case err == unix.EAGAIN && !s.atLimit():
		return 0, errSilent
	case err != nil || n <= 0:
		return 0, io.EOF
	}
	return n, nil
}
