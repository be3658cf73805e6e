package core

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// inProcess is the bootstrap of ranks that share a process, as goroutines or, with a
// kernel, as coroutines.
type inProcess struct {
	size   int
	kernel *vtime.Kernel // nil live

	mu     sync.Mutex
	turn   *sync.Cond // live: a collective completed, or the job ended
	call   collective
	shared map[string]any
	ended  *ExitError // first failure, or first non-zero
	left   Rank       // a rank that has closed, -1 at first
	ranks  []*member
}

// collective is the call that the ranks are making together.
type collective struct {
	name    string
	epoch   uint64
	in      [][]byte
	arrived int
	out     [][]byte // the previous collective's result
}

// member is one rank's Bootstrap.
type member struct {
	g    *inProcess
	rank Rank
	proc *vtime.Proc
	done chan error
	over bool // done is closed
}

func newInProcess(n int, k *vtime.Kernel) *inProcess {
	g := &inProcess{size: n, kernel: k, shared: make(map[string]any), left: -1}
	g.turn = sync.NewCond(&g.mu)
	g.call.in = make([][]byte, n)
	for r := range n {
		g.ranks = append(g.ranks, &member{g: g, rank: Rank(r), done: make(chan error, 1)})
	}
	return g
}

func (m *member) Rank() Rank { return m.rank }
func (m *member) Size() int  { return m.g.size }

func (m *member) Local() []Rank {
	rs := make([]Rank, m.g.size)
	for i := range rs {
		rs[i] = Rank(i)
	}
	return rs
}

func (m *member) Exchange(b []byte) ([][]byte, error) { return m.collective("Exchange", b) }

func (m *member) Barrier() error {
	_, err := m.collective("Barrier", nil)
	return err
}

// collective hands in b and waits until every rank has called.
func (m *member) collective(name string, b []byte) ([][]byte, error) {
	g := m.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return nil, g.ended
	}
	c := &g.call
	if c.arrived > 0 && c.name != name {
		g.endLocked(1, fmt.Sprintf("rank %d calls %s while others are in %s", m.rank, name, c.name))
		return nil, g.ended
	}
	if g.left >= 0 {
		g.endLocked(1, fmt.Sprintf("rank %d calls %s, but rank %d has already finished", m.rank, name, g.left))
		return nil, g.ended
	}
	c.name = name
	c.in[m.rank] = append([]byte(nil), b...)
	c.arrived++
	epoch := c.epoch
	if c.arrived == g.size {
		c.out, c.in = c.in, make([][]byte, g.size)
		c.arrived = 0
		c.epoch++
		g.wakeLocked()
	}
	for c.epoch == epoch && g.ended == nil {
		m.sleepLocked(name)
	}
	if c.epoch == epoch {
		return nil, g.ended
	}
	return append([][]byte(nil), c.out...), nil
}

// sleepLocked waits for wakeLocked.
func (m *member) sleepLocked(what string) {
	if m.proc == nil {
		m.g.turn.Wait()
		return
	}
	m.g.mu.Unlock() // coroutines take turns, so nothing is missed
	defer m.g.mu.Lock()
	m.proc.SetWaiting(what)
	m.proc.Park(0)
	m.proc.SetWaiting("")
}

func (g *inProcess) wakeLocked() {
	g.turn.Broadcast()
	if g.kernel != nil {
		for _, m := range g.ranks {
			m.proc.Arrive()
		}
	}
}

func (m *member) Abort(status int, reason string) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.g.endLocked(status, reason)
}

// endLocked ends the job: the first cause wins, except that non-zero beats zero.
func (g *inProcess) endLocked(status int, reason string) {
	if g.ended != nil {
		if g.ended.Status == 0 && status != 0 {
			g.ended = &ExitError{status, reason}
		}
		return
	}
	g.ended = &ExitError{status, reason}
	for _, m := range g.ranks {
		if !m.over {
			m.done <- g.ended
		}
	}
	g.wakeLocked()
	if g.kernel != nil {
		g.mu.Unlock() // Unwind does not return to a rank, and others are unwound before it
		defer g.mu.Lock()
		g.kernel.Unwind(g.ended)
	}
}

func (m *member) Done() <-chan error { return m.done }

