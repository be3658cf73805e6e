package myrinet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// exchange runs a job of ranks that send each other n requests, one after the other, and returns what the NICs have done, when the job has ended, and how.
func exchange(ranks, n int, machine string, settings ...string) (done map[string]grim.Counts, end time.Duration, err error) {
	cfg := with(machine, settings...)
	cfg.Conduit, cfg.Losses = "watched-myrinet", []core.Loss{{At: 10 * vtime.Second}} // ends it if nothing else does
	err = core.RunModel(ranks, cfg, func(j *core.Job) error {
		told := 0
		ep, err := attach(j, &told)
		for i := 0; i < n && err == nil; i++ {
			err = errors.Join(ep.RequestMedium(core.Rank((int(j.Rank())+1)%ranks), ask, make([]byte, i%300), uint32(i)), ep.WaitUntil(func() bool { return told > i }))
		}
		if err == nil {
			err = ep.Barrier()
		}
		end = max(end, j.Now().Duration())
		return err
	})
	return myrinet.Done(), end, err
}

// sum adds up one count of all hosts.
func sum(done map[string]grim.Counts, of func(grim.Counts) uint64) (n uint64) {
	for _, c := range done {
		n += of(c)
	}
	return n
}

func inTransit(c grim.Counts) uint64 { return c.InTransit }
func sentOn(c grim.Counts) uint64    { return c.CutThrough }
func late(c grim.Counts) uint64      { return c.TimeOuts }
func damaged(c grim.Counts) uint64   { return c.Corrupt + c.Truncated }

const (
	ring     = "topology=testdata/ring.topology"
	transits = "routes=in-transit"
	between  = "h5" // the only host of the switch between those of ranks 0 and 1
)

// TestRoutes has two ranks talk over ways that are legal, and over shortest ones: all packets in transit pass the host between, which has no rank, and which has a NIC only then. Without a pool
// it drops some.
func TestRoutes(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		settings       []string
		transits, drop bool
	}{{nil, false, false}, {[]string{transits}, true, false}, {[]string{transits, "pool=0"}, true, true}, {[]string{transits, "pool=0", "time-outs=off"}, true, false}} {
		done, _, err := exchange(2, n, "", append(c.settings, ring)...)
		all, there := sum(done, inTransit), done[between].InTransit
		if err != nil || all != there || (there > 4*n) != c.transits || (sum(done, sentOn) > 0) != c.transits || (done[between].Overflow > 0) != c.drop || (sum(done, late) > 0) != c.drop {
			t.Errorf("%v: %v; %d packets in transit, %d of them at %s: %+v", c.settings, err, all, there, between, done)
		}
		if _, made := done[between]; made != c.transits || len(done) > 3 {
			t.Errorf("%v: %d hosts have NICs, %s among them %v", c.settings, len(done), between, made)
		}
	}
}

// TestErrors damages packets: NICs find them, and messages are sent again, which takes time-outs. Where nothing is damaged, nothing is sent again.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		settings []string
		lossy    bool
	}{
		{nil, false}, {[]string{"time-outs=on"}, false}, {[]string{"errors=0"}, false}, {[]string{"errors=10000"}, true},
		{[]string{"errors=10000", transits, ring}, true}, {[]string{"errors=10000", "time-outs=on", "per-host=2"}, true},
	} {
		done, _, err := exchange(4, 100, "", c.settings...)
		if err != nil || (sum(done, late) > 5) != c.lossy || (sum(done, damaged) > 5) != c.lossy {
			t.Errorf("%v: %v; %+v", c.settings, err, done)
		}
	}
}

// TestLostInTransit pulls the cable of an in-transit host: after the time-outs the ranks, of which each finds that out for itself, talk round it.
func TestLostInTransit(t *testing.T) {
	const n = 200
	before, undisturbed, err := exchange(2, n, "", ring, transits)
	if err != nil {
		t.Fatal(err)
	}
	done, end, err := exchange(2, n, "", ring, transits, "unplug="+between+"@2ms")
	if err != nil || end < undisturbed+50*10*time.Millisecond {
		t.Errorf("%v, at %v; without the loss at %v", err, end, undisturbed)
	}
	if k := done[between].InTransit; k == 0 || k >= before[between].InTransit || sum(done, late) < 50 {
		t.Errorf("%d packets have passed the host: %+v", k, done)
	}
}

// TestOneWayRound has one rank alone send, as the in-transit host is lost. The answers of the other's NIC take another way too.
func TestOneWayRound(t *testing.T) {
	cfg := with("", ring, transits, "unplug="+between+"@2ms")
	cfg.Losses = []core.Loss{{At: 5 * vtime.Second}} // ends it if nothing else does
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		ep, err := attach(j, new(int))
		for err == nil && j.Rank() == 0 && j.Now() < core.Time(3*vtime.Millisecond) {
			var done core.Completion
			if _, err = ep.PutNative(1, 0, make([]byte, 100), nil, &done); err == nil {
				err = ep.WaitSilent(func() bool { return done.Pending() == 0 })
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestUnreachable pulls the cable of a rank's host, to which no way leads any more, with and without in-transit hosts between.
func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		ranks    int
		settings []string
	}{{2, nil}, {4, []string{"time-outs=on", "per-host=2", "topology=mesh:2x2"}}, {2, []string{ring, transits}}, {4, []string{ring, transits}}} {
		settings := append(c.settings, "unplug=h1@1ms")
		_, _, err := exchange(c.ranks, 1000, "", settings...)
		if core.StatusOf(err) != core.StatusLost || !strings.Contains(err.Error(), "host h1 does not answer host") && !strings.Contains(err.Error(), "does not answer host h1: it is lost") {
			t.Errorf("%v: status %d, %v", settings, core.StatusOf(err), err)
		}
	}
}
