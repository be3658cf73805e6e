package ssam_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/ssam"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

var paths = []ssam.Path{ssam.Traps, ssam.User, ssam.Driver, ssam.Vendor}

// profile returns the machine with constants changed: name, value and unit of each.
func profile(t *testing.T, changes ...string) *ssam.Profile {
	t.Helper()
	f, err := ssam.Library().Load("sba100")
	for ; err == nil && len(changes) > 0; changes = changes[3:] {
		f, err = f.With(changes[0], changes[1], changes[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := ssam.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A world is workstations with programs that count what has come.
type world struct {
	t *testing.T
	k *vtime.Kernel
	*ssam.Cluster
	all  []*ssam.Process
	came map[[3]int]int // by receiver, sender and number
	back map[[3]int]int // replies
}

func newWorld(t *testing.T, p *ssam.Profile, path ssam.Path, n, programs int) *world {
	t.Helper()
	w := &world{t: t, k: vtime.New(1), came: map[[3]int]int{}, back: map[[3]int]int{}}
	var err error
	if w.Cluster, err = ssam.NewCluster(&w.k.Loop, p, path, n); err != nil {
		t.Fatal(err)
	}
	image := amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			for _, b := range m.Data {
				if b != byte(m.Args[0]) {
					t.Errorf("node %d has from node %d: %d, want %d", n.ID(), m.From, b, byte(m.Args[0]))
					break
				}
			}
			w.came[[3]int{n.ID(), m.From, int(m.Args[0])}]++
			if m.Args[1] == 0 {
				if err := n.Reply(m, 1, m.Args, m.Data); err != nil {
					t.Error(err)
				}
			}
		},
		func(n amfamily.Node, m *amfamily.Message) { w.back[[3]int{n.ID(), m.From, int(m.Args[0])}]++ },
	}
	for range programs {
		all, err := w.Program(image)
		if err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, all...)
	}
	return w
}

// exchange has every node send messages of sizes to all others, and wait for the replies, which are as long.
func (w *world) exchange(sizes ...int) func(*ssam.Process) error {
	return func(p *ssam.Process) error {
		for i, size := range sizes {
			for d := 1; d < p.Nodes(); d++ {
				if err := p.Request((p.ID()+d)%p.Nodes(), 0, [amfamily.Args]uint32{uint32(i)}, bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					return err
				}
			}
		}
		return amfamily.Wait(p, "all replies", func() bool { return p.Counts().Replies == uint64(len(sizes)*(p.Nodes()-1)) })
	}
}

// run wants every message delivered and replied to once, without loss.
func (w *world) run(each int, body func(*ssam.Process) error) {
	w.t.Helper()
	if err := amfamily.Run(w.k, w.all, body); err != nil {
		w.t.Fatal(err)
	}
	n := len(w.Cards)
	for what, all := range map[string]map[[3]int]int{"delivered": w.came, "replied to": w.back} {
		if len(all) != each*n*(n-1) {
			w.t.Errorf("%d %s, want %d", len(all), what, each*n*(n-1))
		}
		for m, times := range all {
			if times != 1 {
				w.t.Errorf("%v %s %d times", m, what, times)
			}
		}
	}
	for i, c := range w.Cards {
		if c.Overflowed > 0 {
			w.t.Errorf("card %d: %d cells overflowed", i, c.Overflowed)
		}
	}
	for _, p := range w.all {
		if c := p.Counts(); c.Malformed > 0 || p.Device().Refused() > 0 {
			w.t.Errorf("node %d: %+v, %d traps refused", p.ID(), c, p.Device().Refused())
		}
	}
}

// sizes are of messages of a cell and of many, below and above a window.
var sizes = []int{0, 20, 21, 4096, 1000, 4096, 1}

// TestExchange has all nodes talk at once, on every path, and equal runs equal.
func TestExchange(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	t.Parallel()
	for _, path := range paths {
		for _, nodes := range []int{2, 5} {
			t.Run(fmt.Sprintf("%v/%d", path, nodes), func(t *testing.T) {
				var sums []uint64
				for range 2 {
					w := newWorld(t, profile(t), path, nodes, 1)
					digest := new(vtime.Digest)
					w.k.Trace(digest)
					w.run(len(sizes), w.exchange(sizes...))
					sums = append(sums, digest.Sum())
				}
				if sums[0] != sums[1] {
					t.Error("equal runs differ")
				}
			})
		}
	}
}

// TestTraps counts: a cell is a trap to send and one to poll, a poll is one, and at user level there are none.
func TestTraps(t *testing.T) {
	t.Parallel()
	for _, path := range []ssam.Path{ssam.Traps, ssam.User} {
		w := newWorld(t, profile(t), path, 2, 1)
		err := amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
			if p.ID() == 1 {
				p.Proc().Charge(ms)
				return nil
			}
			for _, c := range []struct {
				what  string
				call  func() error
				traps uint64
			}{
				{"a poll", func() error { _, err := p.Poll(); return err }, 1},
				{"a message of a cell", func() error { return p.Request(1, 0, [amfamily.Args]uint32{}, make([]byte, 20)) }, 2},
				{"a message of three cells", func() error { return p.Request(1, 0, [amfamily.Args]uint32{}, make([]byte, 100)) }, 6},
			} {
				before := p.Counts().Traps
				if err := c.call(); err != nil {
					return err
				}
				want := c.traps
				if path == ssam.User {
					want = 0
				}
				if n := p.Counts().Traps - before; n != want {
					t.Errorf("%v: %s: %d traps, want %d", path, c.what, n, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSlower has SSAM slower than the same library at user level on the same hardware, by the traps and copies that it has.
func TestSlower(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	t.Parallel()
	p := profile(t)
	var short [2]vtime.Time
	var rate [2]float64
	for i, path := range []ssam.Path{ssam.Traps, ssam.User} {
		m, err := amfamily.RoundTrip(ssam.Build(p, path), 1, 20, 50)
		if err != nil {
			t.Fatal(err)
		}
		short[i] = m.Time / 2
		if m, err = amfamily.Stream(ssam.Build(p, path), 1, 4096, 100); err != nil {
			t.Fatal(err)
		}
		rate[i] = m.Rate(4096)
	}
	if least := 2 * (p.Trap.Time + p.Trap.Check + p.Memory.Copy.Time(40)); short[0] < short[1]+least || rate[0] > 0.8*rate[1] {
		t.Errorf("one way %v by traps and %v without; %.2f and %.2f MB/s", short[0], short[1], rate[0], rate[1])
	}
	// Without their costs, there is no difference but the polls'.
	free := profile(t, "trap.time", "1", "ps", "trap.check", "0", "us", "memory.copy", "1000", "GB/s")
	for i, path := range []ssam.Path{ssam.Traps, ssam.User} {
		m, err := amfamily.Stream(ssam.Build(free, path), 1, 4096, 100)
		if err != nil {
			t.Fatal(err)
		}
		rate[i] = m.Rate(4096)
	}
	if q := rate[0] / rate[1]; q < 0.98 || q > 1.02 {
		t.Errorf("traps and copies that cost nothing: %.2f and %.2f MB/s", rate[0], rate[1])
	}
}

// TestPollMovesAll has cells for two processes of a workstation in its FIFO: the poll of one moves all, in one trap.
func TestPollMovesAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), ssam.Traps, 2, 2)
	err := amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
		if p.ID() == 0 {
			for range 3 {
				if err := p.Request(1, 0, [amfamily.Args]uint32{}, nil); err != nil {
					return err
				}
			}
			return nil
		}
		p.Proc().Charge(ms)
		p.Proc().Sync()
		if p == w.all[1] {
			if fifo, _ := p.Waiting(); fifo != 6 {
				t.Errorf("%d cells in the input FIFO", fifo)
			}
			before := p.Counts().Traps
			p.Device().Poll()
			_, own := p.Waiting()
			fifo, others := w.all[3].Waiting()
			if n := p.Counts().Traps - before; n != 1 || fifo != 0 || own != 3 || others != 3 {
				t.Errorf("%d traps; %d cells in the FIFO, %d and %d in the processes' memory", n, fifo, own, others)
			}
		}
		return amfamily.Wait(p, "requests", func() bool { return p.Counts().Requests == 3 })
	})
	if err != nil {
		t.Error(err)
	}
	if a, b := w.all[1].Counts(), w.all[3].Counts(); a.Requests != 3 || b.Requests != 3 {
		t.Errorf("%d and %d handlers have run", a.Requests, b.Requests)
	}
}

// TestAutomaticPoll has a process that only sends run the handlers of what has come.
func TestAutomaticPoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), ssam.Traps, 3, 1)
	err := amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
		if p.ID() != 1 {
			return p.Request(1, 0, [amfamily.Args]uint32{}, nil)
		}
		p.Proc().Charge(ms)
		if err := p.Request(0, 0, [amfamily.Args]uint32{1}, nil); err != nil {
			return err
		}
		if n := p.Counts().Requests; n != 2 {
			t.Errorf("%d handlers have run after a send", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWindow has all send to one that computes: the input FIFO holds what the windows let out. Without windows it overflows, and
// messages that lack a cell are not delivered.
func TestWindow(t *testing.T) {
	t.Parallel()
	flood := func(w *world) error {
		return amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
			if p.ID() == 0 {
				p.Proc().Charge(20 * ms)
				return nil
			}
			for i := range 4 {
				if err := p.Request(0, 0, [amfamily.Args]uint32{uint32(i)}, bytes.Repeat([]byte{byte(i)}, 4096)); err != nil {
					return err
				}
			}
			return amfamily.Wait(p, "replies", func() bool { return p.Counts().Replies == 4 })
		})
	}
	w := newWorld(t, profile(t), ssam.Traps, 4, 1)
	if err := flood(w); err != nil {
		t.Fatal(err)
	}
	if c := w.Cards[0]; c.Overflowed > 0 || c.Fullest < 250 || c.Fullest > 292 {
		t.Errorf("%d cells at once, %d overflowed", c.Fullest, c.Overflowed)
	}
	w = newWorld(t, profile(t), ssam.Traps, 4, 1)
	for _, p := range w.all {
		p.Unlimited()
	}
	var dead *vtime.DeadlockError
	if err := flood(w); !errors.As(err, &dead) || w.Cards[0].Overflowed == 0 || len(w.came) == 12 {
		t.Errorf("without windows: %v; %d overflowed, %d of 12 delivered", err, w.Cards[0].Overflowed, len(w.came))
	}
}

