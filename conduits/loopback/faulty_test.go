package loopback_test

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// faulty is the conduit with one thing wrong.
type faulty struct {
	core.Conduit
	limits func(*core.Limits)
	commit func(*faulty, *core.Op) // instead of Commit
	sent   int
	kept   *core.Op // a message that is held back
}

func (f *faulty) Powers() core.Powers {
	p := f.Conduit.Powers()
	if f.limits != nil {
		f.limits(&p.Limits)
	}
	return p
}

func (f *faulty) Commit(op *core.Op) {
	if f.sent++; f.commit != nil && op.Hdr.Handler() >= core.ClientHandlers {
		f.commit(f, op)
		return
	}
	f.Conduit.Commit(op)
}

func (f *faulty) Poll(budget int) int {
	f.release()
	return f.Conduit.Poll(budget)
}

// release sends the message that was held back.
func (f *faulty) release() {
	if op := f.kept; op != nil {
		f.kept = nil
		f.Conduit.Commit(op)
	}
}

// duplicate sends op's message once more, in front of it.
func duplicate(f *faulty, op *core.Op) {
	twin := *op
	if twin.Data = nil; f.sent%5 == 0 && !op.Hdr.Reply() && f.Reserve(&twin) == core.Reserved {
		*twin.Args = *op.Args
		copy(twin.Data, op.Data)
		f.Conduit.Commit(&twin)
	}
	f.Conduit.Commit(op)
}

// delay lets the next message overtake this one.
func delay(f *faulty, op *core.Op) {
	if f.kept == nil && f.sent%5 == 0 {
		kept := *op
		f.kept = &kept
		return
	}
	f.Conduit.Commit(op)
	f.release()
}

// faults are what the suite must notice, and a case that does.
var faults = []struct {
	name  string
	wrong faulty
	case_ string
}{
	{"small limits", faulty{limits: func(l *core.Limits) { l.MaxMediumReply = 511 }}, "query/limits"},
	{"corrupt payloads", faulty{commit: func(f *faulty, op *core.Op) {
		if len(op.Data) > 0 {
			op.Data[len(op.Data)-1] ^= 1
		}
		f.Conduit.Commit(op)
	}}, "message/sizes"},
	{"corrupt arguments", faulty{commit: func(f *faulty, op *core.Op) { op.Args[15]++; f.Conduit.Commit(op) }}, "message/arguments"},
	{"misplaced Longs", faulty{commit: func(f *faulty, op *core.Op) {
		if op.Hdr.Kind() == core.Long && op.Off > 0 {
			op.Off--
		}
		f.Conduit.Commit(op)
	}}, "message/payload"},
	{"truncation", faulty{commit: func(f *faulty, op *core.Op) { op.Len = min(op.Len, 60000); f.Conduit.Commit(op) }}, "flood/largest"},
	{"duplicates", faulty{commit: duplicate}, "order/exactly-once"},
	{"overtaking", faulty{commit: delay}, "order/per-pair"},
}

// casesByName returns the suite.
func casesByName() map[string]*coretest.Case {
	cases := make(map[string]*coretest.Case)
	for _, c := range coretest.Cases() {
		cases[c.Name] = c
	}
	return cases
}

// TestSuiteNoticesFaults breaks the conduit in one way after the other.
func TestSuiteNoticesFaults(t *testing.T) {
	sound, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	cases := casesByName()
	for _, fault := range faults {
		name := "loopback with " + fault.name
		core.Register(core.Driver{Name: name, New: func(profile string) core.Conduit {
			f := fault.wrong
			f.Conduit = sound.New(profile)
			return &f
		}})
		c := cases[fault.case_]
		for _, conduit := range []string{"loopback", name} {
			cfg := core.Config{Conduit: conduit, Threads: core.Single}
			o := coretest.Goroutines.Launch(t, &coretest.Launch{Case: c, Ranks: 2, Config: cfg, Timeout: time.Minute})
			if noticed := c.Judge(o) != nil; noticed != (conduit == name) {
				t.Errorf("%s, %s: noticed a fault %v (%v)", conduit, c.Name, noticed, o.Err)
			}
		}
	}
}

