package myrinet

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// card is the NIC of a host in a live job, with the firmware on it and GRIM's library. It is in the process of the host's first rank: that process exists in any case, and a daemon of the job's own would
// be one more thing to be started, watched and ended.
//
// A goroutine drives the card. It runs no handler of core's. It sleeps when there is nothing to do, and the card's doorbell, in shared memory, wakes it: for orders of the host's ranks, and for packets of
// other NICs. Where each rank has a CPU there is none left for the goroutine while the rank polls. So a rank of the process that polls, or gives an order, drives the card too (see attend), and the goroutine
// rests as long as it sees that somebody does. See the setting nic.
type card struct {
	loop    *vtime.Live
	host    *grim.Host
	port    *link.Port
	bell    door
	slots   []*slot
	devices []*device
	fail    func(error)
	alone   bool // ranks do not attend
	broken  bool // shared memory has what nobody writes there; the job ends

	stop     atomic.Bool
	attended atomic.Uint32 // counts turns of ranks
	dozing   atomic.Bool   // the first rank of the host sleeps, and the doorbell wakes it
	resting  atomic.Bool   // the goroutine waits for resume
	hurry    atomic.Bool   // an event is due before the goroutine would look again
	until    vtime.Time    // when that is; who is in the loop has it
	resume   chan struct{}
	over     chan struct{} // closed when the goroutine has ended; nil: it was not started

	byRanks, byGoroutine uint64        // see cardCounts; who is in the loop counts
	woken, rung, rested  atomic.Uint64 // likewise
}

// tick is how long the goroutine rests while ranks attend to the card: twice as long each time that it sees that one still does, up to longTick, and tick again after none did. When they
// cease, what comes waits for two rests at most.
const (
	tick     = 500 * time.Microsecond
	longTick = 4 * time.Millisecond
)

// open gives a rank of the host its endpoints: that of messages, and one for each lane besides, of such channels.
func (c *card) open(s *slot, channels []int, server grim.EndpointID) (err error) {
	s.card = c
	c.slots = append(c.slots, s)
	c.loop.Do(func() {
		for i := range s.lanes {
			if s.lanes[i].endpoint, err = c.host.Open(channels[i], grim.EndpointOptions{Deliver: s.deliver}); err != nil {
				return
			}
		}
		s.endpoint = s.lanes[0].endpoint
		s.endpoint.SetServer(server)
		err = s.endpoint.Announce(names)
	})
	return err
}

// patience is how long a card waits for the server of handlers, which works already; it covers an overloaded host.
const patience = 30 * time.Second

// start lets the card work, and returns when the server of handlers has answered all endpoints.
func (c *card) start() error {
	c.resume = make(chan struct{}, 1)
	known := make(chan error, len(c.slots))
	var err error
	c.loop.Do(func() {
		for _, s := range c.slots {
			if err == nil {
				err = s.endpoint.Synchronize(func(err error) { known <- err })
			}
		}
		for _, d := range c.devices {
			d.start()
		}
	})
	if err != nil {
		return err
	}
	c.over = make(chan struct{})
	go c.run()
	late := time.After(patience)
	for range c.slots {
		select {
		case err := <-known:
			if err != nil {
				return err
			}
		case <-late:
			return fmt.Errorf("myrinet: the NIC of rank %d has not answered for %v what numbers handlers have", c.slots[0].rank, patience)
		}
	}
	return nil
}

// close ends the goroutine.
func (c *card) close() error {
	if c.over != nil {
		c.stop.Store(true)
		c.bell.count.Notify()
		c.relieve()
		<-c.over
	}
	return c.loop.Close()
}

// route gives the NIC its routes. Packets of others pass the hosts that have ranks.
func (c *card) route(s *site, present []bool) {
	from := c.host.ID()
	s.passes = func(node int) (bool, error) { return present[node], nil }
	c.host.SetRouter(func(to int) ([][]byte, error) { return s.route(from, to) })
	detoured := map[int]bool{}
	silences := map[int]*silence{}
	c.host.OnUnreachable(func(to int) bool {
		if silences[to] == nil {
			silences[to] = new(silence)
		}
		if !silences[to].long(c.loop.Now(), c.host.Heard(to)) {
			return true
		}
		leg := s.around(from, to)
		if leg == nil || detoured[to] {
			c.fail(s.silent(from, to))
			return false
		}
		detoured[to], silences[to] = true, nil
		if err := c.host.SetRoute(to, leg); err != nil {
			c.fail(err)
			return false
		}
		return true
	})
}

// silence is how long a host has not answered. GRIM tells of it again and again, as the host is tried again and again. A process that gets no CPU for seconds is not lost yet, and of one that has ended the launcher hears.
type silence struct{ since, last vtime.Time }

// What a silence is: shorter ones do not count, and one that has ended is not told of for a while.
const (
	longSilence = 10 * vtime.Second
	pastSilence = 2 * vtime.Second
)

// long takes note that the host is silent now, which has been heard at some time, and reports whether it has been silent for long.
func (s *silence) long(now, heard vtime.Time) bool {
	if s.last == 0 || now-s.last > pastSilence || heard > s.since {
		s.since = now
	}
	s.last = now
	return now-s.since >= longSilence
}

