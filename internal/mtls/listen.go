package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// maxPending is how many connections may be in the handshake at once.
const maxPending = 64

// Why a handshake is cut off.
var (
	errCrowded = fmt.Errorf("it has proved nothing while %d others came", maxPending)
	errClosed  = errors.New("it has proved nothing by the time nobody is let in any more")
)

// Listener yields the streams of those who have the key.
type Listener struct {
	listener net.Listener
	config   *tls.Config
	refused  func(error)
	proved   chan net.Conn
	failed   chan error // holds why nobody can come any more
	closed   chan struct{}
	group    sync.WaitGroup

	mu      sync.Mutex
	over    bool
	pending []*handshake // in the order in which they began
}

// handshake is one that is not over.
type handshake struct{ cut context.CancelCauseFunc }

// Listen serves a protocol (see Dial) on a listener, which becomes the Listener's. Of every connection that it turns away it tells
// refused, on any goroutine: the error names the address from which it came, and why.
func (k Key) Listen(protocol string, listener net.Listener, refused func(error)) (*Listener, error) {
	config, err := k.config(protocol)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		listener: listener, config: config, refused: refused,
		proved: make(chan net.Conn), failed: make(chan error, 1), closed: make(chan struct{}),
	}
	l.group.Go(l.serve)
	return l, nil
}

// Accept returns the next stream. It blocks until there is one; after Close the error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.proved:
		return c, nil
	case err := <-l.failed:
		l.failed <- err
		return nil, err
	}
}

// Addr returns the address at which the Listener listens.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }

// Close lets nobody in any more. Streams stay.
func (l *Listener) Close() error {
	l.mu.Lock()
	again := l.over
	l.over = true
	for _, h := range l.pending {
		h.cut(errClosed)
	}
	l.mu.Unlock()
	if again {
		return nil
	}
	close(l.closed)
	err := l.listener.Close()
	l.group.Wait()
	return err
}

// serve begins the handshake with whoever connects.
func (l *Listener) serve() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			l.failed <- err
			return
		}
		ctx, cut := context.WithCancelCause(context.Background())
		h := &handshake{cut}
		l.begin(h)
		l.group.Go(func() {
			defer cut(nil)
			s, err := shake(ctx, c, l.config, tls.Server)
			l.end(h)
			if err != nil {
				l.refused(fmt.Errorf("%v: %w", c.RemoteAddr(), err))
				return
			}
			select {
			case l.proved <- s:
			case <-l.closed:
				s.Close()
			}
		})
	}
}

// begin makes room for a handshake.
func (l *Listener) begin(h *handshake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		h.cut(errClosed)
	}
	if len(l.pending) == maxPending {
		l.pending[0].cut(errCrowded)
		l.pending = slices.Delete(l.pending, 0, 1)
	}
	l.pending = append(l.pending, h)
}

// end notes that a handshake is over.
func (l *Listener) end(h *handshake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.DeleteFunc(l.pending, func(other *handshake) bool { return other == h })
}
