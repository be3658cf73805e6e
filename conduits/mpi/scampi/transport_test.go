package scampi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// world is a job of transports without a conduit on them.
type world struct {
	size   int
	shared map[string]any
}

// boot is what a transport needs of a bootstrap.
type boot struct {
	core.Bootstrap
	w    *world
	rank core.Rank
}

func (b *boot) Rank() core.Rank { return b.rank }
func (b *boot) Size() int       { return b.w.size }

// Barrier has no need to wait: all ranks open their devices at time 0.
func (b *boot) Barrier() error { return nil }

func (b *boot) Share(key string, make func() any) any {
	if _, ok := b.w.shared[key]; !ok {
		b.w.shared[key] = make()
	}
	return b.w.shared[key]
}

// rank is a body's rank.
type rank struct {
	*transport
	t    testing.TB
	done [16]mpi.Completion
}

// run runs n ranks on a machine.
func run(t testing.TB, n int, machine string, body func(*rank) error) {
	t.Helper()
	k := vtime.New(1)
	w := &world{n, map[string]any{}}
	settings := map[string]string{}
	if machine != "" {
		settings["machine"] = machine
	}
	var group []core.Rank
	for r := range core.Rank(n) {
		group = append(group, r)
	}
	var errs []error
	for r := range core.Rank(n) {
		k.Spawn(fmt.Sprintf("rank %d", r), func(p *vtime.Proc) {
			x, err := open(&mpi.Spec{Boot: &boot{w: w, rank: r}, Group: group, Proc: p, Settings: settings})
			if err == nil {
				p.Charge(vtime.Millisecond) // until all are open
				p.Sync()
				if err = body(&rank{transport: x, t: t}); err == nil {
					p.Charge(vtime.Second) // until all have finished
					p.Sync()
					err = x.Close()
				}
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("rank %d: %w", r, err))
				k.Unwind(err)
			}
		})
	}
	if err := errors.Join(append(errs, k.Run())...); err != nil {
		t.Fatal(err)
	}
}

// poll makes one call of Progress, as a conduit does, and gives the completions to each.
func (r *rank) poll(posts []mpi.Post, each func(mpi.Completion)) (int, error) {
	r.proc.Charge(10 * vtime.Nanosecond)
	r.proc.Sync()
	n, err := r.Progress(posts, r.done[:])
	for _, d := range r.done[:n] {
		each(d)
	}
	return n, err
}

// until polls until all, which looks at what each has been given.
func (r *rank) until(all func() bool, each func(mpi.Completion)) error {
	for {
		seen := r.proc.Arrivals
		if all() {
			return nil
		}
		began := r.proc.Now()
		if n, err := r.poll(nil, each); err != nil {
			return err
		} else if n == 0 && r.proc.Arrivals == seen {
			r.proc.Park(r.proc.Now() - began)
		}
	}
}

// pattern fills b with what message number n of a rank has.
func pattern(b []byte, from core.Rank, n int) {
	for i := range b {
		b[i] = byte(i*7 + int(from)*31 + n*13 + i>>8)
	}
}

// sizes are all sizes around the boundaries of the machine that are fewer than some hundred, and
// some of the others.
func (p *Profile) sizes() (all []int) {
	l := p.layout()
	near := func(n, by int) {
		for s := max(0, n-by); s <= n+by; s++ {
			all = append(all, s)
		}
	}
	near(0, 70)
	near(l.eager, 70)
	near(l.entry, 9)
	near(2*l.entry, 9)
	near(int(p.Library.DMA), 9)
	near(l.entries*l.entry, 9)
	near(l.entries*l.entry+l.entry, 9)
	return all
}

