package mpi

import (
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// tick is how often the service looks whether a rank still polls: what the rank has left
// unfinished waits for up to two of them.
const tick = time.Millisecond

// service stands in for a rank that ceases to poll while it has left something unfinished: packets
// that wait for more to go into them, and payloads that move only while both ends call the library.
// It runs no handlers. It is a timer, which runs only while there is something unfinished.
//
// The conduit's lock guards what is not said to be otherwise.
type service struct {
	on         bool   // constant: the transport is Async
	shut       bool   // the conduit has closed
	unfinished uint32 // written with the lock, read by the timer without
	timer      *time.Timer
	armed      bool   // the timer runs, or its function
	polled     uint32 // conduit.polls at the last tick; the timer's own
}

// serve prepares the service.
func (c *conduit) serve() {
	s := &c.service
	s.on = true
	s.timer = time.AfterFunc(time.Hour, c.tend)
	s.timer.Stop()
}

// begun notes something that takes further calls of the transport.
func (c *conduit) begun() {
	s := &c.service
	shm.Publish32(&s.unfinished, s.unfinished+1)
	if s.on && !s.armed {
		s.armed = true
		s.timer.Reset(tick)
	}
}

// ended is the end of what begun has noted.
func (c *conduit) ended() {
	shm.Publish32(&c.service.unfinished, c.service.unfinished-1)
}

// tend is what the timer does.
func (c *conduit) tend() {
	s := &c.service
	polls := shm.Load32(&c.polls)
	polling := polls != s.polled
	if s.polled = polls; polling && shm.Load32(&s.unfinished) > 0 {
		s.timer.Reset(tick)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.shut {
		return
	}
	if s.unfinished > 0 {
		c.flush()
		c.progress()
	}
	if s.armed = s.unfinished > 0 && !c.broken; s.armed {
		s.timer.Reset(tick)
	}
}

// retire ends the service.
func (c *conduit) retire() {
	c.lock()
	defer c.unlock()
	c.service.shut = true
	if c.service.on {
		c.service.timer.Stop()
	}
}
