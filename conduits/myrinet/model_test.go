package myrinet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// with returns a configuration on a machine with settings, KEY=VALUE.
func with(machine string, settings ...string) core.Config {
	cfg := core.Config{Conduit: "myrinet", Profile: machine, Seed: 1, Settings: map[string]string{}}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		cfg.Settings[key] = value
	}
	return cfg
}

const (
	ask core.HandlerIndex = 128 + iota
	answer
)

// attach attaches a rank whose requests are answered. told counts answers.
func attach(j *core.Job, told *int) (*core.Endpoint, error) {
	return j.Attach(core.AttachSpec{Segment: "512KB", Handlers: []core.HandlerEntry{
		{Index: ask, Func: func(t *core.Token, args []uint32, _ []byte) {
			var err error
			switch args[0] % 3 {
			case 0:
				err = t.ReplyMedium(answer, make([]byte, 400))
			case 1:
				err = t.ReplyLong(answer, make([]byte, 400), 5)
			default:
				err = t.ReplyShort(answer)
			}
			if err != nil {
				panic(err)
			}
		}},
		{Index: answer, Func: func(*core.Token, []uint32, []byte) { *told++ }},
	}})
}

// TestReadersOfOne has two hosts read from a third at once, which has room for one read: it refuses the other's requests, which come again
// without a pause, and sends what it has read all the same.
func TestReadersOfOne(t *testing.T) {
	err := core.RunModel(3, with("grim-lanai4", "topology=mesh:2x2"), func(j *core.Job) error {
		ep, err := attach(j, new(int))
		if err != nil {
			return err
		}
		for range 3 {
			buf := make([]byte, 65536)
			var done core.Completion
			if _, err := ep.GetNative(buf, 0, 3, &done); err != nil {
				return err
			}
			if err := ep.WaitSilent(func() bool { return done.Pending() == 0 || j.Now() > core.Time(vtime.Second) }); err != nil {
				return err
			}
			if done.Pending() > 0 {
				return errors.New("a read has not ended within a second")
			}
		}
		return ep.Barrier()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReadersOfAHost has the ranks of a host read from each other at once. Their NIC, which refuses its own requests while it has no room for another read, looks at what ends a read before it
// looks at the requests that come again. A loss ends the job if it has not ended by itself.
func TestReadersOfAHost(t *testing.T) {
	for _, machine := range []string{"grim-lanai9", "grim-lanai4"} {
		cfg := with(machine, "per-host=4")
		cfg.Losses = []core.Loss{{At: vtime.Second / 2}}
		err := core.RunModel(4, cfg, func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil {
				return err
			}
			for range 10 {
				var done core.Completion
				for r := range j.Size() {
					if _, err := ep.GetNative(make([]byte, 1000), core.Rank(r), uint64(r)*1000, &done); err != nil {
						return err
					}
				}
				if err := ep.WaitSilent(func() bool { return done.Pending() == 0 }); err != nil {
					return err
				}
			}
			return ep.Barrier()
		})
		if err != nil {
			t.Errorf("%s: %v", machine, err)
		}
	}
}

// TestOneSidedOwn has a target refuse requests, since it computes. A put and a get of the same rank complete meanwhile if they have a channel of their own, and else when the target polls.
func TestOneSidedOwn(t *testing.T) {
	const computes = 10 * time.Millisecond
	for _, c := range []struct {
		setting string
		waits   bool
	}{{"one-sided=own", false}, {"one-sided=shared", true}, {"sequencing=per-ni", true}} {
		var took time.Duration
		err := core.RunModel(2, with("", "receive=1KB", c.setting), func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				j.Compute(computes)
				return ep.Barrier()
			}
			for range 3 { // the target takes some, and then refuses
				for err == nil {
					err = ep.TryShort(1, ask, 2)
				}
				j.Compute(time.Millisecond)
				if !errors.Is(err, core.ErrNoRoom) {
					return err
				}
				err = ep.Poll()
			}
			var done core.Completion
			_, put := ep.PutNative(1, 0, make([]byte, 100), nil, &done)
			_, get := ep.GetNative(make([]byte, 100), 1, 200, &done)
			err = errors.Join(put, get, ep.WaitSilent(func() bool { return done.Pending() == 0 }))
			took = j.Now().Duration()
			return errors.Join(err, ep.Barrier())
		})
		if err != nil || (took > computes) != c.waits {
			t.Errorf("%s: a put and a get have completed at %v, while their target computes for %v: %v", c.setting, took, computes, err)
		}
	}
}

