package nbrhd_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// unfit is a part whose sleeper has a descriptor that cannot be waited for, or that cannot attach.
type unfit struct {
	core.Conduit
	attaches bool
	close    func()
}

func (u *unfit) Attach(a *core.Attachment) error {
	if !u.attaches {
		return errors.New("no network")
	}
	return u.Conduit.Attach(a)
}

func (u *unfit) Sleeper() core.Sleeper { return sleepless{u.Conduit.Sleeper()} }

func (u *unfit) Close() error {
	u.close()
	if !u.attaches {
		return nil
	}
	return u.Conduit.Close()
}

type sleepless struct{ core.Sleeper }

func (sleepless) FD() int { return 1 << 30 }

// TestUnfit has a part fail to attach, or the descriptors of the two not be joined: the parts that were asked to
// attach are closed once, when all ranks know of the failure, since to close one may take them all.
func TestUnfit(t *testing.T) {
	loopback, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name      string
		near, far bool // attach
		closed    int32
		says      string
	}{
		{"near", false, true, 2, "the near conduit: no network"},
		{"far", true, false, 4, "the far conduit: no network"},
		{"epoll", true, true, 4, "epoll_ctl"},
	} {
		var returned, closed, early atomic.Int32
		for side, attaches := range map[string]bool{"near": x.near, "far": x.far} {
			core.Register(core.Driver{Name: "unfit-" + x.name + "-" + side, New: func(string) core.Conduit {
				return &unfit{loopback.New(""), attaches, func() {
					closed.Add(1)
					if returned.Load() < 2 {
						early.Add(1)
					}
				}}
			}})
		}
		profile := "unfit-" + x.name + "-near+unfit-" + x.name + "-far"
		err := core.RunGoroutines(2, core.Config{Conduit: "nbrhd", Profile: profile}, func(j *core.Job) error {
			defer returned.Add(1)
			_, err := j.Attach(core.AttachSpec{Segment: "4096"})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: the job ended with %v", x.name, err)
		}
		if closed.Load() != x.closed || early.Load() != 0 {
			t.Errorf("%s: %d parts were closed, want %d, %d before all ranks had returned", x.name, closed.Load(), x.closed, early.Load())
		}
	}
}

// looked is a far part that counts the looks at it.
type looked struct {
	core.Conduit
	polls *atomic.Int32
}

func (l *looked) Poll(budget int) int {
	l.polls.Add(1)
	return l.Conduit.Poll(budget)
}

// TestCrowdedLooks has two near ranks share a CPU: who polls in vain looks at the far conduit each time, since others run until the next poll.
func TestCrowdedLooks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	loopback, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	var polls atomic.Int32
	core.Register(core.Driver{Name: "looked", New: func(string) core.Conduit { return &looked{loopback.New(""), &polls} }})
	const most = 64
	err = core.RunGoroutines(2, core.Config{Conduit: "nbrhd", Profile: "sci+looked"}, func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{Segment: "4096"})
		if err != nil || j.Rank() != 0 {
			return err
		}
		before := polls.Load()
		for range most {
			if err := ep.Poll(); err != nil {
				return err
			}
		}
		if n := polls.Load() - before; n < most/2 {
			t.Errorf("%d polls looked at the far conduit %d times", most, n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// private is a far part that makes a segment of its own. It returns that or, if it lies, the one that it was to take on.
type private struct {
	core.Conduit
	lies bool
}

func (p *private) AttachSegment(a *core.Attachment) ([]byte, error) {
	below := *a
	below.Memory = nil
	own, err := p.Conduit.AttachSegment(&below)
	if p.lies {
		return a.Memory, err
	}
	return own, err
}

// TestOneSegment wants a rank to have one segment: a far conduit that takes the near one's on, or says that it cannot.
// A Long in other memory, of which the rank would see nothing, ends the job.
func TestOneSegment(t *testing.T) {
	loopback, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	for name, lies := range map[string]bool{"own-segment": false, "secret-segment": true} {
		core.Register(core.Driver{Name: name, New: func(string) core.Conduit { return &private{loopback.New(""), lies} }})
	}
	for profile, says := range map[string]string{
		"sci+loopback":       "",
		"sci+own-segment":    "the far conduit: it has not taken on the segment",
		"sci+secret-segment": "other memory than the rank's segment",
		"loopback+sci":       "the far conduit: sci: peers map what the adapter exports: " + core.ErrOwnSegment.Error(),
	} {
		cfg := core.Config{Conduit: "nbrhd", Profile: profile, Settings: map[string]string{"block": "1"}}
		err := core.RunGoroutines(2, cfg, func(j *core.Job) error {
			ep, err := j.Attach(core.AttachSpec{Segment: "4096", Handlers: []core.HandlerEntry{
				{Index: 128, Func: func(*core.Token, []uint32, []byte) {}},
			}})
			if err == nil && j.Rank() == 0 {
				err = ep.RequestLong(1, 128, []byte("far"), 0)
			}
			if err != nil {
				return err
			}
			return ep.Barrier()
		})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: the job ended with %v, want %q", profile, err, says)
		}
	}
}