// TestOutput has a slow link hold the sender up when the output FIFO is full.
func TestOutput(t *testing.T) {
	t.Parallel()
	for cells, held := range map[int]bool{30: false, 100: true} {
		w := newWorld(t, profile(t, "link.rate", "0.1", "MB/s"), ssam.User, 2, 1)
		w.run(1, func(p *ssam.Process) error {
			begin := p.Proc().Now()
			if err := p.Request(1-p.ID(), 0, [amfamily.Args]uint32{}, make([]byte, 40*cells-20)); err != nil {
				return err
			}
			if took := p.Proc().Now() - begin; took > 10*ms != held {
				t.Errorf("%d cells at 530 µs each are in the FIFO after %v", cells, took)
			}
			return amfamily.Wait(p, "the reply", func() bool { return p.Counts().Replies == 1 })
		})
	}
}

// TestTrapRefused has the kernel refuse what is not the process's.
func TestTrapRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), ssam.Traps, 2, 1)
	err := amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
		bad := [][3]int{{1 - p.ID(), -40, 8}, {1 - p.ID(), 32 * 40, 8}, {1 - p.ID(), 20, 8}, {1 - p.ID(), 0, 41}, {1 - p.ID(), 0, -1}, {2, 0, 8}, {-1, 0, 8}, {p.ID(), 0, 8}}
		for i, c := range bad {
			if err := p.Device().Send(c[0], c[1], c[2], false); err == nil || p.Device().Refused() != uint64(i+1) {
				t.Errorf("%v: %v, %d refused", c, err, p.Device().Refused())
			}
		}
		if w.Cards[1-p.ID()].Cells > 0 {
			t.Error("a cell was sent")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMalformed has cells come that make no message: each is counted, and what follows is delivered.
func TestMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), ssam.Traps, 2, 1)
	text := func(length, handler byte, data int) []byte {
		return append([]byte{0, length, 0, handler}, make([]byte, 16+data)...)
	}
	err := amfamily.Run(w.k, w.all, func(p *ssam.Process) error {
		if p.ID() == 0 {
			return nil
		}
		p.Inject(0, false, true, 0, []byte{1})        // too short
		p.Inject(0, false, true, 1, text(5, 0, 4))    // another length
		p.Inject(0, false, true, 2, text(0, 2, 0))    // no such handler
		p.Inject(0, false, false, 3, text(30, 0, 20)) // begins
		p.Inject(0, false, true, 5, make([]byte, 10)) // ends, and lacks a cell
		p.Inject(0, true, true, 0, text(0, 1, 0))     // a reply to nothing
		p.Inject(0, false, true, 6, text(4, 0, 4))    // is good
		return amfamily.Wait(p, "the good one", func() bool { return p.Counts().Requests == 1 })
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := w.all[1].Counts(); c.Malformed != 5 {
		t.Errorf("%+v", c)
	}
}

// FuzzDecode has no message be what its length does not say.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, 20))
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := ssam.Decode(1, b); ok && (len(m.Data) != len(b)-20 || len(m.Data) != int(b[0])<<8+int(b[1])) {
			t.Errorf("%x: %d bytes of data", b, len(m.Data))
		}
	})
}

// TestRefused has machines and programs refused for which the model has no meaning.
func TestRefused(t *testing.T) {
	t.Parallel()
	f, err := ssam.Library().Load("sba100")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"card.data", "19", "B"}, {"card.input", "7", "count"}, {"card.output", "0", "count"}, {"ssam.buffers", "0", "count"},
		{"ssam.depth", "0", "count"}, {"trap.time", "0", "us"}, {"bus.read", "0", "count"}, {"link.cell", "0", "B"}, {"card.words", "0", "count"}, {"ssam.message", "32769", "B"},
	} {
		changed, err := f.With(c[0], c[1], c[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ssam.NewProfile(changed); err == nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, n := range []int{1, 60} {
		if _, err := ssam.NewCluster(new(vtime.Loop), profile(t), ssam.Traps, n); err == nil {
			t.Errorf("%d workstations", n)
		}
	}
	c, err := ssam.NewCluster(&vtime.New(1).Loop, profile(t), ssam.User, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Program(nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Program(nil); err == nil {
		t.Error("the card is mapped into two processes")
	}
}
