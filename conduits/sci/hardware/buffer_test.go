package hardware_test

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestBuffers has two hosts store at a third, whose bus is slower than what comes in, and
// compares with the same worked out stage by stage. Memory is so slow that blocks are seen when the
// checks are over.
func TestBuffers(t *testing.T) {
	for _, buffers := range []int{1, 2, 3, 16} {
		profile := load(t, "scale", "adapter.buffers", strconv.Itoa(buffers), "count", "memory.visible", "2", "us")
		if got, want := intoOne(t, profile, nil), naiveIntoOne(profile).times; got.times != want {
			t.Errorf("%d buffers: the last block is seen and the checks are over at %v, want %v", buffers, got.times, want)
		}
	}
}

// TestLostReceiver loses the receiver at many times, while bursts come to it, are taken in, and
// wait for its only buffer: what was accepted before is answered, and nothing else.
func TestLostReceiver(t *testing.T) {
	profile := load(t, "scale", "adapter.buffers", "1", "count")
	naive := naiveIntoOne(profile)
	for at := vtime.Time(0); at < naive.times.seen; at += 37 * vtime.Nanosecond {
		got := intoOne(t, profile, func(k *vtime.Kernel, m *hardware.Machine) { k.At(at, crash{m}, 2, 0) })
		for me, o := range got.outcomes {
			want := hardware.Delivered
			if at < naive.accepted[me] {
				want = hardware.Dead
			}
			if o != want {
				t.Errorf("lost at %v: sender %d, accepted at %v: %v, want %v", at, me, naive.accepted[me], o, want)
			}
		}
	}
}

// TestLostSender loses a host while its bursts are on its bus and in its adapter: those that
// have not departed never do.
func TestLostSender(t *testing.T) {
	p := load(t, "scale")
	departs := departures(p)
	for at := vtime.Time(0); at < departs[each-1]+vtime.Microsecond; at += 37 * vtime.Nanosecond {
		m := run(t, p, 2, func(proc *vtime.Proc, m *hardware.Machine) {
			proc.Kernel().At(at, crash{m}, 0, 0)
			memory := make([]byte, block)
			for range each {
				m.Node(0).Store(m.Node(1), memory, make([]byte, block), 0, nil, nil)
			}
			proc.Charge(vtime.Millisecond)
			proc.Sync()
		})
		want := 0
		for _, d := range departs {
			if d < at {
				want++
			}
		}
		if got := m.Node(0).Counts().Bytes; got != int64(want*block) {
			t.Errorf("lost at %v: %d bytes arrived, want %d", at, got, want*block)
		}
	}
}

// crash is an event that loses a host.
type crash struct{ m *hardware.Machine }

func (c crash) Fire(node, _ uint64) { c.m.Lose(int(node)) }

// Two hosts store each blocks at a third, the second one a little later than the first.
const (
	each = 12
	late = 10 * vtime.Nanosecond
)

// arrived is how that went.
type arrived struct {
	times struct {
		seen    vtime.Time    // the last block, at the third host
		checked [2]vtime.Time // the ends of the checks
	}
	accepted [2]vtime.Time // the last block of each, by the remote adapter; from naiveIntoOne
	outcomes [2]hardware.Outcome
}

// intoOne returns how it goes on the machine, after a call of begin if that is not nil.
func intoOne(t *testing.T, profile *hardware.Profile, begin func(*vtime.Kernel, *hardware.Machine)) (a arrived) {
	memory := make([]byte, block)
	sender := func(me int) host {
		return func(p *vtime.Proc, m *hardware.Machine) {
			if me == 0 && begin != nil {
				begin(p.Kernel(), m)
			}
			p.Charge(vtime.Time(me) * late)
			var account hardware.Account
			for range each {
				m.Node(me).Store(m.Node(2), memory, make([]byte, block), 0, &account, p)
			}
			a.outcomes[me] = m.Node(me).Check(&account)
			a.times.checked[me] = p.Now()
			for begin == nil && m.Node(me).Counts().Bytes < each*block {
				p.Park(0)
				a.times.seen = max(a.times.seen, p.Now())
			}
		}
	}
	run(t, profile, 3, sender(0), sender(1))
	return a
}

// departures returns when the adapter of a host that stores each blocks has each ready.
func departures(p *hardware.Profile) (at [each]vtime.Time) {
	var crossed, sent vtime.Time
	for k := range at {
		crossed = max(vtime.Time(k+1)*block/8*p.PIO.Word, crossed) + bus(p)
		sent = max(crossed, sent) + p.Adapter.Send
		at[k] = sent + p.Adapter.Forward
	}
	return at
}

// naiveIntoOne works the same out.
func naiveIntoOne(p *hardware.Profile) (a arrived) {
	type burst struct {
		from int
		at   vtime.Time
	}
	var bursts []burst // at the switch's link to the third host
	for from := range 2 {
		var passed vtime.Time
		for _, at := range departures(p) {
			passed = max(vtime.Time(from)*late+at, passed) + wire(p, block)
			bursts = append(bursts, burst{from, passed - wire(p, block) + p.Link.Hop + p.Link.Turn})
		}
	}
	slices.SortStableFunc(bursts, func(x, y burst) int { return cmp.Compare(x.at, y.at) })
	var passed, taken, crossed, back vtime.Time
	var home [2]vtime.Time // of answers, at the link to the sender
	free := make([]vtime.Time, p.Adapter.Buffers+len(bursts))
	for i, b := range bursts {
		passed = max(b.at, passed) + wire(p, block)
		taken = max(passed+p.Link.Hop+p.Adapter.Accept, taken) + p.Adapter.Receive
		accepted := max(taken, free[i])
		crossed = max(accepted, crossed) + bus(p)
		free[i+p.Adapter.Buffers] = crossed
		back = max(accepted, back) + wire(p, 0)
		home[b.from] = max(back-wire(p, 0)+p.Link.Hop+p.Link.Turn, home[b.from]) + wire(p, 0)
		a.accepted[b.from] = accepted
		a.times.seen = crossed + p.Memory.Visible
		a.times.checked[b.from] = home[b.from] + p.Link.Hop + p.Adapter.Answer + p.PIO.Status
	}
	return a
}
