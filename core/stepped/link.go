package stepped

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// word is what a frame says: its first byte.
type word uint8

// What a rank says. In each but abort the time that it has charged follows.
const (
	callJoin       word = iota + 1 // it is there; answer: rank, size
	callSetUp                      // answer: when something was set up last
	callDisturb                    // text
	callPark                       // period, text: what it waits for
	callExchange                   // bytes; answer: those of all
	callBarrier                    //
	callRecord                     // bytes; answer: whether they are taken
	callLeave                      // it has finished in good order
	callPlan                       // conduit, JSON: attachment; answer: JSON: core.Plan
	callAttach                     // conduit, JSON: attachment; answer: JSON: powers
	callSegment                    // conduit, JSON: attachment; answer: bytes of the segment, whose descriptor comes along
	callReserve                    // message; answer: result, slot, whether there is a window for the payload
	callCommit                     // slot, arguments, payload
	callPoll                       // budget; answer: what was found
	callIdle                       // answer: cost, whether idle
	callPut                        // transfer; answer: result
	callGet                        // transfer; answer: result, bytes if it is complete
	callAtomic                     // operation; answer: result, bytes if it is complete
	callCollective                 // operation; answer: result, bytes if it is complete
	callClose                      // conduit
	handled                        // the handler has run: whether it has replied
	placed                         // JSON: core.Place
	abort                          // status, text: it ends the job, and goes on without an answer
)

// What the model says. In each but over, the time, the number of arrivals and what has completed follow.
const (
	answer     word = iota + 64 // 1 and what the call wants, or 0 and the text of an error
	runHandler                  // message
	runLong                     // message, whose payload is in the segment
	askPlace                    // text: what the rank waits for
	over                        // status, text: the job is over
)

// maxFrame bounds a frame, in bytes.
const maxFrame = 1 << 31

// link is one end of the socket between the model's process and a rank's.
type link struct {
	fd   int
	wait func() // until there is something to read; nil: reading waits

	sending sync.Mutex
	in      []byte // what was read and not consumed
	buf     []byte
	passed  int // a descriptor that came along, -1: none
}

func newLink(fd int, wait func()) *link {
	return &link{fd: fd, wait: wait, buf: make([]byte, 64<<10), passed: -1}
}

// send sends a frame, and a descriptor along with it unless that is -1. Any goroutine may call it.
func (l *link) send(body []byte, fd int) error {
	b, at := wire.BeginFrame(make([]byte, 0, wire.FrameHeader+len(body)))
	b = wire.EndFrame(append(b, body...), at)
	l.sending.Lock()
	defer l.sending.Unlock()
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	for len(b) > 0 {
		n, err := unix.SendmsgN(l.fd, b, rights, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN): // a socket that does not block
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLOUT}}, -1)
			continue
		case err != nil:
			return fmt.Errorf("stepped: send to the other process: %w", err)
		}
		b, rights = b[n:], nil
	}
	return nil
}

// receive returns the body of the next frame, which is the caller's. io.EOF says that the other process has ended.
func (l *link) receive() ([]byte, error) {
	for {
		body, rest, err := wire.NextFrame(l.in, maxFrame)
		if err == nil && len(body) > 0 {
			own := append([]byte(nil), body...)
			l.in = append(l.in[:0], rest...)
			return own, nil
		}
		if !errors.Is(err, wire.ErrShort) {
			return nil, fmt.Errorf("stepped: a frame that is none: %w", err)
		}
		if err := l.read(); err != nil {
			return nil, err
		}
	}
}

// read reads what there is, and waits until there is something.
func (l *link) read() error {
	if l.wait != nil {
		l.wait()
	}
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := unix.Recvmsg(l.fd, l.buf, rights, unix.MSG_CMSG_CLOEXEC)
	switch {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNRESET): // the other process has ended with something unread; what it has sent can be read
		return nil
	case err != nil:
		return fmt.Errorf("stepped: receive from the other process: %w", err)
	case n == 0:
		return io.EOF
	}
	if m > 0 {
		if err := l.take(rights[:m]); err != nil {
			return err
		}
	}
	l.in = append(l.in, l.buf[:n]...)
	return nil
}

// take notes a descriptor that has come.
func (l *link) take(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("stepped: what came with a frame is no descriptor: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return fmt.Errorf("stepped: what came with a frame is no descriptor: %v", err)
	}
	l.passed = fds[0]
	return nil
}

// flag encodes a truth.
func flag(b []byte, yes bool) []byte {
	if yes {
		return append(b, 1)
	}
	return append(b, 0)
}
