package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Loss is the loss of a rank under a model: its machine stops.
type Loss struct {
	Rank Rank
	At   Time // virtual
}

// defaultBlock is how long a modelled rank may block its coroutine in host time, other than
// through the job, before the job ends. Waits of programs that are meant take less.
const defaultBlock = 2 * time.Second

// modelRun is a job in virtual time.
type modelRun struct {
	*inProcess
	cfg   Config
	jobs  []*Job       // nil where the rank is elsewhere, see Seat
	seats []*Seat      // nil where it is not
	procs []*coroutine // by rank
	lost  string       // which rank was lost first; "" if none
}

// RunModel runs a job of n ranks in virtual time, as coroutines of this process, over a
// conduit that has a model. Two runs with equal arguments do the same to the picosecond.
// body must not block but through the job, nor let other goroutines use it. A rank that
// blocks in something else for cfg.Stall ends the job, with an error that names it; its
// coroutines are then left behind, and the job's memory with them.
func RunModel(n int, cfg Config, body func(*Job) error) error {
	m, err := newModelRun(n, cfg)
	if err != nil {
		return err
	}
	for r := range n {
		m.spawn(m.ranks[r], body)
	}
	return m.run()
}

// newModelRun prepares a job of n ranks in virtual time, which has no coroutines yet.
func newModelRun(n int, cfg Config) (*modelRun, error) {
	if n < 1 {
		return nil, fmt.Errorf("core: a job of %d ranks; need at least 1", n)
	}
	drv, err := DriverByName(cfg.Conduit)
	if err != nil {
		return nil, err
	}
	if cfg.Profile, err = drv.ModelProfile(cfg.Profile); err != nil {
		return nil, err
	}
	if cfg.Stall <= 0 {
		cfg.Stall = defaultBlock
	}
	cfg = cfg.withDefaults()
	k := vtime.New(cfg.Seed)
	k.Trace(cfg.Trace)
	k.Watchdog(cfg.Stall)
	m := &modelRun{inProcess: newInProcess(n, k), cfg: cfg, jobs: make([]*Job, n), seats: make([]*Seat, n), procs: make([]*coroutine, n)}
	for _, l := range cfg.Losses {
		if l.Rank < 0 || int(l.Rank) >= n || l.At < 0 {
			return nil, fmt.Errorf("core: rank %d is to be lost at %v, in a job of %d ranks", l.Rank, l.At, n)
		}
		k.At(l.At, (*losing)(m), uint64(l.Rank), 0)
	}
	return m, nil
}

// coroutine makes a rank's coroutine, which lives as life says.
func (m *modelRun) coroutine(member *member, life func(*coroutine)) {
	c := new(coroutine)
	c.Proc = m.kernel.Spawn("rank "+itoa(int(member.rank)), func(*vtime.Proc) {
		label(member.rank)
		life(c)
	})
	member.proc, m.procs[member.rank] = c.Proc, c
}

// spawn makes a rank's coroutine.
func (m *modelRun) spawn(member *member, body func(*Job) error) {
	m.coroutine(member, func(p *coroutine) {
		j := newJob(member, &m.cfg, p)
		m.jobs[member.rank] = j
		j.local = true
		j.exit = func(int) {
			for {
				p.Park(0) // the kernel unwinds the coroutine here
			}
		}
		_ = j.run(body)
	})
}

// run runs the kernel and returns what ended the job.
func (m *modelRun) run() error {
	start := time.Now()
	hand := m.gather(&m.cfg)
	err := m.kernel.Run()
	if d := new(vtime.DeadlockError); errors.As(err, &d) {
		err = m.deadlock(d)
	}
	if b := new(vtime.BlockedError); errors.As(err, &b) {
		// The coroutines live on, and with them the job and its memory.
		if end := m.result(); end != nil {
			err = fmt.Errorf("%w; then: %v", end, err)
		}
		return &ExitError{max(1, StatusOf(err)), err.Error()}
	}
	m.mu.Lock()
	switch {
	case m.ended != nil:
	case err != nil:
		m.ended = &ExitError{modelStatus(err), err.Error()}
	case m.lost != "": // all others had finished, or were lost too
		m.ended = &ExitError{StatusLost, m.lost}
	}
	failed := m.ended != nil
	m.mu.Unlock()
	for _, j := range m.jobs {
		if j != nil {
			_ = j.handOver(true) // it only stores
		}
	}
	hand()
	if failed {
		release(m.jobs)
	}
	if m.cfg.Report != nil {
		m.cfg.Report(m.report(time.Since(start)))
	}
	return m.result()
}

// stuckError is the end of a job whose ranks all wait, with where they are in the words of a live report.
type stuckError struct {
	*vtime.DeadlockError
	text string
}

// Error implements error.
func (e *stuckError) Error() string { return e.text }

// Unwrap returns what the kernel has found.
func (e *stuckError) Unwrap() error { return e.DeadlockError }

