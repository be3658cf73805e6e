package am_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/am"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

// profile returns the machine with constants changed: name, value and unit of each.
func profile(t *testing.T, changes ...string) *am.Profile {
	t.Helper()
	f, err := am.Machines().Load("mpp")
	for ; err == nil && len(changes) > 0; changes = changes[3:] {
		f, err = f.With(changes[0], changes[1], changes[2])
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := am.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// nodes returns nodes with 1 KB of memory each.
func nodes(t *testing.T, p *am.Profile, n int, image amfamily.Image) (*vtime.Kernel, []*am.Node) {
	t.Helper()
	k := vtime.New(1)
	all, err := am.New(&k.Loop, p, n, 1024, image)
	if err != nil {
		t.Fatal(err)
	}
	return k, all
}

func run(t *testing.T, k *vtime.Kernel, all []*am.Node, body func(*am.Node) error) {
	t.Helper()
	if err := amfamily.Run(k, all, body); err != nil {
		t.Fatal(err)
	}
}

const flag = 1000

// waits waits for a flag of the node's own.
func waits(n *am.Node, count uint32) error {
	return amfamily.Wait(n, "a flag", func() bool { return n.Flag(flag) == count })
}

// TestPut has data and flag appear at the receiver, and nothing at the sender.
func TestPut(t *testing.T) {
	t.Parallel()
	k, all := nodes(t, profile(t), 3, nil)
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 2 {
			return waits(n, 6)
		}
		for i := range 3 {
			data := []byte(fmt.Sprintf("node %d, %d", n.ID(), i))
			if err := n.Put(2, 300*n.ID()+100*i, data, flag); err != nil {
				return err
			}
			clear(data) // it is the caller's again
		}
		return nil
	})
	for i, text := range map[int]string{0: "node 0, 0", 200: "node 0, 2", 500: "node 1, 2"} {
		if !bytes.HasPrefix(all[2].Memory[i:], []byte(text)) {
			t.Errorf("at %d: %q", i, all[2].Memory[i:i+len(text)])
		}
	}
	for _, n := range all[:2] {
		if n.Flag(flag) != 0 || n.Counts().Requests > 0 || !bytes.Equal(n.Memory, make([]byte, 1024)) {
			t.Errorf("node %d: flag %d, %+v", n.ID(), n.Flag(flag), n.Counts())
		}
	}
}

// TestGet has data and flag appear at the node that asks, later than the call returns, and nothing change at the other.
func TestGet(t *testing.T) {
	t.Parallel()
	k, all := nodes(t, profile(t), 2, nil)
	copy(all[1].Memory[64:], "what is asked for")
	before := bytes.Clone(all[1].Memory)
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 1 {
			return nil
		}
		for i := range 2 {
			if err := n.Get(1, 64, 17, 500+100*i, flag); err != nil {
				return err
			}
			if n.Flag(flag) == 2 {
				t.Error("a get has waited for its data")
			}
		}
		return waits(n, 2)
	})
	if !bytes.HasPrefix(all[0].Memory[600:], []byte("what is asked for")) || !bytes.Equal(all[1].Memory, before) {
		t.Errorf("%q; the other has %q", all[0].Memory[600:620], all[1].Memory[64:90])
	}
	if c := all[0].Counts(); c.Replies != 2 || all[1].Counts().Requests != 2 {
		t.Errorf("%+v, %+v", c, all[1].Counts())
	}
}

