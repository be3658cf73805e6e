package spawner

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

const (
	// MaxExchange is the most bytes a rank may give to one Exchange.
	MaxExchange = 16 << 20
	// maxFrame bounds the body of a frame: an Exchange contribution and its head.
	maxFrame = MaxExchange + 64
	// maxFDs is how many descriptors the kernel passes in one message (SCM_MAX_FD).
	maxFDs = 253
)

// errTruncated reports descriptors that the kernel dropped on the way in.
var errTruncated = errors.New("descriptors were lost: this process may not open more files; raise `ulimit -n`")

// link is one end of the connection between a rank and its launcher: a stream of frames,
// some of which have descriptors with them. One goroutine may send while another receives.
type link struct {
	conn *net.UnixConn
	in   []byte // received and not yet returned
	buf  []byte // what in is a part of
	oob  []byte
	fds  []int // received and not yet claimed by a frame
	lost bool  // the kernel dropped descriptors
}

func newLink(conn *net.UnixConn) *link {
	return &link{conn: conn, buf: make([]byte, 4096), oob: make([]byte, unix.CmsgSpace(4*maxFDs))}
}

// send writes frames, which begin with the frame that fds belong to; fds has at most
// maxFDs elements and remains the caller's.
func (l *link) send(frames []byte, fds ...int) error {
	if len(fds) > 0 {
		n, _, err := l.conn.WriteMsgUnix(frames, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		frames = frames[n:] // the descriptors went with the first byte
	}
	_, err := l.conn.Write(frames)
	return err
}

// receive returns the body of the next frame, which is valid until the next call.
func (l *link) receive() ([]byte, error) {
	for {
		body, rest, err := wire.NextFrame(l.in, maxFrame)
		if err == nil {
			l.in = rest
			return body, nil
		}
		if !errors.Is(err, wire.ErrShort) {
			return nil, err
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads once, behind what is there.
func (l *link) fill() error {
	n := copy(l.buf, l.in)
	if n == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	got, oobn, flags, _, err := l.conn.ReadMsgUnix(l.buf[n:], l.oob)
	if oobn > 0 {
		l.fds = append(l.fds, rights(l.oob[:oobn])...)
	}
	l.lost = l.lost || flags&unix.MSG_CTRUNC != 0
	l.in = l.buf[:n+max(got, 0)]
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
		return errEnded
	}
	return err
}

// errEnded reports that the peer has closed the connection.
var errEnded = errors.New("the connection has ended")

// rights returns the descriptors in control messages. Whatever cannot be parsed holds none.
func rights(oob []byte) []int {
	var fds []int
	msgs, _ := unix.ParseSocketControlMessage(oob)
	for i := range msgs {
		got, _ := unix.ParseUnixRights(&msgs[i])
		fds = append(fds, got...)
	}
	return fds
}

// claim returns the n descriptors that belong to the frame just received. If they have not
// all arrived it closes those that have.
func (l *link) claim(n int) ([]int, error) {
	if l.lost || n > len(l.fds) {
		err := fmt.Errorf("%d descriptors announced, %d received", n, len(l.fds))
		if l.lost {
			err = errTruncated
		}
		l.drop()
		l.lost = false
		return nil, err
	}
	fds := l.fds[:n:n]
	l.fds = l.fds[n:]
	return fds, nil
}

// closeSend ends what this end sends. An error means that the other end is gone.
func (l *link) closeSend() { l.conn.CloseWrite() }

// close ends the connection. The receiving goroutine, if there is one, calls drop when it
// has seen the end.
func (l *link) close() { l.conn.Close() }

// drop closes the descriptors that nobody claimed.
func (l *link) drop() {
	closeFDs(l.fds)
	l.fds = nil
}

// closeFDs closes every descriptor of the list.
func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
