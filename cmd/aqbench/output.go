package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
)

// standard is standard output, where an option takes a file.
const standard = "-"

// writable fails if the file cannot be written, and leaves it as it is: an output is checked
// before the measuring that it is for.
func writable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		return file.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unix.Access(filepath.Dir(path), unix.W_OK); err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return nil
}

// progress is an encoder that says on standard error which series is finished.
type progress struct {
	bench.Encoder
	verb   string
	stderr io.Writer
	start  time.Time
}

// newProgress returns one around the encoder of a verb's report. Time counts from now on.
func newProgress(enc bench.Encoder, verb string, stderr io.Writer) *progress {
	return &progress{enc, verb, stderr, time.Now()}
}

// say writes a line.
func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.stderr, "aqbench %s: %s\n", p.verb, fmt.Sprintf(format, args...))
}

// Series implements bench.Encoder.
func (p *progress) Series(s *bench.Series) error {
	p.say("%.1f s: %s", time.Since(p.start).Seconds(), s.Label())
	return p.Encoder.Series(s)
}
