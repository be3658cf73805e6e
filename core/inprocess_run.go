package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// GoroutinesOption adjusts RunGoroutines.
type GoroutinesOption func(*inProcess)

// WithSurvey gives a function that says where all ranks are; see Table. It takes a second at most.
func WithSurvey(control func(places func() []Place)) GoroutinesOption {
	return func(g *inProcess) { control(g.places) }
}

// RunGoroutines runs a live job of n ranks as goroutines of this process, body once for
// each, and returns when all have ended: nil, or what ended the job. Ranks that compute on
// for Config.Grace after something has ended the job cannot be stopped: it returns without
// them, an error names them, and the job's memory is kept until they end.
func RunGoroutines(n int, cfg Config, body func(*Job) error, opts ...GoroutinesOption) error {
	if n < 1 {
		return fmt.Errorf("core: a job of %d ranks; need at least 1", n)
	}
	cfg = cfg.withDefaults()
	g := newInProcess(n, nil)
	g.log = cfg.Logger()
	for _, o := range opts {
		o(g)
	}
	hand := g.gather(&cfg)
	jobs := make([]*Job, n)
	var ranks sync.WaitGroup
	for r := range n {
		ranks.Go(func() { g.runGoroutine(g.ranks[r], &cfg, body, &jobs[r]) })
	}
	over := make(chan struct{})
	go func() {
		ranks.Wait()
		if g.ended != nil {
			release(jobs)
		}
		close(over)
	}()
	err := g.await(over, cfg.Grace)
	hand()
	return err
}

// await returns the job's result when over is closed, or when the grace period has passed
// since something ended the job early.
func (g *inProcess) await(over <-chan struct{}, grace time.Duration) error {
	select {
	case <-over:
		return g.result()
	case <-g.early:
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-over:
		return g.result()
	case <-late.C:
	}
	var x *ExitError
	if !errors.As(g.result(), &x) {
		return nil
	}
	reason, stack, more := strings.Cut(x.Reason, "\n")
	reason = fmt.Sprintf("%s; still running %v later: %s", reason, grace, g.running())
	if more {
		reason += "\n" + stack
	}
	return &ExitError{x.Status, reason}
}

// running names the ranks that have not ended.
func (g *inProcess) running() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	const most = 8
	var names []string
	for _, m := range g.ranks {
		if !m.over {
			names = append(names, itoa(int(m.rank)))
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return "rank " + strings.Join(names, ", ")
}

// release frees what the ranks of a failed job hold. Nobody does so before all have
// ended: peers may still look at its memory.
func release(jobs []*Job) {
	for _, j := range jobs {
		if j != nil {
			_ = j.release() // the job has an error already
		}
	}
}

// label marks the calling goroutine, and those that it starts, as a rank's in stack dumps
// and profiles.
func label(r Rank) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("rank", itoa(int(r)))))
}

// runGoroutine is the life of one rank.
func (g *inProcess) runGoroutine(m *member, cfg *Config, body func(*Job) error, out **Job) {
	label(m.rank)
	j := newJob(m, cfg, nil)
	*out = j
	j.exit, j.local = exitGoroutine, g.size > 1
	watched := make(chan struct{})
	go func() { j.watch(false); close(watched) }()
	returned := false
	defer func() {
		p, stack := recover(), debug.Stack()
		if p != nil {
			j.failing(fmt.Sprintf("panicked: %v", p))
		}
		g.mu.Lock()
		if p != nil {
			g.endLocked(2, fmt.Sprintf("rank %d panicked: %v\n%s", m.rank, p, stack))
		} else if !returned && g.ended == nil { // else it called Exit
			g.endLocked(2, fmt.Sprintf("rank %d left its main function by Goexit", m.rank))
		}
		m.closeLocked()
		g.mu.Unlock()
		<-watched
	}()
	_ = j.run(body) // its error is g.ended
	returned = true
}

// result is what the job ended with.
func (g *inProcess) result() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil || g.ended.Status == 0 {
		return nil
	}
	return g.ended
}
