package bundle

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// Options say how a bundle communicates; begin with DefaultOptions. Bundles that are to talk must
// have the same Security and Key, and in Config the same ReplyAcks, Depth, MaxMedium and
// MaxBulk: what comes from others is not authentic.
type Options struct {
	// Address is where the bundle receives: the address of one interface, by which others
	// reach it, and a port, or 0 for one that the kernel chooses. The address must not be
	// translated on the way, nor be good on one link only.
	Address netip.AddrPort
	// Security is how datagrams are protected. None is for the loopback, unless Insecure is set;
	// then whoever can send to Address can speak for everybody.
	Security seal.Mode
	Insecure bool
	// Key is what all have who may talk; see seal.ReadKey. With None there is none.
	Key seal.Key
	// Config are the sizes and times of the bundle. Peers is how many processes it can know in its
	// life; it forgets none, since their datagrams might be recorded and sent again. For one more
	// there is NoRoom.
	Config am2.Config
	// Buffer is the bytes of the kernel's buffers, of each direction.
	Buffer int
	// Offload has the kernel divide and join datagrams where it can.
	Offload bool
}

// DefaultOptions returns options of a bundle on the loopback whose datagrams are authenticated
// with a key.
func DefaultOptions(key seal.Key) Options {
	return Options{
		Address: netip.AddrPortFrom(socket.Loopback, 0), Security: seal.Auth, Key: key,
		Config: am2.Defaults(), Buffer: socket.DefaultBuffer, Offload: true,
	}
}

// check returns what is wrong with o but for Config.
func (o *Options) check() error {
	a := o.Address.Addr()
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.Is4In6():
		return fmt.Errorf("udp: Options.Address is %v; want the address of one interface, such as 10.0.0.7:0", o.Address)
	case socket.OfOneLink(a):
		return fmt.Errorf("udp: Options.Address is %v, which means something on one link only; want another address of this host", o.Address)
	case o.Security > seal.Encrypt:
		return fmt.Errorf("udp: Options.Security is %v; want None, Auth or Encrypt", o.Security)
	case o.Security == seal.None && o.Key != (seal.Key{}):
		return errors.New("udp: Options.Security is None, but there is a Key, which it would not use; want Auth or Encrypt, or no Key")
	case o.Security == seal.None && !a.IsLoopback() && !o.Insecure:
		return fmt.Errorf("udp: Options.Security is None at address %v, where strangers may send; if the network is trusted, set Insecure", a)
	case o.Security != seal.None && o.Key == (seal.Key{}):
		return fmt.Errorf("udp: Options.Security is %v, but there is no Key; read one by seal.ReadKey", o.Security)
	case o.Buffer < 4096 || o.Buffer > 1<<30:
		return fmt.Errorf("udp: Options.Buffer is %d; it must be 4096 to %d", o.Buffer, 1<<30)
	}
	return nil
}

// Open makes a socket with a bundle behind it that has no endpoints yet.
func Open(o Options) (*Bundle, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	addr := o.Address.Addr()
	// On the loopback a datagram is as large as what the kernel would join.
	offload := o.Offload && !(addr.IsLoopback() && o.Config.Datagram > socket.LargestIPv4/2)
	sock, err := socket.Open(addr, socket.Options{Port: o.Address.Port(), Buffer: o.Buffer, GSO: offload, GRO: offload})
	if err != nil {
		return nil, err
	}
	o.Address = sock.Local
	o.Config.Datagram = max(am2.MinDatagram, min(o.Config.Datagram, sock.Got[socket.Receiving]/socket.Kept))
	b := &Bundle{
		options: o, sock: sock, incarnation: socket.NewIncarnation(), began: time.Now(),
		numbers: make(map[uint16]bool), sites: make(map[socket.Addr]*site), processes: make(map[processKey]*process),
	}
	if b.am, err = am2.NewBundle(o.Config, wire{b}); err != nil {
		_ = sock.Close()
		return nil, fmt.Errorf("udp: %w", err)
	}
	b.ring = seal.NewRing(o.Security, o.Key, b.nameOf(sock.Local, b.incarnation), am2.FixedHead)
	sock.Narrowed = b.narrowed
	return b, nil
}

// Close tells the processes that the bundle knows that it closes, which they believe if it is
// authentic, and closes the socket. What is for the bundle comes back to them. What the bundle has
// sent may be lost if it is not acknowledged; see Unacknowledged. Bundle and endpoints must not
// be used any more.
func (b *Bundle) Close() error {
	b.enter("Close")
	if b.closed {
		return nil
	}
	b.farewell()
	b.closed = true
	return b.sock.Close()
}
