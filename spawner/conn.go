package spawner

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"golang.org/x/sys/unix"
)

// strangersNamed is how many refused connections are reported one by one.
const strangersNamed = 5

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

// admit takes over the connection of a rank that has proved itself.
func (j *Job) admit(rank int, l *link, welcome []byte) error {
	answer := make(chan error, 1)
	if !j.post(func() { answer <- j.join(rank, l, welcome) }) {
		return errOver
	}
	return <-answer
}

// join makes a rank take part, on the goroutine of run. The rank learns of it by the
// welcome, so whatever it does afterwards happens to a member.
func (j *Job) join(rank int, l *link, welcome []byte) error {
	m := &j.members[rank]
	switch {
	case m.conn != nil:
		return fmt.Errorf("rank %d has already joined", rank)
	case m.exited:
		return errRankEnded
	}
	if j.spec.started() {
		if err := j.followJoined(rank, l); err != nil {
			return err
		}
	}
	c := &conn{link: l, out: make(chan packet, 8)}
	m.conn = c
	j.linked++
	j.group.Go(c.write)
	j.group.Go(func() { j.read(rank, c) })
	c.send(appendFrame(nil, kindWelcome, func(b []byte) []byte { return append(b, welcome...) }))
	if j.verdict.ending {
		c.send(appendVerdict(nil, kindEnd, j.verdict.status, j.verdict.reason))
	}
	if j.absent--; j.absent == 0 {
		j.server.stop()
	}
	return nil
}

// refused notes a connection that was turned away, on the goroutine of run.
func (j *Job) refused(reason string) {
	if j.strange++; j.strange <= strangersNamed {
		j.out.report("refused a connection to the job: %s", reason)
	}
}

// read receives what a rank sends. That a connection is closed, at either end, is its end and no breach of the
// protocol: this end is closed, too, when a rank cannot be written to because it has ended.
func (j *Job) read(rank int, c *conn) {
	err := j.receive(rank, c.link)
	c.link.drop()
	switch {
	case errors.Is(err, net.ErrClosed) && c.stuck.Load():
		err = errors.New("it does not read what it is sent")
	case errors.Is(err, errEnded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		err = nil
	}
	j.post(func() { j.disconnected(rank, err) })
}

// receive posts a rank's messages until its connection ends.
func (j *Job) receive(rank int, l *link) error {
	for {
		body, err := l.receive()
		if err != nil {
			return err
		}
		m, err := decode(body)
		if err != nil {
			return err
		}
		fd := -1
		switch m.kind {
		case kindExchange, kindPlace:
			m.blob = bytes.Clone(m.blob)
		case kindShare:
			fds, err := l.claim(1)
			if err != nil {
				return err
			}
			fd = fds[0]
		}
		// One read may end with the descriptors of a frame that follows.
		if len(l.fds) > 0 && len(l.in) == 0 {
			return errors.New("descriptors that belong to no call")
		}
		if !j.post(func() { j.message(rank, m, fd) }) && fd >= 0 {
			unix.Close(fd)
		}
	}
}

// message acts on what a rank has sent, on the goroutine of run.
func (j *Job) message(rank int, m message, fd int) {
	switch m.kind {
	case kindExchange, kindBarrier, kindShare:
		j.collective(rank, m, fd)
	case kindTaken:
		j.taken(rank)
	case kindAbort:
		j.abort(rank, m.status, m.reason)
	case kindLeave:
		j.members[rank].left = true
		j.located(rank, nil)
		j.checkWaiters()
	case kindStalled:
		j.stalled(core.Stall{
			Rank: core.Rank(rank), Waited: time.Duration(m.waited),
			Report: m.flags&stallReport != 0, Debug: m.flags&stallDebug != 0,
		})
	case kindPlace:
		j.placed(rank, m.number, m.blob)
	default:
		j.end(1, fmt.Sprintf("rank %d broke the bootstrap protocol: it sent a %v", rank, m.kind))
	}
}

// abort acts on a rank's Abort. An end with status 0 is an ordinary end on request, which
// nobody needs to read of.
func (j *Job) abort(rank, status int, reason string) {
	announce := ""
	if status != 0 || j.spec.Verbose {
		announce = fmt.Sprintf("rank %d ended the job with status %d: %s", rank, status, strings.TrimPrefix(reason, fmt.Sprintf("rank %d: ", rank)))
	}
	j.speaker = rank
	j.decide(status, reason, announce)
}

// collective acts on a rank's collective call.
func (j *Job) collective(rank int, m message, fd int) {
	complete, err := j.calls.arrive(rank, m.kind, m.blob, fd)
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		j.end(1, err.Error())
		return
	}
	if !complete {
		j.checkWaiters()
		return
	}
	var result []byte
	switch m.kind {
	case kindExchange:
		for r, blob := range j.calls.blobs {
			result = appendPart(result, r, blob)
		}
	case kindBarrier:
		result = appendFrame(nil, kindPassed, nil)
	case kindShare:
		for _, b := range j.dealer.deal(j.calls.fds) {
			j.pass(b)
		}
	}
	j.calls.reset()
	if result != nil {
		for i := range j.members {
			j.members[i].conn.send(result)
		}
	}
}

// pass sends a rank a batch of descriptors.
func (j *Job) pass(b batch) {
	j.members[b.rank].conn.send(appendFDs(nil, b.first, b.count), j.dealer.fds[b.first:b.first+b.count]...)
}

// taken notes that a rank has received a batch.
func (j *Job) taken(rank int) {
	done, ok := j.dealer.took()
	if !ok {
		j.end(1, fmt.Sprintf("rank %d broke the bootstrap protocol: it acknowledged what it was not sent", rank))
		return
	}
	if done {
		closeFDs(j.dealer.fds)
		j.dealer = dealer{}
		return
	}
	if b, ok := j.dealer.another(); ok {
		j.pass(b)
	}
}
