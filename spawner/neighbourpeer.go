package spawner

import (
	"errors"
	"fmt"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// peer is a connection.
type peer struct {
	*link
	sends sync.Mutex // held while sending
	rank  int
	in    chan handover // what belongs to a call, and the first of the next
	left  chan struct{} // closed when it has left, or is gone
}

// handover is what a message brings to a call, or several that are parts of one.
type handover struct {
	kind uint8
	fds  []int
	data []byte
	err  error // in the descriptors' place
}

// The messages of peers. One that shares is followed by nothing; there are as many descriptors with it as it says.
const (
	msgShare = 1 + iota // number of descriptors
	msgTaken            // they have come
	msgPart             // whether it is the last, a part of what the sender has to say in an exchange
	msgLeave            // it closes the connection in good order
	msgEnd              // status, reason: the job is to end
)

// newPeer makes a peer of a connection.
func newPeer(rank int, l *link) *peer {
	return &peer{link: l, rank: rank, in: make(chan handover, 2), left: make(chan struct{})}
}

// send sends a message of at most 64 KiB, and descriptors with it, at most maxFDs, which stay the caller's. Any goroutine may call it.
func (p *peer) send(body []byte, fds ...int) error {
	p.sends.Lock()
	defer p.sends.Unlock()
	b, at := wire.BeginFrame(nil)
	return p.link.send(wire.EndFrame(append(b, body...), at), fds...)
}

// watch takes in what a peer says until the connection ends.
func (h *Neighbours) watch(p *peer) {
	defer close(p.left)
	err := h.listen(p)
	p.close()
	p.drop()
	if err != nil {
		h.heard(false, 1, fmt.Sprintf("rank %d of this host is gone: %v", p.rank, err), p.rank)
	}
}

// listen returns nil when a peer has left.
func (h *Neighbours) listen(p *peer) error {
	var data []byte // the parts that have come
	for {
		body, err := p.receive()
		if err != nil {
			return err
		}
		r := wire.NewReader(body)
		switch kind := r.Uint8(); kind {
		case msgShare:
			n := int(r.Uint32())
			if err := r.End(); err != nil || n < 1 || n > maxFDs {
				return fmt.Errorf("it shares %d descriptors", n)
			}
			fds, err := p.claim(n)
			select {
			case p.in <- handover{kind: kind, fds: fds, err: err}:
			default:
				closeFDs(fds)
				return errors.New("it shares descriptors that nobody waits for")
			}
		case msgTaken:
			select {
			case p.in <- handover{kind: kind}:
			default:
				return errors.New("it takes descriptors that nobody sends")
			}
		case msgPart:
			last := r.Uint8() != 0
			data = append(data, r.Rest()...)
			if err := r.Err(); err != nil {
				return err
			}
			if int64(len(data)) > int64(len(h.hostOf))*(MaxExchange+maxHead) {
				return fmt.Errorf("it says more than %d ranks may", len(h.hostOf))
			}
			if !last {
				continue
			}
			select {
			case p.in <- handover{kind: kind, data: data}:
				data = nil // the receiver's
			default:
				return errors.New("it says what nobody waits for")
			}
		case msgLeave:
			return nil
		case msgEnd:
			status, reason := int(int32(r.Uint32())), r.Text()
			if err := r.End(); err != nil {
				return err
			}
			h.heard(true, status, reason, p.rank)
		default:
			return fmt.Errorf("it sends a message of kind %d", kind)
		}
	}
}

// next waits for what a peer sends in a call, which is to be of a kind.
func (h *Neighbours) next(p *peer, kind uint8) (b handover, err error) {
	select {
	case b = <-p.in:
	case <-p.left:
		select { // what came before counts
		case b = <-p.in:
		default:
			return b, fmt.Errorf("rank %d has left", p.rank)
		}
	case <-h.failed:
		return b, errFailed
	}
	if b.err == nil && b.kind != kind {
		closeFDs(b.fds)
		b.err = errors.New("it is in another call")
	}
	if b.err != nil {
		return handover{}, fmt.Errorf("what rank %d sends: %w", p.rank, b.err)
	}
	return b, nil
}

var errFailed = errors.New("the job has failed")

// say sends a peer what it waits for in an exchange.
func (p *peer) say(b []byte) error {
	for {
		n := min(len(b), maxPart)
		last := byte(0)
		if n == len(b) {
			last = 1
		}
		if err := p.send(append([]byte{msgPart, last}, b[:n]...)); err != nil {
			return fmt.Errorf("telling rank %d: %w", p.rank, err)
		}
		if b = b[n:]; last != 0 {
			return nil
		}
	}
}

const (
	maxPart = 32 << 10 // bytes of a part
	maxHead = 4        // bytes that go with what a rank gives
)
