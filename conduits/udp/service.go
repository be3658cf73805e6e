package udp

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

const (
	// tick is how often the service looks whether a rank still polls, and so how long a rank's
	// peers may go without answers when it ceases to.
	tick = 2 * time.Millisecond
)

// service stands in for the ranks of a process while they do not poll. It is one goroutine.
//
// As long as a rank polls, the service only looks, each tick, that it does. When it has not
// called for a tick, or only sent for some, the service serves it: it reads the socket, unless
// the rank sleeps and would be woken by it, has the bundle acknowledge and retransmit, and
// sleeps until a datagram comes or something is due. The rank's next call ends that (see attend
// and stir).
type service struct {
	mu    sync.Mutex
	turn  sync.Cond // ranks or runs has changed
	ranks []*conduit
	runs  bool // the goroutine is there, and what wakes it
	epoll int
	bell  int
	news  chan struct{} // ranks has changed
}

// attention is what passes between a rank and the service. The rank's lock guards it, but for
// the counters, which the service reads without.
type attention struct {
	polls   uint32 // of the program, and beginnings and ends of its sleeps
	sends   uint32 // of the program
	asleep  bool   // the rank sleeps, and wakes up when its socket is readable
	served  bool   // the service serves the rank and looks at no tick
	watched bool   // datagrams wake the service
	shut    bool   // the rank has closed
	swept   time.Duration

	block     *am2.Block // what the next datagram goes to
	dead      *peer      // whose process seems to be gone
	deadAt    time.Duration
	deadPolls uint32 // polls when it was noticed

	looks
}

// looks are what the service knows from its looks at a rank. They are its own.
type looks struct {
	polled  uint32 // polls, when it looked last
	sent    uint32 // sends, likewise
	sending int    // looks since the last poll
	serving bool   // the last look ended in service
	skipped int    // looks at nothing but the counters since
}

// attend notes a poll of the program, which ends the service's part.
func (c *conduit) attend() {
	shm.Publish32(&c.polls, c.polls+1)
	c.stir()
}

// stir has the service look anew, since the program may have changed what is due.
func (c *conduit) stir() {
	if c.served {
		c.served = false
		shm.Ring(c.service.bell)
	}
}

// sendsOnly is for how many ticks a rank that sends need not poll before it is served.
const sendsOnly = 2

// attentive reports whether the program has done since the last look what the service would do.
// Sending alone is not that for long: what arrives is not read, so peers are not answered, and
// messages that gather stay until acknowledgements are read.
func (c *conduit) attentive() bool {
	polls, sends := shm.Load32(&c.polls), shm.Load32(&c.sends)
	polled, sent := polls != c.polled, sends != c.sent
	c.polled, c.sent = polls, sends
	if polled {
		c.sending = 0
		return true
	}
	c.sending = min(c.sending+1, sendsOnly+1)
	return sent && c.sending <= sendsOnly
}

// enter has the service of the process care for a rank. If there is none, it begins.
func enter(boot core.Bootstrap, c *conduit) error {
	s := new(service)
	if p, ok := boot.(core.ProcessSharer); ok {
		s = p.Share("udp", func() any { return s }).(*service)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn.L = &s.mu
	if !s.runs {
		if err := s.open(); err != nil {
			return err
		}
		s.runs = true
		go s.run()
	}
	c.service = s
	s.ranks = append(s.ranks, c)
	s.turn.Broadcast()
	s.rouse()
	return nil
}

// rouse wakes the goroutine however it waits.
func (s *service) rouse() {
	shm.Ring(s.bell)
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// open makes what the goroutine sleeps on.
func (s *service) open() (err error) {
	s.news = make(chan struct{}, 1)
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("udp: epoll: %w", err)
	}
	if s.bell, err = shm.NewBell(); err == nil {
		e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.bell)}
		if err = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, s.bell, &e); err == nil {
			return nil
		}
		unix.Close(s.bell)
	}
	unix.Close(s.epoll)
	return fmt.Errorf("udp: what wakes the service: %w", err)
}

