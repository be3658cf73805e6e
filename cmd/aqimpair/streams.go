package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/bundle"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"golang.org/x/sys/unix"
)

// kind is a kind of stream from node 0 to node 1 of a tunnel.
type kind struct {
	name  string
	begin func(*tunnel.Tunnel) (*flow, error)
}

// kinds are those that are compared. The first is udp.
var kinds = []kind{
	{"udp", beginUDP},
	{"cubic", func(t *tunnel.Tunnel) (*flow, error) { return beginTCP(t, "cubic") }},
	{"bbr", func(t *tunnel.Tunnel) (*flow, error) { return beginTCP(t, "bbr") }},
}

// flow is a stream under way.
type flow struct {
	bytes atomic.Uint64 // that have arrived
	stop  atomic.Bool
	close func() // has what waits return; nil: it looks at stop
	busy  sync.WaitGroup
	mu    sync.Mutex
	err   error
}

// end ends the stream and returns what went wrong.
func (f *flow) end() error {
	f.stop.Store(true)
	if f.close != nil {
		f.close()
	}
	f.busy.Wait()
	return f.err
}

// fail notes what went wrong, if that was not the end.
func (f *flow) fail(err error) {
	if err != nil && !f.stop.Load() {
		f.mu.Lock()
		f.err = errors.Join(f.err, err)
		f.mu.Unlock()
	}
}

// within has f run on a thread in the namespace of a node, and returns when it has.
func within(t *tunnel.Tunnel, node int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := tunnel.Enter(t.Namespace(node))
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// buffers is for the kernel to keep what is under way on paths of 100 MB/s and 300 ms.
const buffers = 128 << 20

// chunk is how many bytes a message has.
const chunk = 256 << 10

// ahead is how many messages are posted that have not left.
const ahead = 1000

// beginUDP begins a stream of Longs between two bundles.
func beginUDP(t *tunnel.Tunnel) (*flow, error) {
	f, key := new(flow), seal.NewKey()
	open := func(node int) (*bundle.Bundle, error) {
		o := bundle.DefaultOptions(key)
		o.Address = netip.AddrPortFrom(tunnel.Address(node), 0)
		return bundle.Open(o)
	}
	const tag am2.Tag = 1
	names, ready := make(chan am2.Name, 1), make(chan error, 1)
	f.busy.Go(func() {
		ready <- within(t, 1, func() error {
			b, err := open(1)
			if err != nil {
				return err
			}
			if _, err := b.NewEndpoint(0, tag, 1, &sink{f: f, segment: make([]byte, chunk)}); err != nil {
				return errors.Join(err, b.Close())
			}
			names <- b.Name(0)
			for !f.stop.Load() {
				b.Wait(100 * time.Millisecond)
				b.Poll(64)
			}
			return b.Close()
		})
	})
	var to am2.Name
	select {
	case to = <-names:
	case err := <-ready:
		return nil, err
	}
	f.busy.Go(func() {
		f.fail(within(t, 0, func() error {
			b, err := open(0)
			if err != nil {
				return err
			}
			return errors.Join(f.pour(b, to, tag), b.Close())
		}))
	})
	return f, nil
}

// pour sends messages until the flow stops.
func (f *flow) pour(b *bundle.Bundle, to am2.Name, tag am2.Tag) error {
	h := &sink{f: f}
	e, err := b.NewEndpoint(0, tag, 1, h)
	if err == nil {
		err = e.Map(0, to, tag)
	}
	if err != nil {
		return err
	}
	payload := make([]byte, chunk)
	for !f.stop.Load() {
		op := am2.Op{Kind: am2.Long, Len: chunk, Src: payload, Sent: h}
		for h.lent < ahead && e.Reserve(&op) == am2.Reserved {
			e.Commit(&op)
			h.lent++
		}
		b.Wait(100 * time.Millisecond)
		b.Poll(64)
	}
	return nil
}

// sink is the end of a stream of messages, and counts what its beginning has lent.
type sink struct {
	f       *flow
	segment []byte
	lent    int
}

func (s *sink) Arrived(m *am2.Message) bool {
	s.f.bytes.Add(uint64(m.Len))
	return false
}
func (s *sink) Place(*am2.Message) []byte { return s.segment }
func (s *sink) Returned(m *am2.Message, r am2.Reason) {
	s.f.fail(fmt.Errorf("a message to %v came back: %v", m.Remote(), r))
}
func (s *sink) Lost(m *am2.Message, r am2.Reason) {
	s.f.fail(fmt.Errorf("%v is lost: %v", m.Remote(), r))
}
func (s *sink) Complete() { s.lent-- }

// beginTCP begins a stream over the kernel's TCP with a congestion control.
func beginTCP(t *tunnel.Tunnel, control string) (*flow, error) {
	f := new(flow)
	var in net.Listener
	var out, from net.Conn
	err := within(t, 1, func() (err error) {
		if err = roomy(); err == nil {
			in, err = net.Listen("tcp4", netip.AddrPortFrom(tunnel.Address(1), 0).String())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	err = within(t, 0, func() (err error) {
		if err = roomy(); err != nil {
			return err
		}
		d := net.Dialer{Timeout: 30 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
			_ = c.Control(func(fd uintptr) {
				err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, control)
			})
			if err != nil {
				err = fmt.Errorf("congestion control %s: %w; does the kernel have it (sysctl net.ipv4.tcp_available_congestion_control)?", control, err)
			}
			return err
		}}
		out, err = d.Dial("tcp4", in.Addr().String())
		return err
	})
	if err != nil {
		return nil, err
	}
	if from, err = in.Accept(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	f.close = func() { out.Close(); from.Close() }
	f.busy.Go(func() {
		for b := make([]byte, chunk); !f.stop.Load(); {
			if _, err := out.Write(b); err != nil {
				f.fail(err)
				return
			}
		}
	})
	f.busy.Go(func() {
		for b := make([]byte, chunk); !f.stop.Load(); {
			n, err := from.Read(b)
			f.bytes.Add(uint64(n))
			if err != nil {
				f.fail(err)
				return
			}
		}
	})
	return f, nil
}

// roomy lets TCP keep what such paths have under way, in the namespace of the calling thread.
func roomy() error {
	for _, name := range []string{"tcp_rmem", "tcp_wmem"} {
		text := fmt.Sprintf("4096 131072 %d", buffers)
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(text), 0); err != nil {
			return fmt.Errorf("buffers of TCP: %w", err)
		}
	}
	return nil
}