// deadlock tells of ranks that wait though nothing is left to happen that ends their waits, by the code that tells live of a
// wait that takes long.
func (m *modelRun) deadlock(d *vtime.DeadlockError) error {
	places := make([]Place, m.size)
	for r := range places {
		places[r] = Place{Rank: Rank(r), State: "has ended"}
		switch p := m.procs[r]; {
		case p.Lost():
			places[r].State = "was lost"
		case p.stuck != nil:
			places[r] = *p.stuck
		default:
			places[r].Returned = m.returned(r)
		}
	}
	waits := 0
	for _, w := range d.Waits {
		for r := range places {
			if m.ranks[r].proc.Name() != w.Proc {
				continue
			}
			if waits++; len(places[r].Waits) == 0 { // it waits for its peers outside of the endpoint
				places[r].Waits = []Wait{{For: cmp.Or(w.Op, "an arrival")}}
			}
			places[r].Waits[0].Since = (d.At - w.Since).Duration()
		}
	}
	how := "deadlock at " + d.At.String() + ": nothing is left to happen"
	if d.Events > 0 {
		how = fmt.Sprintf("livelock at %v: the last %d events have woken no rank", d.At, d.Events)
	}
	var first *Place
	for i := range places {
		if p := &places[i]; p.longest() != nil && (first == nil || first.Returned && !p.Returned) {
			first = p
		}
	}
	text := fmt.Sprintf("core: %s, and rank %d waits for %s; where the ranks are:\n%s", how, first.Rank, first.longest().describe(places), Table(places))
	return &stuckError{d, text + d.Panics()}
}

// modelStatus returns the status of a job that the kernel ended: 2 if a rank panicked,
// also when a deferred call of it waits for what can never come.
func modelStatus(err error) int {
	var p *vtime.PanicError
	var d *vtime.DeadlockError
	if errors.As(err, &p) || errors.As(err, &d) &&
		slices.ContainsFunc(d.Waits, func(w vtime.Wait) bool { return w.Panic != nil }) {
		return 2
	}
	return 1
}

// losing is the event of a loss.
type losing modelRun

// Label names the event in traces.
func (*losing) Label(_, _ uint64) string { return "loss of rank" }

// Fire loses the rank. Ranks that have finished cannot be lost.
func (l *losing) Fire(rank, _ uint64) {
	m := l.ranks[rank]
	if m.over || m.proc.Lost() {
		return
	}
	k := l.kernel
	reason := fmt.Sprintf("rank %d was lost at %v (virtual)", rank, k.Now())
	if l.lost == "" {
		l.lost = reason
	}
	m.proc.Lose()
	if d := (*modelRun)(l).detector(rank); d != nil {
		d.Lost()
		k.At(k.Now().Plus(LossBound), (*unnoticed)(l), rank, 0)
		return
	}
	m.Abort(StatusLost, reason)
}

// detector is the hardware that notices the loss of the rank by itself; nil: none does.
func (m *modelRun) detector(rank uint64) LossDetector {
	if s := m.seats[rank]; s != nil {
		return s.detector
	}
	if j := m.jobs[rank]; j != nil && j.Endpoint() != nil {
		return j.Endpoint().powers.LossDetector
	}
	return nil
}

// returned reports whether the body of a rank has returned.
func (m *modelRun) returned(rank int) bool {
	if s := m.seats[rank]; s != nil {
		return s.returned
	}
	j := m.jobs[rank]
	return j != nil && j.returned.Load()
}

// unnoticed is the event of the end of the time in which peers should have noticed a loss.
type unnoticed modelRun

// Label names the event in traces.
func (*unnoticed) Label(_, _ uint64) string { return "bound on noticing the loss of rank" }

// Fire ends the job.
func (l *unnoticed) Fire(rank, _ uint64) {
	l.ranks[rank].Abort(StatusLost, fmt.Sprintf("%s, and the conduit has not noticed it within %v", l.lost, LossBound))
}

// ResourceUsage is what a modelled bus, link or engine was used for.
type ResourceUsage = vtime.Usage

// ModelReport is how a modelled job went. All but Host is the same in every run, unless
// Disturbed says otherwise.
type ModelReport struct {
	Model     string        // conduit/profile
	Ranks     int           // of the job
	Time      Time          // virtual, at the end
	Events    uint64        // that happened, wake-ups of ranks included
	Switches  uint64        // of coroutines
	Host      time.Duration // that the run took
	Disturbed string        // what of the host has influenced the run; "": nothing, it is deterministic
	Usage     []ResourceUsage
}

func (m *modelRun) report(host time.Duration) ModelReport {
	k := m.kernel
	return ModelReport{
		Model: m.cfg.Conduit + "/" + m.cfg.Profile, Ranks: m.size, Time: k.Now(),
		Events: k.Events(), Switches: k.Switches(), Host: host, Disturbed: k.Disturbed(), Usage: k.Usage(),
	}
}
