package spawner

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// pendingMax is how many connections may be in the handshake at once; others wait in
	// the socket's backlog.
	pendingMax = 64
	// patience is how long a connection may take for the handshake. Ranks need a
	// millisecond; this is for machines that are overloaded a thousandfold.
	patience = 10 * time.Second
)

// server lets the ranks of a job in and keeps everybody else out.
type server struct {
	point    *rendezvousPoint
	secret   []byte
	size     int
	uid      int
	patience time.Duration
	// joined takes over the connection of a rank that has proved itself and is to be
	// welcomed with the given proof, unless it returns an error.
	joined func(rank int, l *link, welcome []byte) error
	// entered notes the process of a rank, and welcomes it likewise.
	entered func(rank int, l *link, welcome []byte) error
	// refused hears of every connection that was turned away.
	refused func(reason string)
	// ours tells whether a process, or one of its process group, is a rank of the job.
	ours func(pid, group int) bool
	// failed hears that nobody can be let in any more.
	failed func(err error)

	once    sync.Once
	group   errgroup.Group // accept, and as many handshakes at once as its limit lets in
	mu      sync.Mutex
	closed  bool
	pending map[*net.UnixConn]bool
}

// start begins to accept connections.
func (s *server) start() {
	s.group.SetLimit(1 + pendingMax)
	s.pending = make(map[*net.UnixConn]bool)
	s.group.Go(s.accept)
}

// stop turns everybody away from now on. It does not wait; group does.
func (s *server) stop() {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		for c := range s.pending {
			c.Close()
		}
		s.mu.Unlock()
		s.point.remove()
	})
}

func (s *server) accept() error {
	for {
		c, err := s.point.listener.AcceptUnix()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.failed(fmt.Errorf("accepting connections of ranks: %w", err))
			}
			return nil
		}
		s.group.Go(func() error { // once there is room
			s.admit(c)
			return nil
		})
	}
}

// admit performs the handshake on a new connection.
func (s *server) admit(c *net.UnixConn) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.Close()
		return
	}
	s.pending[c] = true
	s.mu.Unlock()

	who, err := s.examine(c)
	s.settle(c)
	if err == nil {
		return
	}
	c.Close()
	if hungUp(err) && s.ours(who.pid, who.group) {
		return // nobody refused it: it has died, or says itself what went wrong
	}
	s.refused(fmt.Sprintf("process %d: %v", who.pid, err))
}

// hungUp reports whether a stream, or a handshake, failed because the process at the other end has closed it or is gone.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, errRankEnded)
}

// settle takes c out of the connections that stop closes.
func (s *server) settle(c *net.UnixConn) {
	s.mu.Lock()
	delete(s.pending, c)
	s.mu.Unlock()
}

// caller is the process that made a connection.
type caller struct{ pid, group int }

// examine lets the peer in or returns why not, and who it is.
func (s *server) examine(c *net.UnixConn) (who caller, err error) {
	cred, err := peerOf(c)
	if err != nil {
		return who, err
	}
	who.pid = int(cred.Pid)
	if group, err := unix.Getpgid(who.pid); err == nil && who.pid > 0 { // 0: of another namespace
		who.group = group
	}
	if int(cred.Uid) != s.uid {
		return who, fmt.Errorf("it runs under user id %d, the job under %d", cred.Uid, s.uid)
	}
	c.SetDeadline(time.Now().Add(s.patience))
	rank, purpose, welcome, err := challenge(c, s.secret, s.size)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no proof within %v", s.patience)
	case errors.Is(err, net.ErrClosed):
		err = errors.New("no proof before all ranks had joined or the job was over")
	}
	if err != nil {
		return who, err
	}
	c.SetDeadline(time.Time{})
	if purpose == purposeEntry {
		return who, s.entered(rank, newLink(c), welcome)
	}
	s.settle(c) // the job's from here on: the last rank to join stops the server
	return who, s.joined(rank, newLink(c), welcome)
}
