package spawner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/drain"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// rankEnd is a rank's end of the connection to its launcher: a link, or a trunkLink, which carries no descriptors.
type rankEnd interface {
	// send sends frames, and descriptors with the first. It blocks until they are on their way.
	send(frames []byte, fds ...int) error
	// receive returns the body of the next frame, valid until the next call.
	receive() ([]byte, error)
	// claim returns the n descriptors that have come with the frame received last.
	claim(n int) ([]int, error)
	// drop closes descriptors that nobody has claimed.
	drop()
	// closeSend ends what goes to the launcher.
	closeSend()
	close()
}

// client is a rank's Bootstrap.
type client struct {
	link       rankEnd
	rank, size int
	hostOf     placement
	local      []core.Rank           // on this host, ascending
	started    bool                  // by another launcher, see Spec.Starter
	lost       func(why error) error // makes the error of a rank that has lost its launcher
	undo       func()                // of dumpOnQuit
	quitting   atomic.Bool

	call    sync.Mutex // held during a collective call
	results chan result

	where atomic.Pointer[func() core.Place] // nil: see Locate

	send    sync.Mutex // held while sending; guards closed
	closed  bool
	ended   chan struct{} // closed when the launcher sends no more
	failed  chan struct{} // closed when cause is set
	cause   error
	done    chan error
	partial result // watch: what has come of a result in pieces
}

// newClient makes the Bootstrap of a rank that has joined, but for undo and watch.
func newClient(end rankEnd, rank, size int, hostOf placement) *client {
	c := &client{
		link: end, rank: rank, size: size, hostOf: hostOf,
		results: make(chan result, 1), ended: make(chan struct{}), failed: make(chan struct{}), done: make(chan error, 1),
	}
	c.lost = func(why error) error { return fmt.Errorf("spawner: rank %d has lost its launcher: %w", rank, why) }
	for _, near := range hostOf.on(hostOf[rank]) {
		c.local = append(c.local, core.Rank(near))
	}
	return c
}

// result is the outcome of a collective call.
type result struct {
	blobs [][]byte
	fds   []int
	n     int // pieces
	err   error
}

// Rank implements core.Bootstrap.
func (c *client) Rank() core.Rank { return core.Rank(c.rank) }

// Size implements core.Bootstrap.
func (c *client) Size() int { return c.size }

// Local implements core.Bootstrap.
func (c *client) Local() []core.Rank { return c.local }

// Host implements core.Bootstrap.
func (c *client) Host(r core.Rank) int { return c.hostOf[r] }

// Done implements core.Bootstrap. The error is a *core.ExitError if the job has failed.
func (c *client) Done() <-chan error { return c.done }

// Exchange implements core.Bootstrap; b has at most MaxExchange bytes.
func (c *client) Exchange(b []byte) ([][]byte, error) {
	if len(b) > MaxExchange {
		return nil, fmt.Errorf("spawner: rank %d: Exchange of %d bytes; the most is %d", c.rank, len(b), MaxExchange)
	}
	r, err := c.collective(appendFrame(nil, kindExchange, func(f []byte) []byte { return append(f, b...) }))
	return r.blobs, err
}

// Barrier implements core.Bootstrap.
func (c *client) Barrier() error {
	_, err := c.collective(appendFrame(nil, kindBarrier, nil))
	return err
}

// ShareFD implements core.DescriptorSharer.
func (c *client) ShareFD(fd int) ([]int, error) {
	r, err := c.collective(appendFrame(nil, kindShare, nil), fd)
	if err != nil || len(c.local) == c.size {
		return r.fds, err
	}
	all := slices.Repeat([]int{nobody}, c.size)
	for i, rank := range c.local {
		all[rank] = r.fds[i]
	}
	return all, nil
}

// collective sends this rank's part of a call and waits for its result.
func (c *client) collective(frame []byte, fds ...int) (result, error) {
	c.call.Lock()
	defer c.call.Unlock()
	if err := c.transmit(frame, fds...); err != nil {
		return result{}, err
	}
	var r result
	select {
	case r = <-c.results:
	case <-c.failed:
		select { // what came before the end counts
		case r = <-c.results:
		default:
			return result{}, c.cause
		}
	}
	if r.err != nil {
		return result{}, fmt.Errorf("spawner: rank %d: %w", c.rank, r.err)
	}
	return r, nil
}

// transmit sends a frame unless the job is over.
func (c *client) transmit(frame []byte, fds ...int) error {
	c.send.Lock()
	defer c.send.Unlock()
	return c.transmitLocked(frame, fds...)
}

// transmitLocked is transmit of who holds send.
func (c *client) transmitLocked(frame []byte, fds ...int) error {
	if err := c.overLocked(); err != nil {
		return err
	}
	if err := c.link.send(frame, fds...); err != nil {
		return fmt.Errorf("spawner: rank %d: sending to the launcher: %w", c.rank, err)
	}
	return nil
}

// over returns why no call can succeed any more, nil if calls can.
func (c *client) over() error {
	c.send.Lock()
	defer c.send.Unlock()
	return c.overLocked()
}

// overLocked is over of who holds send.
func (c *client) overLocked() error {
	select {
	case <-c.failed:
		return c.cause
	default:
	}
	if c.closed {
		return fmt.Errorf("spawner: rank %d: a call after Close", c.rank)
	}
	return nil
}

// isClosed reports whether Close has been called.
func (c *client) isClosed() bool {
	c.send.Lock()
	defer c.send.Unlock()
	return c.closed
}