// register makes memory known to the NIC, and returns its key.
func (c *card) register(s *slot, bytes []byte) (key grim.Key, err error) {
	if len(bytes) == 0 {
		return 0, nil
	}
	c.loop.Do(func() {
		var r *grim.Region
		if r, err = s.endpoint.RegisterMemory(bytes, grim.Contiguous); err == nil {
			key = r.Key()
			s.regions = append(s.regions, r)
		}
	})
	return key, err
}

// forget ends that the NIC writes and reads a rank's memory.
func (c *card) forget(s *slot) {
	c.loop.Do(func() {
		for _, r := range s.regions {
			s.endpoint.UnregisterMemory(r, nil) // if a read is under way, its bytes are dropped with the order
		}
	})
}

// run is the card's goroutine.
func (c *card) run() {
	defer close(c.over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	did := 0
	turn := func() {
		c.byGoroutine++
		did = c.work()
	}
	ready := false
	look := func() { ready = c.ready() }
	rest := func(d time.Duration, dozes bool) {
		timer.Reset(d)
		c.resting.Store(true)
		if dozes && !c.dozing.Load() { // the rank has woken up meanwhile, and has not seen the rest
			c.resting.Store(false)
			return
		}
		select {
		case <-timer.C:
		case <-c.resume:
		}
		c.resting.Store(false)
	}
	attended, pause := c.attended.Load(), tick
	for !c.stop.Load() {
		if now := c.attended.Load(); now != attended {
			attended = now
			c.loop.Do(func() { c.until = c.loop.Now() + vtime.FromDuration(pause) })
			rest(pause, false)
			c.rested.Add(1)
			pause = min(2*pause, longTick)
			continue
		}
		pause = tick
		if c.loop.TryDo(turn); did > 0 {
			continue
		}
		c.hurry.Store(false)
		wait := forever
		c.loop.Do(func() {
			at, timed := c.loop.First()
			c.until = math.MaxInt64
			if timed {
				c.until, wait = at, max(0, at-c.loop.Now()).Duration()+1
			}
		})
		if c.dozing.Load() {
			rest(wait, true)
		} else {
			looks := 0
			ready := func() bool {
				looks++
				return c.stop.Load() || c.hurry.Load() || c.attended.Load() != attended || !c.loop.TryDo(look) || ready
			}
			if c.bell.count.Wait(wait, ready) && looks > 2 { // it looks twice before it sleeps
				c.woken.Add(1)
			}
		}
	}
}

// forever is longer than any job.
const forever = time.Duration(math.MaxInt64)

// attend has a rank of the process drive the card for a turn, which is c.work, unless somebody does. It reports whether the rank has.
func (c *card) attend(turn func()) bool {
	if c.alone {
		return false
	}
	c.attended.Add(1)
	return c.loop.TryDo(turn)
}

// byRank is a turn of a rank. It returns how much that was. It is called by who is in the loop.
func (c *card) byRank() int {
	c.byRanks++
	return c.work()
}

// doze says that the first rank of the host goes to sleep, to be woken by the card's doorbell, or has woken up. Meanwhile the goroutine does what is due at a time.
func (c *card) doze(dozes bool) {
	if c.alone {
		return
	}
	dozed := c.dozing.Swap(dozes)
	if dozes {
		atomic.StoreUint32(c.bell.dozes, 1)
		return
	}
	if atomic.SwapUint32(c.bell.dozes, 0) == 0 && dozed {
		c.rung.Add(1)
	}
	if c.resting.Load() {
		c.relieve()
	}
}

// relieve ends the goroutine's rest.
func (c *card) relieve() {
	select {
	case c.resume <- struct{}{}:
	default:
	}
}

// door is a card's doorbell.
type door struct {
	count *shm.EventCount // for the goroutine
	dozes *uint32         // 1: for the first rank of the host, who sleeps
	bell  int             // which this ends
}

// ring wakes who drives the card, if that sleeps.
func (d *door) ring() {
	d.count.Notify() // a full barrier
	if shm.Load32(d.dozes) != 0 && atomic.SwapUint32(d.dozes, 0) != 0 {
		shm.Ring(d.bell)
	}
}

// ready reports whether the card has something to do that does not come of its own events. It is called by who is in the loop.
func (c *card) ready() bool {
	if c.broken {
		return false
	}
	if c.port.Ready() {
		return true
	}
	for _, s := range c.slots {
		if s.ready() {
			return true
		}
	}
	return false
}

// work does what has come up, outside of the loop and in it, at the present time of the loop, and returns how much that was. It is called by who is in the loop.
func (c *card) work() int {
	if c.broken {
		return 0
	}
	n, err := c.port.Poll()
	if err != nil {
		c.breaks(fmt.Errorf("myrinet: %w", err))
	}
	for _, s := range c.slots {
		n += s.flush() + s.obey()
	}
	n += c.loop.Fire()
	c.wake()
	if at, timed := c.loop.First(); timed && at < c.until {
		c.until = 0
		c.hurry.Store(true)
		c.relieve()
		c.bell.count.Notify()
	}
	return n
}

// wake wakes ranks that sleep and have got reports, or whose orders have been taken.
func (c *card) wake() {
	fenced := false
	for _, s := range c.slots {
		if !s.reported {
			continue
		}
		s.reported = false
		if !fenced {
			shm.Fence() // what was stored, and then the look at who sleeps: a rank does it the other way round
			fenced = true
		}
		if shm.Load32(s.asleep) != 0 {
			shm.Ring(s.bell)
		}
	}
}

// breaks ends the job, and the card's work.
func (c *card) breaks(err error) {
	c.broken = true
	c.fail(err)
}