// Messages of all sizes about the boundaries arrive as they were sent, into receives that are
// posted before and after.
func TestSizes(t *testing.T) {
	for name, machine := range map[string]string{
		"scampi": "", "scarce": variant(t, scarce), "unreliable": variant(t, unreliable+scarce),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, machine, func(r *rank) error {
				for n, size := range r.profile.sizes() {
					sent, got := make([]byte, size), make([]byte, size+3)
					pattern(sent, 0, n)
					over := false
					post := mpi.Post{Buf: sent, ID: uint64(n), Peer: 1, Tag: 5}
					if r.rank == 1 {
						post = mpi.Post{Buf: got, ID: uint64(n), Peer: 0, Tag: 5, Receive: true}
						if n%2 == 0 { // late
							r.proc.Charge(200 * vtime.Microsecond)
						}
					}
					each := func(d mpi.Completion) {
						over = true
						if r.rank == 1 && (d.Len != size || d.Source != 0 || d.Tag != 5 || d.ID != uint64(n)) {
							t.Errorf("%d bytes: %+v", size, d)
						}
					}
					_, err := r.poll([]mpi.Post{post}, each)
					if err = errors.Join(err, r.until(func() bool { return over }, each)); err != nil {
						return fmt.Errorf("%d bytes: %w", size, err)
					}
					if r.rank == 1 && (!bytes.Equal(got[:size], sent) || !bytes.Equal(got[size:], []byte{0, 0, 0})) {
						t.Errorf("%d bytes: they came changed", size)
					}
				}
				return nil
			})
		})
	}
}

// message is one of those that a rank sends in TestTraffic.
type message struct {
	to        core.Rank
	tag, size int
}

// received is a receive that has matched one.
type received struct {
	mpi.Completion
	buf []byte
}

const trafficRanks, trafficTags, trafficEach = 4, 2, 60

// plan returns what all ranks send; each rank draws all of it.
func plan() (all [trafficRanks][trafficEach]message) {
	for from := range all {
		draw := rand.New(rand.NewPCG(uint64(from), 3))
		for i := range all[from] {
			all[from][i] = message{core.Rank(draw.IntN(trafficRanks)), draw.IntN(trafficTags), draw.IntN(1 << draw.IntN(14))}
		}
	}
	return all
}

// judge compares what a rank has received with MPI's rule: the messages of a rank under a tag
// match the receives, which all take any source, in the order in which both were posted.
func (r *rank) judge(got []received) {
	slices.SortFunc(got, func(a, b received) int { return cmp.Compare(a.ID, b.ID) })
	for from, sent := range plan() {
		for tag := range trafficTags {
			rest := slices.DeleteFunc(slices.Clone(got), func(x received) bool { return int(x.Source) != from || int(x.Tag) != tag })
			for n, m := range sent {
				if m.to != r.rank || m.tag != tag {
					continue
				}
				want := make([]byte, m.size)
				pattern(want, core.Rank(from), n)
				if len(rest) == 0 || !bytes.Equal(rest[0].buf[:rest[0].Len], want) {
					r.t.Errorf("rank %d: message %d of rank %d, of %d bytes under tag %d, is not what was received next", r.rank, n, from, m.size, tag)
					return
				}
				rest = rest[1:]
			}
			if len(rest) > 0 {
				r.t.Errorf("rank %d: %d messages too many from rank %d under tag %d", r.rank, len(rest), from, tag)
			}
		}
	}
}

// traffic sends the rank's part of the plan and receives what comes, in a random mixture.
func (r *rank) traffic() error {
	var left [trafficTags]int // receives to be posted
	all, want := plan(), 0
	for _, sent := range all {
		for _, m := range sent {
			if m.to == r.rank {
				left[m.tag]++
				want++
			}
		}
	}
	const ofReceive = 1 << 20
	var got []received
	var posted [][]byte
	sent, ended := 0, 0
	each := func(d mpi.Completion) {
		if d.ID < ofReceive {
			ended++
		} else {
			got = append(got, received{d, posted[d.ID-ofReceive]})
		}
	}
	chance := rand.New(rand.NewPCG(uint64(r.rank), 4))
	for sent < trafficEach || left != [trafficTags]int{} {
		var posts []mpi.Post
		for tag := range left {
			if left[tag] > 0 && chance.IntN(2) == 0 {
				left[tag]--
				buf := make([]byte, 1<<14)
				posts = append(posts, mpi.Post{Buf: buf, ID: ofReceive + uint64(len(posted)), Peer: mpi.AnySource, Tag: int32(tag), Receive: true})
				posted = append(posted, buf)
			}
		}
		if sent < trafficEach && chance.IntN(3) > 0 {
			m := all[r.rank][sent]
			b := make([]byte, m.size)
			pattern(b, r.rank, sent)
			posts = append(posts, mpi.Post{Buf: b, ID: uint64(sent), Peer: m.to, Tag: int32(m.tag)})
			sent++
		}
		if _, err := r.poll(posts, each); err != nil {
			return err
		}
	}
	err := r.until(func() bool { return len(got) == want && ended == trafficEach }, each)
	r.judge(got)
	return err
}

