package spawner

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// trunkLink is either end of the connection between a rank of a static job and rank 0: the frames of a link, over a trunk. It
// carries no descriptors. Any goroutine may send, while one receives.
type trunkLink struct {
	trunk *trunk
	in    []byte // received and not yet returned
}

// send implements rankEnd. That the connection ends meanwhile is for who receives to notice.
func (l *trunkLink) send(frames []byte, fds ...int) error {
	if len(fds) > 0 {
		return errors.New("descriptors do not go over a network")
	}
	select {
	case <-l.trunk.quit:
		return errEnded
	default:
	}
	l.post(frames)
	l.trunk.flush()
	return nil
}

// maxPiece is how much of a broadcast goes in one frame of the trunk.
const maxPiece = 1 << 20

// post is send, but does not wait.
func (l *trunkLink) post(frames []byte) {
	for len(frames) > 0 {
		n := min(len(frames), maxPiece)
		l.trunk.send(wordSend, func(b []byte) []byte { return append(b, frames[:n]...) })
		frames = frames[n:]
	}
}

// receive implements rankEnd.
func (l *trunkLink) receive() ([]byte, error) {
	for {
		body, rest, err := wire.NextFrame(l.in, maxFrame)
		switch {
		case err == nil:
			l.in = rest
			return body, nil
		case !errors.Is(err, wire.ErrShort):
			return nil, err
		}
		w, r, err := l.trunk.receiveNews()
		switch {
		case hungUp(err):
			return nil, errEnded
		case err != nil:
			return nil, err
		}
		if w != wordSend {
			return nil, fmt.Errorf("it said %v in a running job", w)
		}
		l.in = append(l.in, r.Rest()...)
	}
}

// receiveNews returns the next word that is not a beat, and what belongs to it, which is valid until the next call.
func (t *trunk) receiveNews() (word, *wire.Reader, error) {
	for {
		w, r, err := t.receive()
		if err != nil || w != wordBeat {
			return w, r, err
		}
		if err := r.End(); err != nil {
			return w, r, err
		}
	}
}

// claim implements rankEnd.
func (l *trunkLink) claim(n int) ([]int, error) {
	return nil, fmt.Errorf("%d descriptors announced, over a network", n)
}

// drop implements rankEnd.
func (l *trunkLink) drop() {}

// closeSend implements rankEnd.
func (l *trunkLink) closeSend() { l.trunk.close() }

// close implements rankEnd.
func (l *trunkLink) close() { l.trunk.cut() }
