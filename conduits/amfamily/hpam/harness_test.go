package hpam_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// profile returns the machine with constants changed: name, value and unit of each.
func profile(t *testing.T, changes ...string) *hpam.Profile {
	t.Helper()
	f, err := hpam.Library().Load("hp735")
	for ; err == nil && len(changes) > 0; changes = changes[3:] {
		f, err = f.With(changes[0], changes[1], changes[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	return made(t, f)
}

func made(t *testing.T, f *machine.File) *hpam.Profile {
	t.Helper()
	p, err := hpam.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A world is workstations with a program, or several, each of which counts what its handlers have had.
type world struct {
	t *testing.T
	k *vtime.Kernel
	*hpam.Cluster
	all     []*hpam.Process // of all programs
	came    map[letter]int
	order   []letter // as they came
	settled map[letter]int
}

// A letter is a request, told from all others.
type letter struct {
	key          uint32
	from, to, id int
}

const (
	deliver = iota
	settle
)

func newWorld(t *testing.T, p *hpam.Profile, n int, keys ...uint32) *world {
	t.Helper()
	w := &world{t: t, k: vtime.New(1), came: map[letter]int{}, settled: map[letter]int{}}
	var err error
	if w.Cluster, err = hpam.NewCluster(&w.k.Loop, p, n); err != nil {
		t.Fatal(err)
	}
	image := amfamily.Image{
		deliver: func(n amfamily.Node, m *amfamily.Message) {
			if key := n.(*hpam.Process).Key(); key != m.Args[2] {
				t.Errorf("a message of program %d was delivered to program %d", m.Args[2], key)
			}
			l := letter{m.Args[2], m.From, n.ID(), int(m.Args[0])}
			w.order = append(w.order, l)
			w.came[l]++
			if m.Args[1] == 0 {
				if err := n.Reply(m, settle, m.Args, nil); err != nil {
					t.Error(err)
				}
			}
		},
		settle: func(n amfamily.Node, m *amfamily.Message) {
			w.settled[letter{m.Args[2], n.ID(), m.From, int(m.Args[0])}]++
		},
	}
	for _, key := range keys {
		all, err := w.Program(key, image)
		if err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, all...)
	}
	return w
}

// request sends a letter.
func (w *world) request(p *hpam.Process, to, id int) error {
	return p.Request(to, deliver, [amfamily.Args]uint32{uint32(id), 0, p.Key()}, make([]byte, 100))
}

// exchange has every process send n letters to each of its partners, in turn, and wait for the replies.
func (w *world) exchange(n int) func(*hpam.Process) error {
	return func(p *hpam.Process) error {
		for id := range n {
			for d := 1; d < p.Nodes(); d++ {
				if err := w.request(p, (p.ID()+d)%p.Nodes(), id); err != nil {
					return err
				}
			}
		}
		return amfamily.Wait(p, "all replies", func() bool { return p.Counts().Replies == uint64(n*(p.Nodes()-1)) })
	}
}

// run runs the processes, and wants every letter of n to each partner delivered and replied to once.
func (w *world) run(n int, body func(*hpam.Process) error) {
	w.t.Helper()
	if err := amfamily.Run(w.k, w.all, body); err != nil {
		w.t.Fatal(err)
	}
	want := 0
	for _, p := range w.all {
		want += n * (p.Nodes() - 1)
	}
	for i, s := range w.Workstations {
		if n := s.Card().Hazards; n > 0 {
			w.t.Errorf("card %d: %d hazards", i, n)
		}
	}
	for what, all := range map[string]map[letter]int{"delivered": w.came, "replied to": w.settled} {
		if len(all) != want {
			w.t.Errorf("%d letters %s, want %d", len(all), what, want)
		}
		for l, times := range all {
			if times != 1 {
				w.t.Errorf("%+v %s %d times", l, what, times)
			}
		}
	}
}

// total adds up the counts of all processes.
func (w *world) total() (sum amfamily.Counts) {
	for _, p := range w.all {
		c := p.Counts()
		sum.Requests += c.Requests
		sum.Resent += c.Resent
		sum.Duplicates += c.Duplicates
		sum.Foreign += c.Foreign
		sum.Malformed += c.Malformed
	}
	return sum
}

// at is an event that calls a function.
type at func()

func (f at) Fire(_, _ uint64) { f() }

func (w *world) at(t vtime.Time, f func()) { w.k.At(t, at(f), 0, 0) }

// until waits, without a poll, for a time.
func until(p *hpam.Process, t vtime.Time) {
	p.Proc().Charge(max(0, t-p.Proc().Now()))
	p.Proc().Sync()
}
