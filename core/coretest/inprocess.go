package coretest

import (
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Launchers of jobs whose ranks share this process.
var (
	Goroutines Launcher = goroutines{} // live, a goroutine for each rank
	Model      Launcher = model{}      // in virtual time, a coroutine for each rank; twice, unless Launch.Once
)

type goroutines struct{}

func (goroutines) Offers() Offer { return Live | Unwinding | Kills }

func (goroutines) Launch(t testing.TB, l *Launch) *Outcome {
	var b board
	return b.guard(t, l, func() error {
		cfg := l.Config
		cfg.Log = slog.New(slog.NewTextHandler(&b, nil))
		if cfg.Grace == 0 {
			cfg.Grace = l.Timeout // the watchdog reports ranks that hang
		}
		return core.RunGoroutines(l.Ranks, cfg, func(j *core.Job) error {
			b.joins(j)
			return run(l.Case, j, &b)
		})
	})
}

type model struct{}

func (model) Offers() Offer { return Modelled | Unwinding }

// Launch runs a job twice: both must be the same in their traces and outputs. It runs once, without a
// trace, where that is asked for, where allocations are counted, and under the race detector, which
// has nothing to do with that and makes everything slow.
func (model) Launch(t testing.TB, l *Launch) *Outcome {
	var boards [4]board // the last two for runs that find a difference
	once := func(i int, cfg core.Config) error {
		return core.RunModel(l.Ranks, cfg, func(j *core.Job) error { return run(l.Case, j, &boards[i]) })
	}
	if l.Once || l.Case.Needs&Plain != 0 || shm.RaceEnabled {
		return boards[0].guard(t, l, func() error { return once(0, l.Config) })
	}
	o := boards[0].guard(t, l, func() error { return twice(t, l.Config, once) })
	if again := boards[1].lines.String(); again != o.Output {
		t.Errorf("%s\ntwo runs differ\n--- first\n%s--- second\n%s", l.Case.Rule, o.Output, again)
	}
	return o
}

// board is the side of ranks that share a process.
type board struct {
	mu    sync.Mutex
	lines strings.Builder
	notes map[string]bool
	jobs  map[core.Rank]*core.Job // of the ranks that run, live
}

// joins notes that a rank has begun.
func (b *board) joins(j *core.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		b.jobs = make(map[core.Rank]*core.Job)
	}
	b.jobs[j.Rank()] = j
}

func (b *board) print(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines.WriteString(line)
}

// kill ends the job as the death of a rank that has begun does. Exit unwinds the goroutine that calls
// it, which is one of its own.
func (b *board) kill(r core.Rank) {
	b.mu.Lock()
	j := b.jobs[r]
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.Exit(core.StatusLost)
	}()
	<-done
}

// Write takes what the library reports.
func (b *board) Write(line []byte) (int, error) {
	b.print(string(line))
	return len(line), nil
}

func (b *board) said(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.lines.String(), text)
}

func (b *board) note(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes == nil {
		b.notes = make(map[string]bool)
	}
	b.notes[name] = true
}

func (b *board) noted(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes[name]
}

// guard runs a job under the watchdog and checks that it leaves no descriptor open.
func (b *board) guard(t testing.TB, l *Launch, job func() error) *Outcome {
	t.Helper()
	before := descriptors(t)
	done := make(chan error, 1)
	go func() { done <- job() }()
	watchdog := time.NewTimer(l.Timeout)
	defer watchdog.Stop()
	var err error
	select {
	case err = <-done:
	case <-watchdog.C:
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, j := range b.jobs {
			go j.Exit(core.StatusLost) // so that ranks which wait do not go on doing so
		}
		t.Fatalf("rule: %s\nbroken by %d ranks: the job hangs\noutput:\n%s\n%s", l.Case.Rule, l.Ranks, b.lines.String(), stacks)
	}
	for fd, what := range descriptors(t) {
		if before[fd] != what {
			t.Errorf("the job left descriptor %s open: %s", fd, what)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Outcome{Err: err, Status: core.StatusOf(err), Output: b.lines.String()}
}

// warmUp makes the Go runtime open the descriptors that it keeps.
var warmUp = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
})

// descriptors returns what this process has open, by number.
func descriptors(t testing.TB) map[string]string {
	const dir = "/proc/self/fd/"
	warmUp()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := make(map[string]string)
	for _, e := range entries {
		if what, err := os.Readlink(dir + e.Name()); err == nil { // not the one that reads the directory
			open[e.Name()] = what
		}
	}
	return open
}