func (m *member) Close() error {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.closeLocked()
	if m.g.left < 0 {
		m.g.left = m.rank
		if c := &m.g.call; c.arrived > 0 {
			m.g.endLocked(1, fmt.Sprintf("rank %d finished while others are in %s", m.rank, c.name))
		}
	}
	return nil
}

func (m *member) closeLocked() {
	if !m.over {
		m.over = true
		close(m.done)
	}
}

// Share implements ProcessSharer.
func (m *member) Share(key string, make func() any) any {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	v, ok := m.g.shared[key]
	if !ok {
		v = make()
		m.g.shared[key] = v
	}
	return v
}

// ShareFD implements DescriptorSharer by duplicating within the process.
func (m *member) ShareFD(fd int) ([]int, error) {
	all, err := m.Exchange([]byte(itoa(fd)))
	if err != nil {
		return nil, err
	}
	fds := make([]int, len(all))
	for r, b := range all {
		var theirs int
		if _, err := fmt.Sscan(string(b), &theirs); err != nil {
			return nil, err
		}
		if fds[r], err = unix.FcntlInt(uintptr(theirs), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return nil, fmt.Errorf("core: rank %d: duplicate descriptor of rank %d: %w", m.rank, r, err)
		}
	}
	return fds, m.Barrier() // nobody closes its own before all have a duplicate
}

// RunGoroutines runs a live job of n ranks as goroutines of this process, body once for
// each, and returns when all have ended: nil, or what ended the job. Ranks that compute
// for ever after the job has failed cannot be stopped and hold the return up.
func RunGoroutines(n int, cfg Config, body func(*Job) error) error {
	return RunGoroutinesKill(n, cfg, body, nil)
}

// RunGoroutinesKill is RunGoroutines with a way to lose a rank, for tests: before the
// ranks start, control receives a function that ends the job as the death of a rank does.
func RunGoroutinesKill(n int, cfg Config, body func(*Job) error, control func(kill func(Rank))) error {
	if n < 1 {
		return fmt.Errorf("core: a job of %d ranks; need at least 1", n)
	}
	g := newInProcess(n, nil)
	if control != nil {
		control(func(r Rank) { g.ranks[r].Abort(128+9, fmt.Sprintf("rank %d was killed", r)) })
	}
	var wg sync.WaitGroup
	jobs := make([]*Job, n)
	for r := range n {
		wg.Go(func() { g.runGoroutine(g.ranks[r], cfg, body, &jobs[r]) })
	}
	wg.Wait()
	for r, j := range jobs {
		g.ranks[r].Close()
		if j != nil && g.ended != nil {
			_ = j.release() // after a failure nobody releases earlier: peers may still look at its memory
		}
	}
	return g.result()
}

// runGoroutine is the life of one rank.
func (g *inProcess) runGoroutine(m *member, cfg Config, body func(*Job) error, out **Job) {
	j := newJob(m, cfg.withDefaults())
	*out = j
	j.exit, j.local = exitGoroutine, g.size > 1
	watched := make(chan struct{})
	go func() { j.watch(false); close(watched) }()
	returned := false
	defer func() {
		p, stack := recover(), debug.Stack()
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

// RunModel runs a job of n ranks in virtual time, as coroutines of this process, over a
// conduit that has a model. Two runs with equal arguments do the same to the picosecond.
// body must not block but through the job, nor let other goroutines use it.
func RunModel(n int, cfg Config, body func(*Job) error) error {
	if n < 1 {
		return fmt.Errorf("core: a job of %d ranks; need at least 1", n)
	}
	k := vtime.New(cfg.Seed)
	g := newInProcess(n, k)
	jobs := make([]*Job, n)
	for r := range n {
		m := g.ranks[r]
		m.proc = k.Spawn("rank "+itoa(r), func(p *vtime.Proc) {
			j := newJob(m, cfg.withDefaults())
			jobs[r] = j
			j.proc, j.local = p, true
			j.exit = func(int) {
				for {
					p.Park(0) // the kernel unwinds the coroutine here
				}
			}
			_ = j.run(body)
		})
	}
	if err := k.Run(); g.ended == nil && err != nil {
		g.ended = &ExitError{modelStatus(err), err.Error()}
	}
	for _, j := range jobs {
		if j != nil && g.ended != nil {
			_ = j.release()
		}
	}
	return g.result()
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

// result is what the job ended with.
func (g *inProcess) result() error {
	if g.ended == nil || g.ended.Status == 0 {
		return nil
	}
	return g.ended
}
