package paper

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A collective is something that all ranks do together.
type collective struct {
	name  string
	forms string    // forced algorithm, so that the number of rounds is known: ⌈log₂ P⌉
	call  coll.Call // what the schedules are of, but for N
	do    func(*member) error

	// meets says that no rank leaves a call before all have entered it. Then several are timed
	// together, lest how the ranks come to the first one matters.
	meets  bool
	rooted bool // rank 0 sends and the others wait for it
	checks bool // what it has done is checked when all ranks have
}

// The collectives whose growth follows from the number of rounds.
var collectives = []collective{
	{"barrier", "barrier=dissemination:2", coll.Call{Op: coll.Barrier}, (*member).barrier, true, false, false},
	{"broadcast", "broadcast=knomial:2", coll.Call{Op: coll.Broadcast, Bytes: 8}, (*member).broadcast, false, true, false},
	{"allreduce", "allreduce=doubling", coll.Call{Op: coll.AllReduce, Bytes: 8, Elem: 8, Commutes: true}, (*member).allReduce, true, false, false},
}

// updates is what one GUPS run does: random changes of a table, made by messages.
var updates = collective{name: "gups", do: (*member).updateWords, checks: true}

// updatesEach is how many changes every rank makes.
const updatesEach = 16

// batch returns how many calls of n ranks are timed together. Large jobs take the host long,
// and need fewer, since they spend less of a call waiting for the last one.
func (c *collective) batch(n int) int {
	if !c.meets {
		return 1
	}
	return min(max(2, 512/n), 8)
}

// member is a rank that takes part.
type member struct {
	ep      *extended.Endpoint
	seed    uint64
	values  *rand.Rand
	sent    uint64 // exclusive or of all values sent
	answers int
	buf     [8]byte
}

// tableBytes is a rank's part of the table that GUPS updates.
const tableBytes = 1 << 12

func (m *member) barrier() error { return m.ep.World().Barrier(&m.ep.Context) }

func (m *member) broadcast() error {
	return m.ep.World().Broadcast(&m.ep.Context, 0, m.buf[:], m.buf[:])
}

func (m *member) allReduce() error {
	src := binary.NativeEndian.AppendUint64(nil, 1)
	err := m.ep.World().AllReduce(&m.ep.Context, m.buf[:], src, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
	if n := binary.NativeEndian.Uint64(m.buf[:]); err == nil && n != uint64(m.ep.World().Size()) {
		err = fmt.Errorf("the sum of %d ones is %d", m.ep.World().Size(), n)
	}
	return err
}

// updateWords changes random words of a table that all ranks hold, by exclusive or, and
// returns when all changes of this rank have been made. Every call goes to the same ranks, so
// that all but the first find their connections made.
func (m *member) updateWords() error {
	ranks := rand.New(rand.NewPCG(m.seed, uint64(m.ep.World().Rank())))
	want := m.answers + updatesEach
	for range updatesEach {
		dst, word, value := ranks.IntN(m.ep.World().Size()), m.values.IntN(tableBytes/8), m.values.Uint64()
		m.sent ^= value
		if err := m.ep.Core().RequestShort(core.Rank(dst), onWord, uint32(word), uint32(value), uint32(value>>32)); err != nil {
			return err
		}
	}
	return m.ep.Core().WaitUntil(func() bool { return m.answers >= want })
}

// onWord makes a change. Handlers run one at a time, so none is lost.
func (m *member) onWord(t *core.Token, args []uint32, _ []byte) {
	word := t.Endpoint().Segment()[8*args[0]:][:8]
	value := uint64(args[1]) | uint64(args[2])<<32
	binary.NativeEndian.PutUint64(word, binary.NativeEndian.Uint64(word)^value)
	if err := t.ReplyShort(onWrote); err != nil {
		t.Endpoint().Fail(err)
	}
}

func (m *member) handlers() []core.HandlerEntry {
	return []core.HandlerEntry{
		{Index: onWord, Name: "word", Func: m.onWord},
		{Index: onWrote, Name: "wrote", Func: func(*core.Token, []uint32, []byte) { m.answers++ }},
	}
}

// sum returns the exclusive or of what the rank sent and of all that it holds; over all ranks
// it is 0 unless an update was lost.
func (m *member) sum() uint64 {
	x := m.sent
	for table := m.ep.Core().Segment()[:tableBytes]; len(table) > 0; table = table[8:] {
		x ^= binary.NativeEndian.Uint64(table)
	}
	return x
}

// run returns how long the collective takes n ranks. A call and a barrier before those that count
// make the connections.
func (c *collective) run(s *Setting, n int, o *Outcome) (vtime.Time, error) {
	w := watch{collective: c}
	runtime.GC() // what the job before has left, lest it counts as memory of this one
	start := time.Now()
	err := s.job(n, core.Config{Segment: fmt.Sprint(tableBytes), Collectives: c.forms}, &w.window, func(job *core.Job) error {
		m := &member{seed: s.Seed, values: rand.New(rand.NewPCG(s.Seed, 1<<32|uint64(job.Rank())))}
		ep, err := extended.Attach(job, core.AttachSpec{Handlers: m.handlers()})
		if err != nil {
			return err
		}
		m.ep = ep
		if err := m.calls(c, 1); err != nil {
			return err
		}
		if err := m.barrier(); err != nil {
			return err
		}
		if err := w.watch(m); err != nil {
			return err
		}
		if c.checks {
			if err := m.barrier(); err != nil { // all updates have been made
				return err
			}
			w.lost ^= m.sum()
		}
		return nil
	})
	if err == nil && w.lost != 0 {
		err = fmt.Errorf("%s of %d ranks: an update was lost", c.name, n)
	}
	if err != nil {
		return 0, err
	}
	s.cost(o, c.name+" on "+filepath.Base(s.Machine.Name), n, start)
	return w.took() / vtime.Time(c.batch(n)), nil
}

// watch is what all ranks of a job note together.
type watch struct {
	*collective
	window
	entered, left vtime.Time // the last one's
	lost          uint64     // not 0 if an update was lost
}

// watch lets a rank take part in a batch of calls that is timed, to the last one's end. A barrier lets all
// begin. The root of a broadcast enters last: after a second barrier it waits for as long as both have taken
// it, and in that time all others have left the second one, too.
func (w *watch) watch(m *member) error {
	job := m.ep.Core().Job()
	before := job.Now()
	if err := m.barrier(); err != nil {
		return err
	}
	if w.rooted {
		if err := m.barrier(); err != nil {
			return err
		}
		if job.Rank() == 0 {
			job.Compute((job.Now() - before).Duration())
		}
	}
	w.begin(job)
	defer w.end(job)
	w.entered = max(w.entered, job.Now())
	if err := m.calls(w.collective, w.batch(job.Size())); err != nil {
		return err
	}
	w.left = max(w.left, job.Now())
	return nil
}

// took returns how long the calls took: from the last rank's entry where nothing happens before
// that, else from the first one's.
func (w *watch) took() vtime.Time {
	if w.meets || w.rooted {
		return w.left - w.entered
	}
	return w.left - w.from
}

// calls makes a number of calls, one after the other.
func (m *member) calls(c *collective, n int) error {
	for range n {
		if err := c.do(m); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// cost adds what a job that started at a host time took.
func (s *Setting) cost(o *Outcome, what string, ranks int, start time.Time) {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r) // cannot fail with these arguments
	c := Cost{what, ranks, time.Since(start).Seconds(), uint64(r.Maxrss) << 10}
	o.Costs = append(o.Costs, c)
	if s.Progress != nil {
		s.Progress(c)
	}
}
