package spawner

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// local is the host that this process is on: the processes of its ranks, the socket where they join, their
// connections, and the descriptors that they share. It judges nothing.
type local struct {
	*loop
	spec    *Spec
	ranks   []int // that live here, ascending; if they share a process, that one, 0
	tell    hostEvents
	attach  func(rank int) (stdout, stderr *os.File, err error) // makes the pipes for a rank's output
	say     func(line string)                                   // tells people
	room    func()                                              // waits until ranks may say more
	starter *starterEvents                                      // nil without a Spec.Starter

	hostOf placement // of all ranks of the job; nil: they are all here

	execs  []*execution // by rank of the job; resolved for those that live here
	procs  *procs       // by place in ranks
	secret []byte
	server *server // nil if the ranks share a process
	group  sync.WaitGroup

	// What follows belongs to the loop.
	conns    []*conn // by place in ranks; nil until it has joined
	ended    []bool  // its process has ended
	absent   int     // ranks that have not joined
	farewell []byte  // the end of the job, for ranks that join after it
	given    []int   // descriptors for the ShareFD being assembled; nobody: none
	dealer   dealer
}

// starterEvents is what a host tells besides if a Spec.Starter starts its ranks, in place of began and exited.
type starterEvents struct {
	began   func(pid, pidfd int, err error) // of the Starter's process
	ended   func(ws syscall.WaitStatus)
	joined  func(rank int, l *link) error // lets a rank take part, or not
	entered func(rank, pid int) error     // and a process in which a rank begins
}

// newLocal returns the host of these ranks on the loop. A Job's name is in the environment of all that it starts.
func newLocal(on *loop, spec *Spec, job string, ranks []int, tell hostEvents) *local {
	n := len(ranks)
	processes := n
	if spec.started() {
		processes = 1
	}
	return &local{
		loop: on, spec: spec, ranks: ranks, tell: tell, room: func() {}, procs: newProcs(job, processes), secret: fresh(secretSize),
		conns: make([]*conn, n), ended: make([]bool, n), absent: n, given: slices.Repeat([]int{nobody}, n),
	}
}

// place returns where a rank is among the host's; ok is false if it is none of them.
func (h *local) place(rank int) (i int, ok bool) { return slices.BinarySearch(h.ranks, rank) }

// listen opens the rendezvous point.
func (h *local) listen() error {
	point, err := listen()
	if err != nil {
		return err
	}
	h.server = &server{
		point: point, secret: h.secret, size: h.spec.N, uid: os.Geteuid(), patience: patience,
		joined:  h.admit,
		entered: h.admitEntry,
		refused: func(reason string) { h.room(); h.post(func() { h.tell.refused(reason) }) },
		ours:    func(pid, group int) bool { return h.spec.started() || h.procs.own(pid, group) },
		failed:  func(err error) { h.post(func() { h.tell.failed(err) }) },
	}
	h.server.start()
	return nil
}

// admit takes over the connection of a rank that has proved itself.
func (h *local) admit(rank int, l *link, welcome []byte) error {
	answer := make(chan error, 1)
	if !h.post(func() { answer <- h.join(rank, l, welcome) }) {
		return errOver
	}
	return <-answer
}

// join makes a rank take part, on the loop. The rank learns of it by the welcome, so whatever it does afterwards
// happens to a member.
func (h *local) join(rank int, l *link, welcome []byte) error {
	i, ok := h.place(rank)
	switch {
	case !ok:
		return fmt.Errorf("rank %d is on another host", rank)
	case h.conns[i] != nil:
		return fmt.Errorf("rank %d has already joined", rank)
	case h.ended[i]:
		return errRankEnded
	}
	if h.starter != nil {
		if err := h.starter.joined(rank, l); err != nil {
			return err
		}
	}
	c := &conn{link: l, out: make(chan packet, 8)}
	h.conns[i] = c
	h.group.Go(c.write)
	h.group.Go(func() { h.read(rank, c) })
	c.send(appendFrame(nil, kindWelcome, func(b []byte) []byte { return h.hostOf.appendTo(append(b, welcome...)) }))
	if h.farewell != nil {
		c.send(h.farewell)
	}
	if h.absent--; h.absent == 0 {
		h.server.stop()
	}
	h.tell.joined(rank)
	return nil
}

// message acts on what a rank has sent, on the loop. fd came with it; nobody: none did.
func (h *local) message(rank int, m message, fd int) {
	i, _ := h.place(rank)
	switch m.kind {
	case kindTaken:
		h.taken(rank)
		return
	case kindShare:
		if h.given[i] != nobody { // a call too many, for which the Job ends
			unix.Close(fd)
		} else {
			h.given[i] = fd
		}
	}
	h.tell.message(rank, m)
}

// send implements host.
func (h *local) send(rank int, frame []byte) {
	if i, ok := h.place(rank); ok && h.conns[i] != nil {
		h.conns[i].send(frame)
	}
}

// broadcast implements host.
func (h *local) broadcast(frames []byte) {
	for _, c := range h.conns {
		if c != nil {
			c.send(frames)
		}
	}
}

// conclude implements host.
func (h *local) conclude(frame []byte) {
	h.farewell = frame
	for i, c := range h.conns {
		switch {
		case c != nil:
			c.send(frame)
		case !h.ended[i]:
			h.procs.signalRank(i, unix.SIGTERM) // there is no other way to tell it
		}
	}
}

// deal implements host.
func (h *local) deal() {
	given := slices.Clone(h.given)
	for i := range h.given {
		h.given[i] = nobody
	}
	for _, b := range h.dealer.deal(given) {
		h.pass(b)
	}
}

// pass sends a rank a batch of descriptors.
func (h *local) pass(b batch) {
	if c := h.conns[b.rank]; c != nil {
		c.send(appendFDs(nil, b.first, b.count), h.dealer.fds[b.first:b.first+b.count]...)
	}
}

// taken notes that a rank has received a batch.
func (h *local) taken(rank int) {
	done, ok := h.dealer.took()
	if !ok {
		h.tell.breach(rank, "it acknowledged what it was not sent")
		return
	}
	if done {
		closeFDs(h.dealer.fds)
		h.dealer = dealer{}
		return
	}
	if b, ok := h.dealer.another(); ok {
		h.pass(b)
	}
}

// hangUp implements host.
func (h *local) hangUp(rank int) {
	if i, ok := h.place(rank); ok && h.conns[i] != nil {
		h.conns[i].link.close()
	}
}

// signal implements host.
func (h *local) signal(rank int, sig syscall.Signal) {
	if i, ok := h.place(rank); ok {
		h.procs.signalRank(i, sig)
	}
}

// signalAll implements host.
func (h *local) signalAll(sig syscall.Signal) { h.procs.signal(sig) }

// exited notes that the process of a rank has ended, on the loop.
func (h *local) exited(i int, ws syscall.WaitStatus) {
	h.ended[i] = true
	if c := h.conns[i]; c != nil {
		// What it sent last may still be unread; somebody else may hold the connection.
		c.link.conn.SetReadDeadline(time.Now().Add(strayTime))
	}
	h.tell.exited(h.ranks[i], ws)
}

// close releases everything when the loop is over and all processes have been told to end. It waits for them.
func (h *local) close() {
	if h.server != nil {
		h.server.stop()
		h.server.group.Wait()
	}
	for _, c := range h.conns {
		if c != nil {
			c.stop()
		}
	}
	h.group.Wait()
	for _, fd := range h.given {
		if fd != nobody {
			unix.Close(fd)
		}
	}
	closeFDs(h.dealer.fds)
	h.procs.group.Wait()
}