// TestInterrupts has a rank compute while its NIC fetches into memory that it does not know yet: the interrupt takes the rank's time, by whichever channel the get has left.
func TestInterrupts(t *testing.T) {
	var took [2]core.Time
	for i, setting := range []string{"one-sided=own", "one-sided=shared"} {
		err := core.RunModel(2, with("", setting), func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil || j.Rank() == 1 {
				return errors.Join(err, ep.Barrier())
			}
			began := j.Now()
			var done core.Completion
			if _, err := ep.GetNative(make([]byte, 100), 1, 0, &done); err != nil {
				return err
			}
			j.Compute(time.Millisecond)
			if err := ep.WaitSilent(func() bool { return done.Pending() == 0 }); err != nil {
				return err
			}
			took[i] = j.Now() - began
			return ep.Barrier()
		})
		if err != nil {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if took[0] != took[1] {
		t.Errorf("a get takes %v of the rank's time by a channel of its own, %v by that of messages", took[0], took[1])
	}
}

// TestFullControls has ranks send to all, themselves too, and a hot spot, by NICs with one entry for control messages: the NACKs that are owed keep none of them from
// taking in what others wait for.
func TestFullControls(t *testing.T) {
	for name, to := range map[string]func(j *core.Job, i int) core.Rank{
		"all": func(j *core.Job, i int) core.Rank { return core.Rank(i % j.Size()) },
		"one": func(*core.Job, int) core.Rank { return 0 },
	} {
		err := core.RunModel(5, with("", "controls=1", "buffers=1", "queue=600", "receive=600"), func(j *core.Job) error {
			told := 0
			ep, err := attach(j, &told)
			if err != nil {
				return err
			}
			const n = 200
			for i := range n {
				if err := ep.RequestMedium(to(j, i), ask, make([]byte, i*7%400), uint32(i)); err != nil {
					return err
				}
			}
			return ep.WaitUntil(func() bool { return told == n })
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoss loses a rank: the drivers of the others notice, whether they send to it or not, and a host is lost with all its ranks.
func TestLoss(t *testing.T) {
	const at = 5 * time.Millisecond
	cfg := with("", "per-host=2")
	cfg.Losses = []core.Loss{{Rank: 1, At: vtime.FromDuration(at)}}
	for _, sends := range []bool{false, true} {
		var last, neighbour core.Time
		err := coretest.Twice(t, 4, cfg, func(j *core.Job) error {
			told := 0
			ep, err := attach(j, &told)
			if err != nil {
				return err
			}
			if j.Rank() == 3 {
				defer func() { last = j.Now() }()
			}
			for i := 0; sends && err == nil; i++ {
				if j.Rank() == 0 {
					neighbour = j.Now()
				}
				err = errors.Join(ep.RequestShort(1, ask, 2), ep.WaitUntil(func() bool { return told > i }))
			}
			return errors.Join(err, ep.WaitUntil(func() bool { return false }))
		})
		if core.StatusOf(err) != core.StatusLost || !strings.Contains(err.Error(), "the host of rank 1, h0, is lost") {
			t.Errorf("ranks send %v: status %d, %v", sends, core.StatusOf(err), err)
		}
		if d := last.Duration(); d < at+10*time.Millisecond || d > at+11*time.Millisecond {
			t.Errorf("ranks send %v: the job ends at %v", sends, d)
		}
		if neighbour.Duration() > at+time.Millisecond {
			t.Errorf("rank 0, whose host is lost at %v, goes on at %v", at, neighbour)
		}
	}
}

// TestTraces runs random traffic twice: equal seeds give equal traces, and on an irregular network another seed gives another.
func TestTraces(t *testing.T) {
	run := func(seed uint64) (digest uint64) {
		cfg := with("", "topology=random:6")
		cfg.Seed = seed
		var trace vtime.Digest
		cfg.Trace = &trace
		if err := core.RunModel(12, cfg, func(j *core.Job) error {
			told := 0
			ep, err := attach(j, &told)
			if err != nil {
				return err
			}
			for i := range 20 {
				if err := ep.RequestLong(core.Rank((int(j.Rank())*5+i*7)%j.Size()), ask, make([]byte, i*100), 8, uint32(i)); err != nil {
					return err
				}
			}
			return ep.WaitUntil(func() bool { return told == 20 })
		}); err != nil {
			t.Fatal(err)
		}
		return trace.Sum()
	}
	if a, b := run(1), run(1); a != b {
		t.Error("equal seeds give two traces")
	}
	if run(1) == run(2) {
		t.Error("two seeds give one irregular network")
	}
}

// TestScale runs an exchange of all with some, and barriers, with more ranks than a switch has ports.
func TestScale(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	const n = 512
	err := core.RunModel(n, with(""), func(j *core.Job) error {
		told := 0
		ep, err := attach(j, &told)
		if err != nil {
			return err
		}
		for d := 1; d < n; d *= 2 {
			if err := ep.RequestShort(core.Rank((int(j.Rank())+d)%n), ask, 2); err != nil {
				return err
			}
		}
		return errors.Join(ep.WaitUntil(func() bool { return told == 9 }), ep.Barrier())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRefusals has settings that no job can have refused, with what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		want, machine string
		ranks         int
		settings      []string
	}{
		{"4 ranks, 1 on a host, need 4", "", 4, []string{"topology=fat-tree:1x2"}},
		{"there are line:N", "", 2, []string{"topology=star:4"}},
		{"no such file", "", 2, []string{"topology=nothing"}},
		{"need 4 channels; 1 are asked for", "", 2, []string{"per-host=2", "channels=1"}},
		{"1 ranks (per-host, one-sided) and 3 devices (devices) on a host need 5 channels; 4", "", 2, []string{"devices=3", "channels=4"}},
		{"128 ranks (per-host, one-sided) and 0 devices (devices) on a host need 256 channels; a NIC has 255 at most", "", 2, []string{"per-host=128"}},
		{"unlimited-sram", "grim-lanai4", 2, []string{"channels=64", "queue=64KB"}},
		{"limits of 512 B", "", 2, []string{"queue=200"}},
		{"want a whole number", "", 2, []string{"depth=0"}},
		{"packets are lost on cables", "", 2, []string{"errors=100", "time-outs=off"}},
		{"a cable is pulled", "", 2, []string{"unplug=h1@1ms", "time-outs=off"}},
		{"want HOST@TIME", "", 2, []string{"unplug=h1"}},
		{"there are h0 to h1", "", 2, []string{"unplug=h2@1ms"}},
		{"settings channels, one-sided, queue, pool", "", 2, []string{"routes=in-transit", "pool=80"}},
		{"want up-down or in-transit", "", 2, []string{"routes=shortest"}},
		{"the table has room for 32", "", 40, []string{"topology=line:40"}},
	} {
		err := core.RunModel(c.ranks, with(c.machine, c.settings...), func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil {
				return err
			}
			return ep.Barrier()
		})
		if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v: %v, want %q", c.settings, err, c.want)
		}
	}
}

// TestSizes wants a topology for any number of ranks, however many hosts a switch has then.
func TestSizes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 9, 16, 17, 20, 31, 32, 33, 40} {
		for _, topology := range []string{"auto", "mesh:2x2", "random:4"} {
			cfg := core.Config{Conduit: "myrinet", Seed: 1, Settings: map[string]string{"topology": topology}}
			if err := core.RunModel(n, cfg, func(j *core.Job) error {
				_, err := j.Attach(core.AttachSpec{})
				return err
			}); err != nil {
				t.Errorf("%d ranks on %s: %v", n, topology, err)
			}
		}
	}
}
