package spawner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// staticRank is the Bootstrap of a rank of a static job: that of any rank, but that ranks of a host share descriptors among
// themselves, and that each says itself how the job has ended, since nobody else can on its host.
type staticRank struct {
	*client
	neighbours *Neighbours
	hub        *hub          // of rank 0; nil: another
	announced  chan struct{} // closed when the end of the job is known and said
}

// lead is connectStatic of rank 0, which first brings the ranks together.
func (s *staticSpec) lead(me *arrival) (core.Bootstrap, error) {
	h, err := s.newHub()
	if err != nil {
		return nil, failure(statusSelf, "rank 0 on host %s: %v", me.Name, err)
	}
	started := make(chan bool)
	go h.job.run(context.Background(), started)
	ours, theirs := net.Pipe()
	h.group.Go(func() { h.serve(theirs, "") })
	// Rank 0 is a rank as any, and enters while the hub waits for the others.
	var t *trunk
	var hostOf placement
	entered := done(func() { t, hostOf, err = s.enter(ours, me) })
	launchErr := h.launch()
	started <- launchErr == nil
	<-entered
	if launchErr != nil {
		<-h.job.done
		return nil, launchErr
	}
	if err != nil {
		return nil, failure(statusSelf, "rank 0 on host %s: %v", me.Name, err)
	}
	return s.takePart(t, hostOf, h)
}

// newHub makes what rank 0 does for the job, and begins to listen.
func (s *staticSpec) newHub() (*hub, error) {
	j := &Job{
		loop: newLoop(), spec: Spec{N: s.size, Grace: s.grace, Stderr: os.Stderr},
		members: make([]member, s.size), records: make([][]byte, s.size), running: s.size, speaker: -1, calls: newRendezvous(s.size), since: time.Now(),
		judged: nobody, starterFD: nobody, done: make(chan struct{}),
	}
	h := &hub{
		loop: j.loop, spec: s, job: j, spokes: make([]*spoke, s.size),
		complete: make(chan error, 1), closed: make(chan struct{}),
	}
	for i := range j.members {
		j.members[i].pidfd = nobody
	}
	var err error
	if s.size > 1 {
		if h.listener, err = s.listen(h); err != nil {
			return nil, err
		}
	}
	j.hosts, j.hub = []host{h}, h
	if j.judged, err = shm.NewBell(); err == nil {
		j.out, err = newOutput(&j.spec, func(error) {}) // of messages alone: a job need not end because nobody reads them
	}
	if err != nil {
		j.release()
		return nil, err
	}
	return h, nil
}

// listen listens where the others come: at the port of EnvRoot, on all interfaces, or on the loopback if the host is that.
func (s *staticSpec) listen(h *hub) (*mtls.Listener, error) {
	name, port, err := net.SplitHostPort(s.root)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		name = ""
	}
	l, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", EnvRoot, s.root, err)
	}
	return s.key.Listen(staticProtocol, l, h.strange)
}

// takePart makes the rank's Bootstrap when all ranks have come. It is collective.
func (s *staticSpec) takePart(t *trunk, hostOf placement, h *hub) (core.Bootstrap, error) {
	r := &staticRank{
		client: newClient(&trunkLink{trunk: t}, s.rank, s.size, hostOf), hub: h, announced: make(chan struct{}),
	}
	r.neighbours = newNeighbours(s.rank, hostOf, r.failed, func(bool, int, string, int) {}) // what they tell, rank 0 hears too
	r.lost = func(why error) error {
		return &core.ExitError{Status: statusLost, Reason: fmt.Sprintf("rank 0 at %s is lost: %v", s.root, why)}
	}
	r.undo = dumpOnQuit(s.rank, func() {})
	go r.watch()
	go r.announce()
	if hosts, _ := hostOf.check(); hosts < s.size {
		err := r.neighbours.Meet(func(own []byte, from []int) (theirs [][]byte, err error) {
			all, err := r.Exchange(own)
			if err != nil {
				return nil, err
			}
			for _, rank := range from {
				theirs = append(theirs, all[rank])
			}
			return theirs, nil
		})
		if err != nil {
			err = fmt.Errorf("spawner: rank %d: %w", s.rank, err)
			r.Abort(1, err.Error())
			r.link.close()
			return nil, err
		}
		if err := r.Barrier(); err != nil { // all have met
			return nil, err
		}
		r.neighbours.Watch()
	}
	return r, nil
}

// announce says how the job has ended, but where rank 0 says so or nothing has gone wrong.
func (r *staticRank) announce() {
	<-r.failed
	if end := (*core.ExitError)(nil); r.hub == nil && !r.isClosed() && (!errors.As(r.cause, &end) || end.Status != 0) {
		fmt.Fprintf(os.Stderr, "aqueduct: rank %d: the job has ended with status %d: %v\n", r.rank, core.StatusOf(r.cause), r.cause)
	}
	close(r.announced)
}

// ShareFD implements core.DescriptorSharer.
func (r *staticRank) ShareFD(fd int) ([]int, error) {
	r.call.Lock()
	defer r.call.Unlock()
	if err := r.over(); err != nil {
		return nil, err
	}
	fds, err := r.neighbours.Share(fd)
	if err == nil {
		return fds, nil
	}
	if over := r.over(); over != nil {
		err = over
	}
	return nil, err
}

// Record implements core.Recorder: ranks without a launcher exchange their records.
func (r *staticRank) Record([]byte) bool { return false }

// tellTime is how long a rank that ends the job waits until others know.
const tellTime = time.Second

// Abort implements core.Bootstrap. It returns when rank 0 has been told, and in rank 0 when the others have been, or
// after a second: what follows may be the end of the process.
func (r *staticRank) Abort(status int, reason string) {
	if r.hub == nil || r.isClosed() {
		r.client.Abort(status, reason)
		return
	}
	r.hub.post(func() {
		r.hub.job.message(r.rank, message{kind: kindAbort, status: exitStatus(status), reason: reason})
	})
	r.hub.tell(tellTime)
}

// Exit implements core.Exiter. The process leaves when it knows, and has said, how the job ends, and in rank 0 when the others
// have left; or a little later.
func (r *staticRank) Exit(status int) {
	limit := time.NewTimer(tellTime)
	select {
	case <-r.announced:
		if end := (*core.ExitError)(nil); errors.As(r.cause, &end) && end.Status != 0 {
			status = end.Status // non-zero beats zero
		}
	case <-limit.C:
	}
	if r.hub != nil {
		r.link.close()
		limit.Reset(r.hub.job.spec.grace() + r.hub.spec.farewellTime())
		select {
		case <-r.hub.job.done:
			if s, _ := r.hub.job.Wait(); s != 0 {
				status = s
			}
		case <-limit.C:
		}
	}
	os.Exit(status)
}

// Close implements core.Bootstrap. In rank 0 it returns when all ranks have closed, as the job goes through that process. The error
// then says how the job has ended.
func (r *staticRank) Close() error {
	r.neighbours.Leave()
	err := r.leave(func() {
		select {
		case <-r.ended: // rank 0 has hung up: it knows
		case <-time.After(tellTime):
		}
	})
	if r.hub != nil && err == nil {
		<-r.hub.job.done
		_, err = r.hub.job.Wait()
	}
	return err
}