// Random traffic between some ranks, some of it to themselves, with plenty of everything and
// with too little.
func TestTraffic(t *testing.T) {
	for name, machine := range map[string]string{
		"scampi": "", "scarce": variant(t, scarce), "unreliable": variant(t, unreliable+scarce),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, trafficRanks, machine, func(r *rank) error {
				err := r.traffic()
				if most := r.profile.Library.Imports; len(r.imports.all) > most || (r.imports.made > most) != (name != "scampi") {
					t.Errorf("rank %d has %d imports of %d; %d were made", r.rank, len(r.imports.all), most, r.imports.made)
				}
				return err
			})
		})
	}
}

// An eager message arrives while its sender makes no further call; one byte more, and it does
// not.
func TestEagerBoundary(t *testing.T) {
	for _, more := range []int{0, 1} {
		var came, resumed vtime.Time
		run(t, 2, "", func(r *rank) error {
			over := false
			each := func(mpi.Completion) { over = true }
			buf := make([]byte, r.Limits().Eager+more)
			post := mpi.Post{Buf: buf, Peer: 1 - r.rank, Receive: r.rank == 1}
			if _, err := r.poll([]mpi.Post{post}, each); err != nil {
				return err
			}
			if r.rank == 0 {
				r.proc.Charge(vtime.Second)
				r.proc.Sync()
				resumed = r.proc.Now()
			}
			err := r.until(func() bool { return over }, each)
			if r.rank == 1 {
				came = r.proc.Now()
			}
			return err
		})
		if (came > resumed) != (more == 1) {
			t.Errorf("%d bytes more than an eager message: received at %v, its sender called again at %v", more, came, resumed)
		}
	}
}

// Two ranks that fill each other's channels, which neither has looked into, go on.
func TestFullChannels(t *testing.T) {
	const each = 3
	run(t, 2, "", func(r *rank) error {
		over, n := 0, each*r.layout.slots
		count := func(mpi.Completion) { over++ }
		var posts []mpi.Post
		for range n {
			posts = append(posts, mpi.Post{Peer: 1 - r.rank})
		}
		if _, err := r.poll(posts, count); err != nil {
			return err
		}
		if now, most := r.engine.Unexpected(); now < (each-1)*r.layout.slots || most > n {
			t.Errorf("rank %d: %d messages are unexpected, %d were at most", r.rank, now, most)
		}
		for i := range posts {
			posts[i].Receive = true
		}
		if _, err := r.poll(posts, count); err != nil {
			return err
		}
		return r.until(func() bool { return over == 2*n }, count)
	})
}

// What no correct peer sends ends the job: here a message that is longer than its receive.
func TestTooLong(t *testing.T) {
	for _, size := range []int{100, 10000} {
		run(t, 2, "", func(r *rank) error {
			over := false
			each := func(mpi.Completion) { over = true }
			if r.rank == 0 {
				_, err := r.poll([]mpi.Post{{Buf: make([]byte, size), Peer: 1}}, each)
				return err
			}
			_, err := r.poll([]mpi.Post{{Buf: make([]byte, size-1), Peer: 0, Receive: true}}, each)
			if err == nil {
				err = r.until(func() bool { return over }, each)
			}
			if over || err == nil {
				t.Errorf("%d bytes into a receive of %d: %v", size, size-1, err)
			}
			return nil
		})
	}
}

