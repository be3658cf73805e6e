package stepped

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// Child is the process of a rank, as the model's process sees it.
type Child struct {
	Socket int // the model's end, which stays the caller's
	PID    int // of a child of this process; 0: the rank's end is in this process, too

	// Wait, if not nil, waits until the socket is readable; it is for one that does not block.
	Wait func()
}

// Run runs a job in virtual time whose ranks are at the other ends of sockets, by rank, and returns as core.RunModel does, when all their
// processes have ended. One that does not end within cfg.Grace, when the job has failed, is killed.
func Run(cfg core.Config, children []Child) error {
	ranks := make([]*server, len(children))
	for i := range ranks {
		ranks[i] = newServer(&children[i])
	}
	err := core.RunSeats(len(children), cfg, func(s *core.Seat) { ranks[s.Boot().Rank()].run(s) })
	for _, s := range ranks {
		s.dismiss(cfg.Grace) // those whose turn has not come, or for whom no model could be made
		if err != nil && s.conduit != nil {
			_ = s.conduit.Close() // the job has an error already
		}
	}
	return err
}

// kill ends the process.
func (c *Child) kill() {
	if c.PID > 0 {
		_ = unix.Kill(c.PID, unix.SIGKILL)
	}
}

// reap waits for the process to end, once, and says how it has ended.
func (c *Child) reap() (status int, how string) {
	if c.PID <= 0 {
		return 0, "has ended"
	}
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(c.PID, &ws, 0, nil); err == nil {
			break
		} else if !errors.Is(err, unix.EINTR) {
			return 1, "is lost: " + err.Error()
		}
	}
	c.PID = 0
	if ws.Signaled() {
		return 128 + int(ws.Signal()), fmt.Sprintf("was killed by %s (%v)", unix.SignalName(ws.Signal()), ws.Signal())
	}
	return ws.ExitStatus(), fmt.Sprintf("exited with status %d", ws.ExitStatus())
}

// server is what stands for a rank in the model's process.
type server struct {
	seat  *core.Seat
	boot  core.Bootstrap
	child *Child
	link  *link
	left  bool // the rank has finished, and needs nothing any more

	conduits map[uint64]core.Conduit // by number
	conduit  core.Conduit            // that has attached
	powers   core.Powers
	segment  []byte
	slots    []*reservation
	free     []uint64 // of slots
	holds    []*hold
}

func newServer(c *Child) *server {
	return &server{child: c, link: newLink(c.Socket, c.Wait), conduits: make(map[uint64]core.Conduit)}
}

// run serves the rank until it has finished, or the job has failed.
func (s *server) run(seat *core.Seat) {
	s.seat, s.boot = seat, seat.Boot()
	defer s.dismiss(seat.Config().Grace)
	s.serve(0)
	// The process is to have ended before another rank goes on: what it does last has its place, too.
	s.drain()
	if status, how := s.child.reap(); status != 0 {
		s.boot.Abort(status, fmt.Sprintf("rank %d %s, after it had finished", s.boot.Rank(), how))
	}
}

// dismiss has the process end unless it has finished: the job is over. It is killed after the grace period.
func (s *server) dismiss(grace time.Duration) {
	if s.left {
		return
	}
	s.left = true
	b := wire.AppendText(wire.AppendUint32([]byte{byte(over)}, 1), "the job is over")
	_ = s.link.send(b, -1) // it may have ended
	late := time.AfterFunc(grace, func() {
		s.child.kill()
		_ = unix.Shutdown(s.link.fd, unix.SHUT_RDWR)
	})
	s.drain()
	late.Stop()
	s.child.reap()
}

// drain waits until the process has closed its end.
func (s *server) drain() {
	for {
		if _, err := s.link.receive(); err != nil {
			return
		}
	}
}

// serve does what the rank calls for until it says a word, of which it returns the rest; or until it has finished. The
// coroutine's goroutine ends in it if the job ends.
func (s *server) serve(until word) *wire.Reader {
	for !s.left {
		body, err := s.link.receive()
		if err != nil {
			s.lost(err)
		}
		in := wire.NewReader(body)
		w := word(in.Uint8())
		if w == abort {
			status, reason := int(in.Uint32()), in.Text()
			s.end(status, reason)
		}
		s.seat.Proc().Charge(core.Time(in.Uint64()))
		if w == until {
			return in
		}
		s.carryOut(w, in)
		if err := in.End(); err != nil {
			s.end(1, fmt.Sprintf("rank %d and the model's process are of different versions of the library: word %d: %v", s.boot.Rank(), w, err))
		}
	}
	return nil
}

// lost ends the job, since the rank's process says nothing more.
func (s *server) lost(err error) {
	status, how := s.child.reap()
	if !errors.Is(err, io.EOF) {
		how += ": " + err.Error()
	}
	s.end(max(1, status), fmt.Sprintf("rank %d %s", s.boot.Rank(), how))
}

// end ends the job, and the coroutine.
func (s *server) end(status int, reason string) {
	s.boot.Abort(status, reason)
	runtime.Goexit() // not reached by a coroutine that runs
}

// tell sends the rank a word, and what has changed for it.
func (s *server) tell(w word, fd int, more func([]byte) []byte) {
	p := s.seat.Proc()
	b := wire.AppendUint64(wire.AppendUint64([]byte{byte(w)}, uint64(p.Now())), p.Arrivals)
	b = s.appendCompleted(b)
	if more != nil {
		b = more(b)
	}
	_ = s.link.send(b, fd) // if it has ended, the next look tells
}

// answer answers a call.
func (s *server) answer(more func([]byte) []byte) { s.answerWith(-1, more) }

// answerWith answers a call, and hands over a descriptor.
func (s *server) answerWith(fd int, more func([]byte) []byte) {
	s.tell(answer, fd, func(b []byte) []byte {
		b = flag(b, true)
		if more != nil {
			b = more(b)
		}
		return b
	})
}

// settle answers a call that has no results, or an error.
func (s *server) settle(err error) {
	if err == nil {
		s.answer(nil)
		return
	}
	s.tell(answer, -1, func(b []byte) []byte { return wire.AppendText(flag(b, false), err.Error()) })
}

// share has the rank's process see the segment, and returns the descriptor for it; nil for no segment.
func share(segment []byte) (*shm.Region, error) {
	if len(segment) == 0 {
		return nil, nil
	}
	return shm.Share(segment)
}