// meddler is the native profile with one thing wrong.
type meddler struct {
	core.Conduit
	core.Putter
	core.Atomics
	put    func(*meddler, *core.Transfer) core.Result // instead of Put
	atomic func(*meddler, *core.Atomic) core.Result   // instead of Atomic
	none   core.Completion                            // what nobody waits for
}

func (m *meddler) Powers() core.Powers {
	p := m.Conduit.Powers()
	m.Putter, m.Atomics = p.Putter, p.Atomics
	p.Putter, p.Atomics = m, m
	return p
}

func (m *meddler) Put(t *core.Transfer) core.Result {
	if m.put != nil {
		return m.put(m, t)
	}
	return m.Putter.Put(t)
}

func (m *meddler) Atomic(a *core.Atomic) core.Result {
	if m.atomic != nil {
		return m.atomic(m, a)
	}
	return m.Atomics.Atomic(a)
}

// meddlings are what the suite must notice of one-sided operations, and a case that does.
var meddlings = []struct {
	name  string
	wrong func(m *meddler)
	case_ string
}{
	{"early completion", func(m *meddler) {
		m.put = func(m *meddler, t *core.Transfer) core.Result {
			done := t.Done
			t.Done = &m.none
			r := m.Putter.Put(t)
			if t.Done = done; r == core.Initiated {
				done.Complete()
			}
			return r
		}
	}, "one-sided/put"},
	{"early local completion", func(m *meddler) {
		m.put = func(m *meddler, t *core.Transfer) core.Result {
			lc := t.LC
			t.LC = nil
			r := m.Putter.Put(t)
			if t.LC = lc; r == core.Initiated && lc != nil {
				lc.Complete()
			}
			return r
		}
	}, "one-sided/many"},
	{"misplaced puts", func(m *meddler) {
		m.put = func(m *meddler, t *core.Transfer) core.Result {
			t.Off ^= 1
			r := m.Putter.Put(t)
			t.Off ^= 1 // there may have been no room
			return r
		}
	}, "one-sided/inline"},
	{"completion that is told twice", func(m *meddler) {
		m.put = func(m *meddler, t *core.Transfer) core.Result {
			r := m.Putter.Put(t)
			if r == core.Initiated {
				t.Done.Complete()
			}
			return r
		}
	}, "one-sided/many"},
	{"additions of 2", func(m *meddler) {
		m.atomic = func(m *meddler, a *core.Atomic) core.Result {
			if a.Op&^(core.AtomicAdd|core.AtomicAdd<<core.FetchShift) == 0 {
				a.A = 2
			}
			return m.Atomics.Atomic(a)
		}
	}, "one-sided/atomic-tickets"},
	{"a wrong operation", func(m *meddler) {
		m.atomic = func(m *meddler, a *core.Atomic) core.Result {
			if a.Op == core.AtomicMin {
				a.Op = core.AtomicMax
			}
			return m.Atomics.Atomic(a)
		}
	}, "one-sided/atomic-operations"},
}

// TestSuiteNoticesMeddling does so with one-sided operations.
func TestSuiteNoticesMeddling(t *testing.T) {
	sound, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	cases := casesByName()
	for _, x := range meddlings {
		name := "loopback with " + x.name
		core.Register(core.Driver{Name: name, New: func(string) core.Conduit {
			m := &meddler{Conduit: sound.New("native")}
			x.wrong(m)
			return m
		}})
		cfg := core.Config{Conduit: name, Threads: core.Single}
		// One rank, so that what happens too early or too late does so every time.
		o := coretest.Goroutines.Launch(t, &coretest.Launch{Case: cases[x.case_], Ranks: 1, Config: cfg, Timeout: time.Minute})
		if cases[x.case_].Judge(o) == nil {
			t.Errorf("%s: %s does not notice", name, x.case_)
		}
	}
}
