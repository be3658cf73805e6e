package spawner

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// conn is the launcher's connection to a rank that has joined. Its writing goroutine keeps
// a rank that does not read from holding up the others.
type conn struct {
	link  *link
	out   chan packet
	once  sync.Once
	stuck atomic.Bool // the rank was cut off because it does not read
}

// packet is what goes out at once: frames, the first of which fds belong to.
type packet struct {
	frames []byte
	fds    []int
}

// send queues frames. A rank that follows the protocol has at most a result, two batches
// of descriptors, a question and the job's end outstanding; one that does not is cut off.
func (c *conn) send(frames []byte, fds ...int) {
	select {
	case c.out <- packet{frames, fds}:
	default:
		c.stuck.Store(true)
		c.link.close()
	}
}

// write sends what is queued.
func (c *conn) write() {
	for p := range c.out {
		if c.link.send(p.frames, p.fds...) != nil {
			c.link.conn.CloseRead() // the reading goroutine takes what the rank has sent, and ends
		}
	}
}

// stop ends both goroutines of the connection. Nothing may be sent any more.
func (c *conn) stop() {
	c.once.Do(func() {
		c.link.close()
		close(c.out)
	})
}

// Why a rank that has proved itself is not let in.
var (
	errOver      = errors.New("the job is over")
	errRankEnded = errors.New("the process of its rank has ended")
)

// read receives what a rank sends. That a connection is closed, at either end, is its end and no breach of the
// protocol: this end is closed, too, when a rank cannot be written to because it has ended.
func (h *local) read(rank int, c *conn) {
	err := h.receive(rank, c.link)
	c.link.drop()
	switch {
	case errors.Is(err, net.ErrClosed) && c.stuck.Load():
		err = errors.New("it does not read what it is sent")
	case errors.Is(err, errEnded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		err = nil
	}
	h.post(func() { h.tell.disconnected(rank, err) })
}

// receive posts a rank's messages until its connection ends.
func (h *local) receive(rank int, l *link) error {
	for {
		body, err := l.receive()
		if err != nil {
			return err
		}
		body = bytes.Clone(body)
		m, err := decode(body)
		if err != nil {
			return err
		}
		m.body = body
		fd := nobody
		if m.kind == kindShare {
			fds, err := l.claim(1)
			if err != nil {
				return err
			}
			fd = fds[0]
		}
		h.room()
		// One read may end with the descriptors of a frame that follows.
		stray := len(l.fds) > 0 && len(l.in) == 0
		if (stray || !h.post(func() { h.message(rank, m, fd) })) && fd >= 0 {
			unix.Close(fd)
		}
		if stray {
			return errors.New("descriptors that belong to no call")
		}
	}
}