// leave has the service forget a rank: it does not touch it any more when leave returns. With
// the last one the service is over then.
func (s *service) leave(c *conduit) {
	c.mu.Lock()
	c.shut = true
	c.watch(false)
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranks = slices.DeleteFunc(s.ranks, func(x *conduit) bool { return x == c })
	s.rouse()
	for len(s.ranks) == 0 && s.runs {
		s.turn.Wait()
	}
}

// members returns the ranks to care for, in the memory given. Without any, the service is over.
func (s *service) members(ranks []*conduit) []*conduit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ranks) == 0 {
		s.runs = false
		unix.Close(s.bell)
		unix.Close(s.epoll)
		s.turn.Broadcast()
	}
	return append(ranks[:0], s.ranks...)
}

// run is the goroutine.
func (s *service) run() {
	var ranks []*conduit
	timer := time.NewTimer(0)
	for {
		if ranks = s.members(ranks); len(ranks) == 0 {
			return
		}
		wait, serving := am2.Never, false
		for _, c := range ranks {
			wait = min(wait, c.tend())
			serving = serving || c.serving
		}
		if serving {
			s.listen(wait)
			continue
		}
		// A goroutine that is in a system call every tick would keep the monitor of the Go runtime
		// busy, which takes CPUs from ranks that are bound to one.
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.news:
		}
	}
}

// listen waits for a datagram, the bell, or until a time has passed.
func (s *service) listen(wait time.Duration) {
	var events [16]unix.EpollEvent
	// Interrupted or not, everything is looked at again.
	n, _ := unix.EpollWait(s.epoll, events[:], milliseconds(wait))
	for i := range n {
		if events[i].Fd == int32(s.bell) {
			shm.Silence(s.bell)
		}
	}
}

// milliseconds returns a time for epoll_wait(2), rounded up.
func milliseconds(d time.Duration) int {
	switch {
	case d == am2.Never:
		return -1
	case d > time.Hour:
		return int(time.Hour / time.Millisecond)
	}
	return int((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

// mostSkipped is how many looks at a rank that polls need not care for what is not urgent.
const mostSkipped = 25

// tend looks after a rank and returns in which time to do so again.
func (c *conduit) tend() time.Duration {
	attentive := c.attentive()
	if attentive && !c.serving && c.skipped < mostSkipped {
		c.skipped++
		return tick
	}
	c.skipped, c.serving = 0, !attentive
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		return am2.Never
	}
	now := c.now()
	next := now + tick
	if attentive {
		c.watch(false)
	} else {
		next = c.serve()
	}
	if now-c.swept >= socket.KeysKept/2 {
		c.swept = now
		c.ring.Sweep()
	}
	if c.ring.Keys() > 0 {
		next = min(next, c.swept+socket.KeysKept/2)
	}
	err := c.buried(now)
	if c.dead != nil && c.deadAt > now {
		next = min(next, c.deadAt)
	}
	c.mu.Unlock()
	if err != nil {
		c.port.Fail(err)
	}
	if next == am2.Never {
		return next
	}
	return next - now
}

// serve does what polls would do but for handlers, and returns when something is due.
func (c *conduit) serve() time.Duration {
	for i := 0; !c.asleep && c.receive() != socket.Nothing; i++ {
		if i == serveReceives {
			c.bundle.Service(c.now())
			return 0 // there is more, after a look at the other ranks
		}
	}
	next := c.bundle.Service(c.now())
	if c.asleep && c.bundle.Backlog() > 0 {
		c.port.Wake() // for what did not come by the socket, such as a message that is returned
	}
	c.served = true
	if c.watch(!c.asleep); !c.served {
		next = min(next, c.now()+tick)
	}
	return next
}

// watch has datagrams for the rank wake the service, or not. It is not done in advance, since
// that would cost each datagram time.
func (c *conduit) watch(on bool) {
	if c.watched == on {
		return
	}
	c.watched = on
	if !on {
		_ = unix.EpollCtl(c.service.epoll, unix.EPOLL_CTL_DEL, c.sock.FD, nil)
		return
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.sock.FD)}
	if err := unix.EpollCtl(c.service.epoll, unix.EPOLL_CTL_ADD, c.sock.FD, &e); err != nil {
		c.watched, c.served = false, false // no memory, say: look every tick
	}
}
