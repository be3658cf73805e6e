package mtls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// HandshakeTime is how long either end has for the handshake. It takes milliseconds; this is for machines that are
	// overloaded a thousandfold.
	HandshakeTime = 10 * time.Second
	// handshakeBytes is how much an end reads before the other has proved itself: a handshake has less than 2 KiB.
	handshakeBytes = 16 << 10
)

var errOversized = fmt.Errorf("it has sent more than %d bytes and proved nothing", handshakeBytes)

// bounded is a connection of which little is read before the handshake is over.
type bounded struct {
	net.Conn
	left   int // bytes; the handshake's goroutine's
	proved atomic.Bool
}

// Read implements net.Conn.
func (b *bounded) Read(p []byte) (int, error) {
	if b.proved.Load() {
		return b.Conn.Read(p)
	}
	if b.left == 0 {
		return 0, errOversized
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// shake performs the handshake on c, as the server or the client of a protocol, and returns the stream. On error it closes c.
func shake(ctx context.Context, c net.Conn, config *tls.Config, end func(net.Conn, *tls.Config) *tls.Conn) (net.Conn, error) {
	b := &bounded{Conn: c, left: handshakeBytes}
	t := end(b, config)
	ctx, cancel := context.WithTimeoutCause(ctx, HandshakeTime, fmt.Errorf("it has proved nothing within %v", HandshakeTime))
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, explain(ctx, err)
	}
	b.proved.Store(true)
	return t, nil
}

// explain says in this package's terms why a handshake has failed.
func explain(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case errors.Is(err, ErrKey), errors.Is(err, errOversized):
		return err
	case isAlert(err, badCertificate):
		return errors.New("it says that its key is another")
	case isAlert(err, noApplicationProtocol):
		return errors.New("it speaks another protocol or version")
	case errors.Is(err, io.EOF):
		return errors.New("it has closed the connection and proved nothing")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		return errors.New("it has proved nothing in time")
	}
	return fmt.Errorf("it has no proof that it has the key: %w", err)
}

// Alerts of RFC 8446, section 6.2.
const (
	badCertificate        tls.AlertError = 42 // what crypto/tls sends when VerifyConnection fails
	noApplicationProtocol tls.AlertError = 120
)

// isAlert reports whether the other end has ended the handshake by an alert, which crypto/tls gives a type of its own.
func isAlert(err error, alert tls.AlertError) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == alert.Error()
}
