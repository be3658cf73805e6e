package core

import (
	"fmt"
	"log/slog"
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
	ended  *ExitError    // first failure, or first non-zero
	early  chan struct{} // closed when ended is set
	left   Rank          // a rank that has closed, -1 at first
	ranks  []*member
	all    []Rank // of every member

	records   [][]byte // of ranks that are watched; nil: nobody wants them
	log       *slog.Logger
	survey    Survey // belongs to who surveys
	surveying bool   // somebody does
	stall     *Stall // what to survey for next
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

	where func() Place // nil before the rank runs
}

// gather has the records of ranks gathered, if the job is watched and somebody wants them, until the function is called, which
// hands them over.
func (g *inProcess) gather(cfg *Config) (hand func()) {
	if !cfg.watched() || cfg.Records == nil {
		return func() {}
	}
	g.records = make([][]byte, g.size)
	return func() {
		g.mu.Lock()
		records := slices.Clone(g.records)
		g.mu.Unlock()
		cfg.Records(records)
	}
}

// Record implements Recorder.
func (m *member) Record(b []byte) bool {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	if m.g.records == nil {
		return false
	}
	m.g.records[m.rank] = b
	return true
}

func newInProcess(n int, k *vtime.Kernel) *inProcess {
	g := &inProcess{size: n, kernel: k, shared: make(map[string]any), left: -1, early: make(chan struct{}), log: new(Config).Logger()}
	g.turn = sync.NewCond(&g.mu)
	g.call.in = make([][]byte, n)
	g.all = make([]Rank, n)
	for r := range n {
		g.all[r] = Rank(r)
		g.ranks = append(g.ranks, &member{g: g, rank: Rank(r), done: make(chan error, 1)})
	}
	return g
}

func (m *member) Rank() Rank { return m.rank }
func (m *member) Size() int  { return m.g.size }

func (m *member) Local() []Rank { return m.g.all }
func (m *member) Host(Rank) int { return 0 }

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
	return c.out, nil
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
	close(g.early)
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

// Locate implements Surveyor.
func (m *member) Locate(where func() Place) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	m.where = where
}

// Stalled implements Surveyor.
func (m *member) Stalled(st Stall) {
	g := m.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stall = &st; !g.surveying {
		g.surveying = true
		go g.surveyAll()
	}
}

// surveyAll asks all ranks where they are and judges that, until no wait is told to take long.
func (g *inProcess) surveyAll() {
	for {
		g.mu.Lock()
		st := g.stall
		g.stall = nil
		if st == nil || g.ended != nil || g.left >= 0 || !g.survey.Wanted(*st) {
			g.surveying = false
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		report, deadlock := g.survey.Judge(*st, g.places())
		g.mu.Lock()
		over := g.ended != nil || g.left >= 0 // what was found out is of no use then
		if deadlock != "" && !over {
			g.endLocked(1, deadlock)
		}
		g.mu.Unlock()
		if report != "" && !over {
			g.log.Warn(report)
		}
	}
}

// places asks all ranks where they are.
func (g *inProcess) places() []Place {
	places := make([]Place, g.size)
	var all sync.WaitGroup
	for r, m := range g.ranks {
		g.mu.Lock()
		where := m.where
		g.mu.Unlock()
		if places[r].Rank = Rank(r); where != nil {
			all.Go(func() { places[r] = where() })
		}
	}
	all.Wait()
	return places
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
