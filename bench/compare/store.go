package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aqueduct-go/aqueduct/bench"
)

// A Store has the lines of tasks that have ended, and writes them to a file as they come, if there is one.
type Store struct {
	Lines []*bench.Line
	tasks map[string][]*bench.Line
	file  *os.File
}

// NewStore returns a store that writes to a file, which there must not be; "": to none.
func NewStore(path string) (*Store, error) {
	s := &Store{tasks: make(map[string][]*bench.Line)}
	if path == "" {
		return s, nil
	}
	var err error
	if s.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w; give another name, or --resume %s to continue it", err, path)
	}
	return s, err
}

// Resume returns a store with what a file has of the tasks, which goes on to be written. A task of which lines are missing, as their writing
// was interrupted, is dropped. A file that has other tasks was measured with other options, and is left as it is.
func Resume(path string, tasks []Task) (*Store, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines, err := bench.ReadLines(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	known := make(map[string]bool)
	for i := range tasks {
		known[tasks[i].Name()] = true
	}
	whole := make(map[string]int)
	for _, l := range lines {
		if !known[l.Task] {
			return nil, fmt.Errorf("%s has %q, which these options do not measure; give those with which it was written", path, l.Task)
		}
		whole[l.Task]++
	}
	s := &Store{tasks: make(map[string][]*bench.Line)}
	var kept bytes.Buffer
	for _, l := range lines {
		if whole[l.Task] != l.TaskLines {
			continue
		}
		s.keep(l)
		if err := l.Write(&kept); err != nil {
			return nil, err
		}
	}
	return s, s.replace(path, kept.Bytes())
}

// replace makes the file of a text, at once, and opens it to be continued.
func (s *Store) replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(0o644)); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	s.file = file
	return nil
}

func (s *Store) keep(l *bench.Line) {
	s.Lines = append(s.Lines, l)
	s.tasks[l.Task] = append(s.tasks[l.Task], l)
}

// Has reports whether a task has ended.
func (s *Store) Has(t *Task) bool { return len(s.tasks[t.Name()]) > 0 }

// LinesOf returns what a task has measured.
func (s *Store) LinesOf(t *Task) []*bench.Line { return s.tasks[t.Name()] }

// Add stores what a task has measured, by one write.
func (s *Store) Add(t *Task, h *bench.Header, series []*bench.Series) error {
	var lines []*bench.Line
	for _, each := range series {
		for i := range each.Results {
			line, err := bench.NewLine(h, each, &each.Results[i])
			if err != nil {
				return err
			}
			line.Task = t.Name()
			lines = append(lines, line)
		}
	}
	var text bytes.Buffer
	for _, line := range lines {
		line.TaskLines = len(lines)
		if err := line.Write(&text); err != nil {
			return err
		}
	}
	again, err := bench.ReadLines(bytes.NewReader(text.Bytes())) // as a file has them
	if err != nil {
		return err
	}
	for _, l := range again {
		s.keep(l)
	}
	if s.file == nil {
		return nil
	}
	_, err = s.file.Write(text.Bytes())
	return err
}

// Close closes the file.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Report writes all results to the encoder, those of all rounds of a task together.
func (s *Store) Report(enc bench.Encoder) error {
	merged, err := bench.Merge(s.Lines)
	if err != nil {
		return err
	}
	var pending *bench.Series
	var header *bench.Header
	flush := func() error {
		if pending == nil {
			return nil
		}
		return enc.Series(pending)
	}
	for _, l := range merged {
		series, err := l.Series()
		if err != nil {
			return err
		}
		if pending != nil && pending.Family == series.Family && pending.Label() == series.Label() && header.Ranks == l.Header.Ranks {
			pending.Results = append(pending.Results, series.Results...)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if header == nil || *header != *l.Header {
			if err := enc.Header(l.Header); err != nil {
				return err
			}
		}
		pending, header = series, l.Header
	}
	return flush()
}
