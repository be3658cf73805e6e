package coretest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// T is one rank's part in a running case.
type T struct {
	*core.Job
	c    *Case
	side side
	err  atomic.Pointer[error]
}

// side is how ranks and launcher communicate besides the conduit.
type side interface {
	print(line string)
	kill(r core.Rank)
	note(name string)
	noted(name string) bool
	said(text string) bool
}

// run executes a case's body as the rank j.
func run(c *Case, j *core.Job, s side) error {
	t := &T{Job: j, c: c, side: s}
	err := c.Body(t)
	if first := t.Err(); first != nil {
		return first
	}
	return err
}

// Errorf says that the rule is broken, whatever the outcome: it ends waits by Wait and,
// once the body has returned, the job. The first call counts. Handlers and any goroutine
// may call it.
func (t *T) Errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if t.err.CompareAndSwap(nil, &err) {
		t.side.print(fmt.Sprintf("%srank %d: %v\n", brokenMark, t.Rank(), err))
	}
}

// Err returns what Errorf noted.
func (t *T) Err() error {
	if p := t.err.Load(); p != nil {
		return *p
	}
	return nil
}

// Wait is c.WaitUntil(cond) that also ends, with the error, when Errorf was called.
func (t *T) Wait(c *core.Context, cond func() bool) error {
	if err := c.WaitUntil(func() bool { return t.err.Load() != nil || cond() }); err != nil {
		return err
	}
	return t.Err()
}

// Printf prints a line into the outcome's output.
func (t *T) Printf(format string, args ...any) { t.side.print(fmt.Sprintf(format, args...) + "\n") }

// Skipf says that the case does not apply, which only the running job could know.
func (t *T) Skipf(format string, args ...any) {
	t.side.print(skipMark + fmt.Sprintf(format, args...) + "\n")
}

// Beginnings of lines by which a rank skips its case and says that the rule is broken.
const (
	skipMark   = "coretest: skip: "
	brokenMark = "coretest: broken: "
)

// Kill asks the launcher to end rank r as SIGKILL does. It returns at once; the loss shows
// as the failure of the job.
func (t *T) Kill(r core.Rank) { t.side.kill(r) }

// Note makes a name known to all ranks without any message.
func (t *T) Note(name string) { t.side.note(name) }

// Noted reports whether a rank has called Note with the name. With it a rank that computes,
// and so does not poll, learns when to stop.
func (t *T) Noted(name string) bool { return t.side.noted(name) }

// Said reports whether the outcome's output holds a text by now: what the library reports to people too.
// It does not poll.
func (t *T) Said(text string) bool { return t.side.said(text) }

// Meet returns when all ranks have called it with the name: a barrier that sends no
// message. It polls meanwhile.
func (t *T) Meet(ep *core.Endpoint, name string) error {
	t.Note(fmt.Sprint(name, t.Rank()))
	for r := range t.Size() {
		for !t.Noted(fmt.Sprint(name, r)) {
			if err := ep.Poll(); err != nil {
				return err
			}
			runtime.Gosched()
		}
	}
	return t.Err()
}

// Next returns the rank after this one, counted round.
func (t *T) Next() core.Rank { return (t.Rank() + 1) % core.Rank(t.Size()) }

// Others calls f for every other rank, beginning with the next.
func (t *T) Others(f func(core.Rank) error) error {
	for i := 1; i < t.Size(); i++ {
		if err := f((t.Rank() + core.Rank(i)) % core.Rank(t.Size())); err != nil {
			return err
		}
	}
	return nil
}

// Rand returns a source of random numbers that is the same in every run.
func (t *T) Rand() *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(t.c.Name))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(t.Rank())))
}

// Times returns how often to do what is done n times at scale 1. The race detector makes
// everything slower, so that under it a quarter is enough.
func (t *T) Times(n int) int {
	if shm.RaceEnabled {
		n = max(1, n/4)
	}
	return n * scale()
}

// scale reads AQ_TEST_SCALE.
func scale() int {
	n, err := strconv.Atoi(os.Getenv("AQ_TEST_SCALE"))
	if err != nil {
		return 1
	}
	return max(n, 1)
}
