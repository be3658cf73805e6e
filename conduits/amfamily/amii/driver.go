package amii

import (
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// driver pages endpoints into the frames of its host's NIC, one after the other.
type driver struct {
	program *Program
	free    int // frames
	wanted  fifo.Queue[*queues]
	random  *rand.Rand

	looks bool    // at the endpoints again, later
	busy  bool    // an endpoint is being paged in
	in    *queues // it
	out   *queues // whose frame it gets; nil: one that is free
}

// The events of a driver.
const (
	asked  uint64 = iota // the NIC's interrupt has come for an endpoint, or the time to bring it back
	mapped               // the driver has chosen frames, and mapped endpoints
	look                 // an endpoint may be paged out now
)

var driverEvents = [...]string{"asked", "mapped", "look"}

// Label implements vtime.Labelled.
func (d *driver) Label(event, _ uint64) string { return "AM-II driver: " + driverEvents[event] }

// missed interrupts the host, since there is a packet for an endpoint that is not resident.
func (d *driver) missed(q *queues) {
	if q.wanted || q.place != absent {
		return
	}
	p := d.program
	p.counts.Interrupts++
	d.wantIn(q, p.profile.Driver.Interrupt)
}

// wantIn has an endpoint paged in that is in no frame, but not before a time has passed.
func (d *driver) wantIn(q *queues, wait vtime.Time) {
	q.wanted = true
	d.program.loop.At(d.program.loop.Now()+wait, d, asked, uint64(q.owner.number))
}

// want has an endpoint paged in that is in no frame.
func (d *driver) want(q *queues) {
	if q.wanted || q.place != absent {
		return
	}
	q.wanted = true
	d.wanted.Push(q)
	d.run()
}

// run pages the next endpoint in, if there is one, and a frame for it. The endpoint that was used least recently leaves its frame: as
// soon as nothing of it is under way, until when it takes no requests. It does not wait for that for longer than am2.longest, since
// what is under way may be for an endpoint which waits for a frame too. See bringBack.
func (d *driver) run() {
	if d.busy || d.wanted.Len() == 0 {
		return
	}
	var victim *queues
	if d.free == 0 {
		if victim = d.oldest((*queues).quiet); victim != nil && d.settling(victim) {
			return
		} else if victim == nil {
			if victim = d.overdue(); victim == nil {
				return
			}
		}
		d.stay()
		victim.place = moving
		victim.timer.Stop()
	} else {
		d.free--
	}
	q, _ := d.wanted.Pop()
	d.busy, d.in, d.out = true, q, victim
	q.wanted, q.place = false, moving
	p := d.program
	p.loop.At(p.loop.Now()+p.profile.Driver.Page, d, mapped, 0)
}

// settling reports whether an endpoint has been paged in so lately that its process may not have noticed, and looks again when it
// must have: it stays for as long as the driver works to page one in.
func (d *driver) settling(q *queues) bool {
	p := d.program
	end := q.since + p.profile.Driver.Page
	if end <= p.loop.Now() {
		return false
	}
	if !d.looks {
		d.looks = true
		p.loop.At(end, d, look, 0)
	}
	return true
}

// overdue returns the endpoint that was to leave, if it has been for too long, and the NIC does nothing for it now. If none is to leave, one
// is from now on.
func (d *driver) overdue() *queues {
	now := d.program.loop.Now()
	q := d.oldest(func(q *queues) bool { return q.leaving })
	if q == nil {
		q = d.oldest(func(*queues) bool { return true })
		q.leaving, q.leaves = true, now+d.program.profile.AM2.Longest
		d.program.loop.At(q.leaves, d, look, 0)
	}
	if q.leaves > now || !q.idle() {
		return nil
	}
	return q
}

// bringBack has an endpoint come back that has left though something of it is under way: its packets are sent again then. It stays away
// for am2.longest at least, so that endpoints which wait for packets can be in the frame meanwhile. How much longer is
// random: or hosts that change endpoints at the same times never had both ends of a message in frames at once.
func (d *driver) bringBack(q *queues) {
	longest := d.program.profile.AM2.Longest
	d.wantIn(q, longest+vtime.Time(d.random.Int64N(int64(longest))))
}

// oldest returns the resident endpoint that was used least recently among those that are fit, or nil.
func (d *driver) oldest(fit func(*queues) bool) (q *queues) {
	for _, r := range d.program.queues {
		if r.owner != nil && r.place == resident && fit(r) && (q == nil || r.usedAt < q.usedAt) {
			q = r
		}
	}
	return q
}

// stay lets endpoints take requests again that were to leave.
func (d *driver) stay() {
	for _, q := range d.program.queues {
		if q.leaving {
			q.leaving = false
			q.owner.arrive()
		}
	}
}

// Fire implements vtime.Target.
func (d *driver) Fire(event, number uint64) {
	switch {
	case event == asked:
		d.wanted.Push(d.program.numbered[uint16(number)])
		d.run()
	case event == look:
		d.looks = false
		d.run()
	case d.out != nil:
		d.move(lanai.ToHost)
	default:
		d.move(lanai.FromHost)
	}
}

// move has a frame cross the bus.
func (d *driver) move(way lanai.Direction) {
	p := d.program
	memory := make([]byte, 2*p.profile.AM2.Frame)
	n := len(memory) / 2
	p.enqueue(job{kind: paging, block: lanai.Block{Direction: way, Host: memory[:n], SRAM: memory[n:]}})
}

// moved goes on when a frame has crossed the bus: the old one is followed by the new one.
func (d *driver) moved() {
	p := d.program
	if q := d.out; q != nil {
		q.place = absent
		if q.bundle.Unacknowledged() > 0 {
			d.bringBack(q)
		}
		q.owner.arrive()
		p.counts.PagedOut++
		d.out = nil
		d.move(lanai.FromHost)
		return
	}
	q := d.in
	d.busy, d.in = false, nil
	p.counts.PagedIn++
	q.place, q.since, q.usedAt = resident, p.loop.Now(), p.loop.Now()
	q.owner.arrive()
	q.attend()
}