// Abort implements core.Bootstrap. Of the reason, the first 64 KiB count.
func (c *client) Abort(status int, reason string) {
	c.send.Lock()
	defer c.send.Unlock()
	if !c.closed {
		// An error means that the launcher is gone: there is nobody to tell.
		_ = c.link.send(appendVerdict(nil, kindAbort, status, reason))
	}
}

// Locate implements core.Surveyor.
func (c *client) Locate(where func() core.Place) { c.where.Store(&where) }

// Stalled implements core.Surveyor.
func (c *client) Stalled(st core.Stall) {
	flags := uint8(0)
	if st.Report {
		flags |= stallReport
	}
	if st.Debug {
		flags |= stallDebug
	}
	// An error means that the job is over, or the launcher gone.
	_ = c.transmit(appendFrame(nil, kindStalled, func(b []byte) []byte {
		return wire.AppendUint64(append(b, flags), uint64(st.Waited))
	}))
}

// Record implements core.Recorder. The launcher takes records also when the job has failed.
func (c *client) Record(b []byte) bool {
	if len(b) > MaxExchange {
		return false
	}
	c.send.Lock()
	defer c.send.Unlock()
	if !c.closed {
		// An error means that the launcher is gone: there is nobody to tell.
		_ = c.link.send(appendFrame(nil, kindRecord, func(f []byte) []byte { return append(f, b...) }))
	}
	return true
}

// locate tells the launcher where the rank is, in answer to a question.
func (c *client) locate(number uint32) {
	p := core.Place{Rank: c.Rank()}
	if where := c.where.Load(); where != nil {
		p = (*where)()
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	_ = c.transmit(appendFrame(nil, kindPlace, func(f []byte) []byte { // as above
		return append(wire.AppendUint32(f, number), b...)
	}))
}

// Exit implements core.Exiter. A rank that another launcher has started, and that ends the job with
// status 0, leaves when its peers are gone: that launcher would kill them.
func (c *client) Exit(status int) {
	if c.started && status == 0 {
		select {
		case <-c.failed:
		case <-time.After(DefaultGrace):
		}
	}
	os.Exit(status)
}

// dumped returns when a rank that has printed its goroutines may exit. If another launcher has started
// it, that kills those who still print theirs as soon as one has exited; so the rank hangs up, and waits
// until this launcher does, or has died. Nobody in the rank is to act on that any more.
func (c *client) dumped() {
	if !c.started {
		return
	}
	drain.Wait(os.Stderr, dumpTime/2)
	c.quitting.Store(true)
	c.send.Lock() // for ever
	c.link.closeSend()
	<-c.ended
}

// Close implements core.Bootstrap.
func (c *client) Close() error { return c.leave(func() {}) }

// leave says that this rank has finished, waits, and closes the connection.
func (c *client) leave(wait func()) error {
	c.send.Lock()
	first := !c.closed
	err := c.transmitLocked(appendFrame(nil, kindLeave, nil))
	c.closed = true
	c.send.Unlock()
	if first {
		if err == nil {
			wait()
		}
		c.link.close()
		c.undo()
	}
	return err
}

// watch receives until the connection ends, which is what ends the job for this rank.
func (c *client) watch() {
	err := c.receive()
	close(c.ended)
	if c.quitting.Load() {
		return
	}
	if end := (*core.ExitError)(nil); !errors.As(err, &end) {
		c.link.close() // else it stays open for an Abort, since non-zero beats zero
	}
	c.link.drop()
	closeFDs(c.partial.fds)
	if c.isClosed() {
		err = fmt.Errorf("spawner: rank %d has called Close", c.rank)
	} else {
		c.done <- err
	}
	c.cause = err
	close(c.failed)
	close(c.done)
}

// receive takes in what the launcher sends and returns the error the job ends with here.
func (c *client) receive() error {
	for {
		body, err := c.link.receive()
		if err != nil {
			return c.lost(err)
		}
		m, err := decode(body)
		switch {
		case err != nil:
		case m.kind == kindEnd:
			return &core.ExitError{Status: m.status, Reason: m.reason}
		case m.kind == kindLocate:
			go c.locate(m.number)
		default:
			err = c.take(m)
		}
		if err != nil {
			return fmt.Errorf("spawner: rank %d: the launcher sent nonsense: %w", c.rank, err)
		}
	}
}

// take adds a message to the result of the collective call in progress.
func (c *client) take(m message) error {
	p, whole := &c.partial, c.size
	switch m.kind {
	case kindPassed:
		p.n = c.size
	case kindPart:
		if m.rank != p.n || m.rank >= c.size {
			return fmt.Errorf("contribution of rank %d out of order", m.rank)
		}
		p.blobs = append(p.blobs, bytes.Clone(m.blob))
		p.n++
	case kindFDs:
		whole = len(c.local)
		if m.first != p.n || m.count < 1 || m.count > whole-p.n {
			return fmt.Errorf("descriptors %d to %d out of order", m.first, m.first+m.count)
		}
		fds, err := c.link.claim(m.count)
		if err != nil {
			p.err = err // the caller's to report; the other ranks go on
		}
		p.fds = append(p.fds, fds...)
		p.n += m.count
		if err := c.transmit(appendFrame(nil, kindTaken, nil)); err != nil {
			return err
		}
	default:
		return fmt.Errorf("message of %v", m.kind)
	}
	if p.n < whole {
		return nil
	}
	r := *p
	*p = result{}
	if r.err != nil {
		closeFDs(r.fds)
		r.fds = nil
	}
	select {
	case c.results <- r:
		return nil
	default:
		return errors.New("a result that nobody waits for")
	}
}
