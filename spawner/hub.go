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
	"github.com/aqueduct-go/aqueduct/internal/wire"
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

// arrived acts on somebody who has the key and says that it is a rank.
func (h *hub) arrived(s *spoke) {
	first := h.spokes[0]
	if first == nil {
		first = s // rank 0 comes before the others are let in
	}
	there := (*spoke)(nil)
	if s.Rank >= 0 && s.Rank < len(h.spokes) {
		there = h.spokes[s.Rank]
	}
	switch {
	case h.started:
		h.turnAway(s, fmt.Sprintf("%s comes when the job has begun or ended, without it", s.who()))
	case s.Size != len(h.spokes):
		h.misfit(s, fmt.Sprintf("%s is to be one of %d ranks, and %s one of %d; give all the same %s", s.who(), s.Size, first.who(), len(h.spokes), EnvSize))
	case s.Rank < 0 || s.Rank >= len(h.spokes):
		h.misfit(s, fmt.Sprintf("%s is none of a job of %d", s.who(), len(h.spokes)))
	case s.Silence != first.Silence:
		h.misfit(s, fmt.Sprintf("%s takes a rank for lost after %v, and %s after %v; give all the same %s", s.who(), s.Silence, first.who(), first.Silence, EnvHostTimeout))
	case s.Build != first.Build:
		h.misfit(s, fmt.Sprintf("the program is not the same: %s has %s, %s has %s; give all the same", first.who(), first.Build, s.who(), s.Build))
	case there != nil:
		h.dispute(s)
	default:
		h.spokes[s.Rank] = s
		if s.from == "" && h.listener != nil {
			h.group.Go(h.accept) // now that there is rank 0, with which the others are compared
		}
		h.beginIfComplete()
	}
}

// dispute acts on one more process that is to be a rank. The first may be gone, and that not be noticed yet: so it is where a
// container is started again. If it is not lost within the time that this takes, all are told.
func (h *hub) dispute(s *spoke) {
	h.rivals = append(h.rivals, s)
	h.after(h.spec.noticeTime(), func() {
		if slices.Contains(h.rivals, s) {
			there := h.spokes[s.Rank]
			h.fail(fmt.Sprintf("rank %d is there twice: process %d on host %s and process %d on host %s; give each process an %s of its own",
				s.Rank, there.Process, there.host(), s.Process, s.host(), EnvRank))
		}
	})
}

// turnAway tells somebody why it is none of the job's ranks.
func (h *hub) turnAway(s *spoke, why string) {
	h.turned = why
	h.job.refused(why)
	s.refuse(why)
}

// refuse tells a rank why it cannot start. That closes the connection, since only then it has heard so.
func (s *spoke) refuse(why string) {
	s.gone = true
	s.link.trunk.send(wordRefusal, func(b []byte) []byte { return wire.AppendText(wire.AppendUint32(b, uint32(statusSelf)), why) })
}

// misfit ends a start in which somebody has come who cannot be a rank, since that rank will not come.
func (h *hub) misfit(s *spoke, why string) {
	s.refuse(why)
	h.fail(why)
}

// fail ends the start.
func (h *hub) fail(why string) {
	if h.started {
		return
	}
	h.started = true
	for _, s := range slices.Concat(h.spokes, h.rivals) {
		if s != nil {
			s.refuse(why)
		}
	}
	h.complete <- failure(statusSelf, "%s", why)
}

// missing returns the ranks that have not come.
func (h *hub) missing() (ranks []int) {
	for r, s := range h.spokes {
		if s == nil {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// beginIfComplete begins the job if all ranks have come, each once.
func (h *hub) beginIfComplete() {
	if len(h.missing()) == 0 && len(h.rivals) == 0 {
		h.begin()
	}
}

// begin begins the job.
func (h *hub) begin() {
	h.started = true
	identities := make([][]byte, len(h.spokes))
	for r, s := range h.spokes {
		identities[r] = []byte(s.Host)
	}
	hostOf, names := numberHosts(identities), []string(nil)
	for r, host := range hostOf {
		if host == len(names) {
			names = append(names, h.spokes[r].host())
		}
	}
	h.job.spec.Hosts, h.job.spec.HostOf = names, hostOf
	for r, s := range h.spokes {
		s.link.trunk.send(wordReady, hostOf.appendTo)
		h.job.joined(r)
		if h.spec.verbose {
			h.job.out.report("%s is process %d", s.who(), s.Process)
		}
	}
	h.complete <- nil
}

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

// yield has another process take a rank's place, which has gone before the job has begun.
func (h *hub) yield(s *spoke) {
	s.gone = true
	next := slices.IndexFunc(h.rivals, func(r *spoke) bool { return r == s || r.Rank == s.Rank && h.spokes[s.Rank] == s })
	if h.spokes[s.Rank] == s {
		h.spokes[s.Rank] = nil
	}
	if next < 0 {
		return
	}
	rival := h.rivals[next]
	h.rivals = slices.Delete(h.rivals, next, next+1)
	if rival == s {
		h.beginIfComplete()
	} else {
		h.arrived(rival)
	}
}

// overdue ends a start for which ranks have not come.
func (h *hub) overdue() {
	turned := ""
	if h.turned != "" {
		turned = "; turned away last: " + h.turned
	}
	h.fail(fmt.Sprintf("%s did not come to rank 0 at %s (%s) within %v (%s)%s",
		rankList(h.missing()), h.spec.root, EnvRoot, h.spec.limit, EnvStartTimeout, turned))
}

// remind says for whom the job waits, if it does.
func (h *hub) remind() {
	if !h.started {
		missing := h.missing()
		h.job.out.report("rank 0 waits at %s for %d of %d ranks, for %v at most: %s", h.listener.Addr(), len(missing), len(h.spokes), h.spec.limit, rankList(missing))
	}
}

// remindTime is how long the start may take before it says why.
const remindTime = 3 * time.Second

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