// half returns half of the round trip of messages of size bytes between two ranks that do
// nothing else, without active messages.
func half(t testing.TB, machine string, size int) (h vtime.Time) {
	const rounds = 50
	run(t, 2, machine, func(r *rank) error {
		var in, out int
		each := func(d mpi.Completion) {
			if d.ID == 1 {
				in++
			} else {
				out++
			}
		}
		buf := make([]byte, size)
		receive, send := mpi.Post{Buf: make([]byte, size), ID: 1, Peer: 1 - r.rank, Receive: true}, mpi.Post{Buf: buf, Peer: 1 - r.rank}
		var began vtime.Time
		for i := range rounds + 1 {
			if i == 1 { // the first round imports
				began = r.proc.Now()
			}
			first, second := send, receive
			if r.rank == 1 {
				first, second = receive, send
			}
			for _, p := range []mpi.Post{first, second} {
				if _, err := r.poll([]mpi.Post{p}, each); err != nil {
					return err
				}
				if err := r.until(func() bool { return in > i || !p.Receive }, each); err != nil {
					return err
				}
			}
			if err := r.until(func() bool { return out > i }, each); err != nil {
				return err
			}
		}
		if r.rank == 0 {
			h = (r.proc.Now() - began) / (2 * rounds)
		}
		return nil
	})
	return h
}

// DMA pays from scampi.dma on, and not before.
func TestCrossover(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	p, err := Load("scampi")
	if err != nil {
		t.Fatal(err)
	}
	pio, dma := variant(t, "scampi.dma 1024 MB assumed for the test\n"), variant(t, "scampi.dma 0 B assumed for the test\n")
	for size, want := range map[int]bool{int(p.Library.DMA) / 2: false, int(p.Library.DMA): true, 4 * int(p.Library.DMA): true} {
		byPIO, byDMA := half(t, pio, size), half(t, dma, size)
		t.Logf("%d bytes: %v by PIO, %v by DMA", size, byPIO, byDMA)
		if (byDMA < byPIO) != want {
			t.Errorf("%d bytes: %v by PIO, %v by DMA; should DMA pay: %v", size, byPIO, byDMA, want)
		}
	}
}

// The library by itself takes more than the stores that carry a message, and much less than an
// active message over it.
func TestBareLatency(t *testing.T) {
	const raw = 3160 * vtime.Nanosecond // 80 bytes by PIO (Su, experiments)
	bare, active := half(t, "", 0), exchange(t, on(""), 0, rounds)
	t.Logf("half of a round trip of empty messages: %v, of Shorts: %v", bare, active)
	if bare <= raw || 3*bare >= 2*active {
		t.Errorf("an empty message takes %v, a store %v, and a Short %v", bare, raw, active)
	}
}

// An import that has to be made anew costs its start-up.
func TestImportStartUp(t *testing.T) {
	const ranks, rounds = 4, 5
	took := func(imports string) (d vtime.Time) {
		run(t, ranks, variant(t, "scampi.imports "+imports+" count assumed for the test\n"), func(r *rank) error {
			if r.rank > 0 {
				n := 0
				posts := make([]mpi.Post, rounds)
				for i := range posts {
					posts[i].Receive = true
				}
				each := func(mpi.Completion) { n++ }
				if _, err := r.poll(posts, each); err != nil {
					return err
				}
				return r.until(func() bool { return n == rounds }, each)
			}
			began := r.proc.Now()
			for range rounds {
				for to := range core.Rank(ranks - 1) {
					if _, err := r.poll([]mpi.Post{{Peer: to + 1}}, func(mpi.Completion) {}); err != nil {
						return err
					}
				}
			}
			d = r.proc.Now() - began
			return nil
		})
		return d
	}
	p, err := Load("scampi")
	if err != nil {
		t.Fatal(err)
	}
	c := &p.Hardware.Call
	kept, made := took("3"), took("2")
	again := vtime.Time((rounds - 1) * (ranks - 1)) // one of them at least is not there when it is needed
	startUp := c.Connect + c.Map + 2*c.Disconnect
	t.Logf("%d messages to each of %d ranks: %v with all imports, %v with two", rounds, ranks-1, kept, made)
	if more := made - kept; more < again*startUp || more > (again+ranks)*startUp*11/10 {
		t.Errorf("%v more with two imports, want about %d times %v", more, again, startUp)
	}
}