// TestNoBuffers has a receiver that takes nothing: its port holds a message, so the next one holds its sender up. The
// library's kernel takes all of them, and holds nobody up before its buffers are full.
func TestNoBuffers(t *testing.T) {
	t.Parallel()
	sent := func(n amfamily.Node) (times []vtime.Time, err error) {
		if n.ID() == 1 {
			n.Proc().Charge(ms) // without an interrupt
			n.Proc().Sync()
			return nil, nil
		}
		for range 8 {
			if err := n.Request(1, 0, [amfamily.Args]uint32{}, nil); err != nil {
				return nil, err
			}
			times = append(times, n.Proc().Now())
		}
		return times, nil
	}
	image := amfamily.Image{func(amfamily.Node, *amfamily.Message) {}}
	p := profile(t)
	for i, build := range []amfamily.Build{am.Build(p), am.BuildLibrary(p), am.BuildLibrary(profile(t, "library.buffers", "1", "count"))} {
		k := vtime.New(1)
		all, err := build(k, 2, image)
		if err != nil {
			t.Fatal(err)
		}
		err = amfamily.Run(k, all, func(n amfamily.Node) error {
			times, err := sent(n)
			if n.ID() == 0 && err == nil && (times[0] > 100*us || times[1] > ms != (i == 0) || times[7] > ms != (i != 1)) {
				t.Errorf("layer %d: sends have returned at %v", i, times)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestInterrupt has a put come while its receiver computes: the handler runs at once, and the computation takes as much
// longer.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	p := profile(t)
	k, all := nodes(t, p, 2, nil)
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 1 {
			begin := n.Proc().Now()
			if err := n.Compute(ms); err != nil {
				return err
			}
			handler := p.AM.Receive + p.Memory.Copy.Time(100)
			if took := n.Proc().Now() - begin; n.Flag(flag) != 1 || took != ms+handler {
				t.Errorf("flag %d after a computation of 1 ms that took %v; the handler takes %v", n.Flag(flag), took, handler)
			}
			return nil
		}
		if err := n.Put(1, 0, make([]byte, 100), flag); err != nil {
			return err
		}
		n.Proc().Charge(100 * us)
		n.Proc().Sync()
		if all[1].Flag(flag) != 1 {
			t.Error("the receiver was not interrupted")
		}
		return nil
	})
}

// storm has every node ask all others, whose handlers reply, and counts. No request may come while a node handles one.
func storm(t *testing.T, each int, came, back map[[3]int]int) (amfamily.Image, func(amfamily.Node) error) {
	handling := map[int]bool{}
	image := amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			if handling[n.ID()] {
				t.Errorf("node %d handles a request within a request", n.ID())
			}
			handling[n.ID()] = true
			defer delete(handling, n.ID())
			came[[3]int{n.ID(), m.From, int(m.Args[0])}]++
			if err := n.Reply(m, 1, m.Args, m.Data); err != nil {
				panic(err)
			}
		},
		func(n amfamily.Node, m *amfamily.Message) { back[[3]int{n.ID(), m.From, int(m.Args[0])}]++ },
	}
	return image, func(n amfamily.Node) error {
		for i := range each {
			for d := 1; d < n.Nodes(); d++ {
				if err := n.Request((n.ID()+d)%n.Nodes(), 0, [amfamily.Args]uint32{uint32(i)}, make([]byte, 50*i)); err != nil {
					return err
				}
			}
		}
		return amfamily.Wait(n, "replies", func() bool { return n.Counts().Replies == uint64(each*(n.Nodes()-1)) })
	}
}

// TestStorm has all nodes ask each other, by active messages and by the library: with a network for replies everything comes
// once, and equal runs are equal. With one network for both active messages stop each other for ever.
func TestStorm(t *testing.T) {
	t.Parallel()
	const each, n = 6, 5
	two := profile(t)
	one := profile(t, "net.networks", "1", "count")
	for _, c := range []struct {
		name  string
		build amfamily.Build
		dead  bool
	}{
		{"two networks", am.Build(two), false}, {"one network", am.Build(one), true},
		{"library", am.BuildLibrary(two), false}, {"library, one network", am.BuildLibrary(one), false},
		{"library, few buffers", am.BuildLibrary(profile(t, "library.buffers", "8", "count")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sums []uint64
			for range 2 {
				came, back := map[[3]int]int{}, map[[3]int]int{}
				image, body := storm(t, each, came, back)
				k := vtime.New(1)
				digest := new(vtime.Digest)
				k.Trace(digest)
				all, err := c.build(k, n, image)
				if err != nil {
					t.Fatal(err)
				}
				err = amfamily.Run(k, all, body)
				var dead *vtime.DeadlockError
				if errors.As(err, &dead) != c.dead || !c.dead && err != nil {
					t.Fatal(err)
				}
				sums = append(sums, digest.Sum())
				for _, m := range []map[[3]int]int{came, back} {
					if !c.dead && len(m) != each*n*(n-1) {
						t.Errorf("%d messages, want %d", len(m), each*n*(n-1))
					}
					for id, times := range m {
						if times != 1 {
							t.Errorf("%v came %d times", id, times)
						}
					}
				}
			}
			if sums[0] != sums[1] {
				t.Error("equal runs differ")
			}
		})
	}
}

