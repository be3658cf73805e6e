package spawner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"golang.org/x/sys/unix"
)

// hub is the ranks of a static job as its Job sees them, in the process of rank 0. They come by themselves, and are processes
// that it can neither start nor kill: they end when they are told so, or hear no more of rank 0.
type hub struct {
	*loop
	spec     *staticSpec
	job      *Job
	listener *mtls.Listener // nil: nobody else can come
	complete chan error     // yields whether the start has succeeded
	closed   chan struct{}  // closed when nobody is to be served any more
	group    sync.WaitGroup // of those who serve somebody

	// What follows belongs to the loop.
	spokes  []*spoke // by rank; nil: it has not come, or has gone before all had
	rivals  []*spoke // who came as a rank that was there already, see dispute
	started bool     // or failed to: complete has been given its value
	turned  string   // of whom was turned away last, and why
}

// spoke is a rank that has said who it is.
type spoke struct {
	*arrival
	link trunkLink
	from string // the address it came from; "": it is this process
	gone bool   // nothing comes from it any more
}

// host returns what to call the host of a rank.
func (s *spoke) host() string {
	if s.from == "" {
		return s.Name
	}
	return s.Name + " at " + s.from
}

// who names a rank with its host.
func (s *spoke) who() string { return fmt.Sprintf("rank %d on host %s", s.Rank, s.host()) }

// accept lets the other ranks come until the listener is closed.
func (h *hub) accept() {
	for {
		c, err := h.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			h.post(func() { h.fail(fmt.Sprintf("accepting connections of ranks: %v", err)) }) // a job that has begun needs nobody else
			return
		}
		from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		h.group.Go(func() { h.serve(c, from) })
	}
}

// strange notes that somebody was turned away.
func (h *hub) strange(err error) {
	h.post(func() {
		h.turned = err.Error()
		h.job.refused(h.turned)
	})
}

// serve hears who is at the other end of a stream, and then all that it says until it is gone.
func (h *hub) serve(rw io.ReadWriteCloser, from string) {
	t := h.spec.newTrunk(rw)
	h.group.Go(func() {
		select {
		case <-t.quit:
		case <-h.closed:
			t.cut()
		}
	})
	slow := time.AfterFunc(mtls.HandshakeTime, t.cut)
	w, r, err := t.receiveNews()
	slow.Stop()
	var a *arrival
	if err == nil {
		a, err = decodeArrival(w, r)
	}
	if err != nil {
		t.cut()
		h.strange(fmt.Errorf("%s: %w", from, err))
		return
	}
	s := &spoke{arrival: a, link: trunkLink{trunk: t}, from: from}
	t.start()
	if h.post(func() { h.arrived(s) }) {
		h.hear(s)
	}
	t.cut()
}

// hear posts what a rank sends until it is gone, or has left.
func (h *hub) hear(s *spoke) {
	for {
		body, err := s.link.receive()
		var m message
		if err == nil {
			body = bytes.Clone(body)
			m, err = decode(body)
		}
		if err != nil {
			h.post(func() { h.lost(s, err) })
			return
		}
		m.body = body
		h.post(func() { h.message(s, m) })
		if m.kind == kindLeave {
			h.post(func() { h.left(s) })
			return
		}
	}
}

// The functions that follow run on the loop.

// message passes on what a rank has sent.
func (h *hub) message(s *spoke, m message) {
	switch {
	case s.gone:
	case !h.started:
		h.misfit(s, fmt.Sprintf("%s sent %v before all ranks had come", s.who(), m.kind))
	case m.kind == kindShare || m.kind == kindTaken:
		h.job.breach(s.Rank, fmt.Sprintf("it sent %v over a network", m.kind))
	default:
		h.job.message(s.Rank, m)
	}
}

// left notes that a rank has finished in good order.
func (h *hub) left(s *spoke) {
	if !s.gone {
		s.gone = true
		h.job.disconnected(s.Rank, nil)
		h.job.exited(s.Rank, 0)
	}
}

// lost notes that a rank is gone without a word, of which it has lost its connection or its process. Before all have come it may come
// again, as a container that is restarted does.
func (h *hub) lost(s *spoke, why error) {
	switch {
	case s.gone:
	case !h.started:
		h.job.out.report("%s has gone before the job has begun (%v)", s.who(), why)
		h.yield(s)
	default:
		s.gone = true
		h.job.end(statusLost, fmt.Sprintf("%s is lost: %v", s.who(), why))
		h.job.writeOff(s.Rank)
	}
}

// launch implements host. It returns when all ranks have come.
func (h *hub) launch() error {
	h.post(func() {
		h.after(h.spec.limit, h.overdue)
		if h.listener != nil {
			h.after(remindTime, h.remind)
		}
	})
	return <-h.complete
}

// send implements host.
func (h *hub) send(rank int, frame []byte) { h.spokes[rank].link.post(frame) }

// broadcast implements host.
func (h *hub) broadcast(frames []byte) {
	for _, s := range h.spokes {
		if s != nil {
			s.link.post(frames)
		}
	}
}

// conclude implements host.
func (h *hub) conclude(frame []byte) {
	if h.job.spec.HostOf != nil { // else those who have come were refused
		h.broadcast(frame)
	}
}

// deal implements host. Ranks of a host share descriptors among themselves.
func (h *hub) deal() {}

// hangUp implements host.
func (h *hub) hangUp(rank int) { h.spokes[rank].link.trunk.close() }

// signal implements host. Of a rank only the connection can be ended, which ends it.
func (h *hub) signal(rank int, sig syscall.Signal) {
	if s := h.spokes[rank]; sig == unix.SIGKILL && s != nil {
		h.group.Go(s.link.trunk.cut) // a stream that is stuck takes a while
	}
}

// signalAll implements host.
func (h *hub) signalAll(sig syscall.Signal) {
	for rank := range h.spokes {
		h.signal(rank, sig)
	}
}

// tell waits until all ranks have been told what the Job has said so far, for a while at most. It is not for the loop.
func (h *hub) tell(limit time.Duration) {
	var spokes []*spoke
	if !h.post(func() { spokes = slices.Clone(h.spokes) }) || !h.post(func() {}) {
		return
	}
	written := done(func() {
		for _, s := range spokes {
			if s != nil {
				s.link.trunk.flush()
			}
		}
	})
	select {
	case <-written:
	case <-time.After(limit):
	}
}

// farewellTime is how long those who are told the last may take to hear it, and then to hang up: until it is noticed that they are lost, within reason.
func (s *staticSpec) farewellTime() time.Duration { return min(s.noticeTime(), patience) }

// close ends what the hub has begun, when the loop is over: those who are still there have had their last word.
func (h *hub) close() {
	farewell := time.AfterFunc(h.spec.farewellTime(), func() { close(h.closed) })
	defer farewell.Stop()
	if h.listener != nil {
		h.listener.Close()
	}
	h.group.Wait()
}
