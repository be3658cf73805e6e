package mtls

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// alive has who dials notice within 6 s that the host at the other end is out of reach, also where the protocol has nothing to say for long.
var alive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 4}

// Dial connects to a TCP address, proves to who listens there that this process has the key, and wants the same in turn. The protocol
// is a name, with a version, that both ends give. The error names the address. Dial blocks until ctx ends, or longer than
// HandshakeTime when it has connected.
func (k Key) Dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	return k.dial(ctx, protocol, address, func() {})
}

// dial is Dial. It calls connected before the handshake.
func (k Key) dial(ctx context.Context, protocol, address string, connected func()) (net.Conn, error) {
	config, err := k.config(protocol)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{KeepAliveConfig: alive}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err // it names the address
	}
	connected()
	s, err := shake(ctx, c, config, tls.Client)
	if err != nil {
		if at := c.RemoteAddr().String(); at != address {
			address += " (" + at + ")"
		}
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return s, nil
}

// How long an address is tried.
const (
	dialTime = 3 * time.Second
	// connectDelay is how long it is tried alone if nobody answers: the Connection Attempt Delay of RFC 8305, section 8.
	connectDelay = 250 * time.Millisecond
	// proofDelay is how long it is tried alone once somebody has answered, who may be busy with the handshakes of many.
	proofDelay = 2 * time.Second
)

// DialFirst is Dial at several addresses, at least one, of which the first counts at which somebody proves to have the key; the error is that of
// the first that failed. They are tried in their order: the next as soon as one has failed, or beside it after a while. What is tried
// when one has succeeded goes on for 3 s at most, and is closed: cut off at once it would look like a stranger's.
func (k Key) DialFirst(ctx context.Context, protocol string, addresses []string) (net.Conn, error) {
	type outcome struct {
		c   net.Conn
		err error
	}
	outcomes, connected, found := make(chan outcome), make(chan int), make(chan struct{})
	defer close(found)
	try := func(n int) {
		limited, cancel := context.WithTimeout(context.Background(), dialTime)
		defer cancel()
		c, err := k.dial(limited, protocol, addresses[n], func() {
			select {
			case connected <- n:
			case <-found:
			}
		})
		select {
		case outcomes <- outcome{c, err}:
		case <-found:
			if err == nil {
				c.Close()
			}
		}
	}
	next := time.NewTimer(0)
	defer next.Stop()
	var first error
	for begun, failed := 0, 0; failed < len(addresses); {
		select {
		case <-next.C:
			if begun < len(addresses) {
				go try(begun)
				begun++
				next.Reset(connectDelay)
			}
		case n := <-connected:
			if n == begun-1 {
				next.Reset(proofDelay)
			}
		case o := <-outcomes:
			if o.err == nil {
				return o.c, nil
			}
			first = cmp.Or(first, o.err)
			failed++
			next.Reset(0)
		case <-ctx.Done():
			return nil, cmp.Or(first, context.Cause(ctx))
		}
	}
	return nil, first
}