// TestRatio has active messages 6 to 12 times as fast as the library, whose traps, interrupts and copies they do not have.
func TestRatio(t *testing.T) {
	t.Parallel()
	p := profile(t)
	direct, err := amfamily.RoundTrip(am.Build(p), 1, 16, 10)
	if err != nil {
		t.Fatal(err)
	}
	buffered, err := amfamily.RoundTrip(am.BuildLibrary(p), 1, 16, 10)
	if err != nil {
		t.Fatal(err)
	}
	if q := float64(buffered.Time) / float64(direct.Time); q < 6 || q > 12 {
		t.Errorf("%v and %v: %.1f times", buffered.Time, direct.Time, q)
	}
	if d, b := direct.Counts[0], buffered.Counts[0]; d.Traps > 0 || b.Traps != 22 || b.Interrupts != 11 {
		t.Errorf("%+v, %+v", d, b)
	}
}

// TestBadAddress has puts and gets outside memory refused: by the caller, and if a message has them all the same by the
// receiver, which counts them and writes nothing.
func TestBadAddress(t *testing.T) {
	t.Parallel()
	k, all := nodes(t, profile(t), 2, nil)
	const put, get = 0, 1 // the image has no others
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 1 {
			return amfamily.Wait(n, "bad messages", func() bool { return n.Counts().Requests == 6 })
		}
		for _, c := range [][3]int{{1020, 5, 0}, {-1, 4, 0}, {0, 4, 1021}, {0, 4, -1}, {0, 1025, 0}} {
			if err := n.Put(1, c[0], make([]byte, c[1]), c[2]); err == nil {
				t.Errorf("put %v", c)
			}
			if err := n.Get(1, c[0], c[1], 0, c[2]); err == nil {
				t.Errorf("get %v", c)
			}
			if err := n.Get(1, 0, c[1], c[0], c[2]); err == nil {
				t.Errorf("get to %v", c)
			}
		}
		for _, c := range []struct {
			handler int
			args    [amfamily.Args]uint32
			data    int
		}{
			{put, [4]uint32{1020, 5, 0}, 5}, {put, [4]uint32{0, 5, 1021}, 5}, {put, [4]uint32{0, 6, 8}, 5}, {put, [4]uint32{1<<32 - 1, 5, 0}, 5},
			{get, [4]uint32{1000, 1 << 31, 0, 0}, 0}, {get, [4]uint32{0, 4, 0, 0}, 3},
		} {
			if err := n.Request(1, c.handler, c.args, bytes.Repeat([]byte{1}, c.data)); err != nil {
				return err
			}
		}
		return nil
	})
	if c := all[1].Counts(); c.Malformed != 6 || !bytes.Equal(all[1].Memory, make([]byte, 1024)) || all[0].Counts().Replies > 0 {
		t.Errorf("%+v", c)
	}
}

// TestRefused has machines refused for which the model has no meaning, and calls that handlers may not make.
func TestRefused(t *testing.T) {
	t.Parallel()
	f, err := am.Machines().Load("mpp")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"net.networks", "3", "count"}, {"net.networks", "0", "count"}, {"net.latency", "0", "us"}, {"am.receive", "0", "us"}, {"library.buffers", "0", "count"},
	} {
		changed, err := f.With(c[0], c[1], c[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := am.NewProfile(changed); err == nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := am.New(new(vtime.Loop), profile(t), 1, 0, nil); err == nil {
		t.Error("a machine of one node")
	}
	k, all := nodes(t, profile(t), 2, amfamily.Image{func(n amfamily.Node, m *amfamily.Message) {
		if err := n.(*am.Node).Put(0, 0, nil, 0); !errors.Is(err, amfamily.ErrHandler) {
			t.Errorf("a put by a handler: %v", err)
		}
		if err := n.(*am.Node).Compute(us); !errors.Is(err, amfamily.ErrPoll) {
			t.Errorf("a computation by a handler: %v", err)
		}
	}})
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 0 {
			return n.Request(1, 0, [amfamily.Args]uint32{}, nil)
		}
		return amfamily.Wait(n, "a request", func() bool { return n.Counts().Requests == 1 })
	})
}
