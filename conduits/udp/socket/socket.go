package socket

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sizes of datagrams.
const (
	HeaderIPv4  = 20 + 8  // of IP without options, and UDP
	headerIPv6  = 40 + 8  // the same
	LargestIPv4 = 65507   // payload of a datagram at most: 65535 less the headers
	largestIPv6 = 65527   // IPv6 does not count its own header
	BlockSize   = 1 << 16 // bytes of a receive buffer: more never comes at once
)

// Socket is a non-blocking UDP socket. Its calls are raw: they neither wait nor tell the Go
// scheduler.
type Socket struct {
	FD    int
	Local netip.AddrPort
	V6    bool
	Got   [2]int // bytes of the kernel's buffers, by Receiving and Sending
	From  Addr   // of whom Receive took something last
	// Troubled is set when the kernel has said that it keeps an error of the network, see Failed. The user clears it.
	Troubled bool
	// Narrowed, if not nil, is called when a datagram is too large for the path to an address.
	Narrowed func(to *Addr)

	gso   bool // the kernel divides what is sent; switched off when a device refuses
	gro   bool // the kernel joins what arrives
	whole bool // IP may not divide what is sent, see fragment
	in    reception
	out   batch
}

// Options are what Open is asked for.
type Options struct {
	Port     uint16 // 0: a free one
	Buffer   int    // bytes of the kernel's buffers for each direction
	GSO, GRO bool   // the kernel divides and joins datagrams, where it can
}

// The indices of Socket.Got.
const (
	Receiving = iota
	Sending
)

// Open binds a socket to the address.
func Open(addr netip.Addr, o Options) (s *Socket, err error) {
	s = &Socket{V6: addr.Is6(), whole: true}
	family := unix.AF_INET
	if s.V6 {
		family = unix.AF_INET6
	}
	if s.FD, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP); err != nil {
		return nil, fmt.Errorf("udp: make a socket: %w", err)
	}
	if err := s.setUp(addr, o); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("udp: socket of address %v: %w", addr, err)
	}
	return s, nil
}

func (s *Socket) setUp(addr netip.Addr, o Options) error {
	level, errorsOption := unix.IPPROTO_IP, unix.IP_RECVERR
	if s.V6 {
		level, errorsOption = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
		if err := unix.SetsockoptInt(s.FD, level, unix.IPV6_V6ONLY, 1); err != nil {
			return fmt.Errorf("IPv6 only: %w", err)
		}
	}
	if err := unix.SetsockoptInt(s.FD, level, errorsOption, 1); err != nil {
		return fmt.Errorf("ask for ICMP errors: %w", err)
	}
	if err := s.fragment(false); err != nil {
		return err
	}
	for i, b := range []struct{ force, plain, read int }{
		{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, unix.SO_RCVBUF},
		{unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, unix.SO_SNDBUF},
	} {
		// Beyond the host's limit only the privileged get it.
		if unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, b.force, o.Buffer) != nil {
			if err := unix.SetsockoptInt(s.FD, unix.SOL_SOCKET, b.plain, o.Buffer); err != nil {
				return fmt.Errorf("size of buffers: %w", err)
			}
		}
		got, err := unix.GetsockoptInt(s.FD, unix.SOL_SOCKET, b.read)
		if err != nil {
			return fmt.Errorf("size of buffers: %w", err)
		}
		s.Got[i] = got / 2 // socket(7): the kernel doubles it for its own bookkeeping
	}
	// Offloads that the kernel does not have are done without.
	s.gso = o.GSO && unix.SetsockoptInt(s.FD, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 0) == nil
	s.gro = o.GRO && unix.SetsockoptInt(s.FD, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
	return s.bind(addr, o.Port)
}

func (s *Socket) bind(addr netip.Addr, port uint16) error {
	sa, err := UnixAddr(netip.AddrPortFrom(addr, port))
	if err != nil {
		return err
	}
	if err := unix.Bind(s.FD, sa); err != nil {
		return fmt.Errorf("bind: %w; is it an address of this host?", err)
	}
	name, err := unix.Getsockname(s.FD)
	if err != nil {
		return fmt.Errorf("getsockname: %w", err)
	}
	switch n := name.(type) {
	case *unix.SockaddrInet4:
		port = uint16(n.Port)
	case *unix.SockaddrInet6:
		port = uint16(n.Port)
	default:
		return errors.New("getsockname: no Internet address")
	}
	s.Local = netip.AddrPortFrom(addr, port)
	return refuseBroadcast(s.Local)
}

// refuseBroadcast refuses an address that the kernel binds to, but takes for that of all hosts of
// a network: sending there needs permission (ip(7), SO_BROADCAST).
func refuseBroadcast(a netip.AddrPort) error {
	fd, err := connected(a.Addr(), a)
	if errors.Is(err, unix.EACCES) {
		return errors.New("it is a broadcast address; want that of one interface, such as 10.0.0.7")
	}
	if err == nil {
		unix.Close(fd)
	}
	return nil
}

// connected returns a socket that is bound to a free port of an address and connected to another.
// It is for asking the kernel about the way there.
func connected(local netip.Addr, to netip.AddrPort) (fd int, err error) {
	family := unix.AF_INET
	if to.Addr().Is6() {
		family = unix.AF_INET6
	}
	from, err := UnixAddr(netip.AddrPortFrom(local, 0))
	if err != nil {
		return -1, err
	}
	name, err := UnixAddr(to)
	if err != nil {
		return -1, err
	}
	if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, from); err == nil {
		err = unix.Connect(fd, name)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Source returns from which address this host sends to another, false if it has no way there.
func Source(to netip.Addr) (from netip.Addr, ok bool) {
	unbound := netip.IPv4Unspecified()
	if to.Is6() {
		unbound = netip.IPv6Unspecified()
	}
	fd, err := connected(unbound, netip.AddrPortFrom(to, 1)) // any port: nothing is sent
	if err != nil {
		return netip.Addr{}, false
	}
	defer unix.Close(fd)
	switch name, _ := unix.Getsockname(fd); n := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(n.Addr), true
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(n.Addr), true
	}
	return netip.Addr{}, false
}

// UnixAddr returns an address for the calls that set up.
func UnixAddr(a netip.AddrPort) (unix.Sockaddr, error) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
	}
	zone, err := zoneIndex(a.Addr().Zone())
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone}, err
}

// Close closes the socket.
func (s *Socket) Close() error { return unix.Close(s.FD) }

// fragment says whether IP may divide what is sent from now on. It may not, but for what has
// been lost before: then the path may have a narrow place that does not tell (RFC 8899,
// section 1.1: black holes).
func (s *Socket) fragment(may bool) error {
	if !s.V6 {
		mode := unix.IP_PMTUDISC_DO
		if may {
			mode = unix.IP_PMTUDISC_DONT
		}
		if err := unix.SetsockoptInt(s.FD, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, mode); err != nil {
			return fmt.Errorf("don't-fragment bit: %w", err)
		}
		s.whole = !may
		return nil
	}
	// Routers do not divide IPv6, so the sender does, into what passes everywhere.
	mode, size := unix.IPV6_PMTUDISC_DO, 0
	if may {
		mode, size = unix.IPV6_PMTUDISC_DONT, leastMTUv6
	}
	err := unix.SetsockoptInt(s.FD, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, mode)
	if err == nil {
		err = unix.SetsockoptInt(s.FD, unix.IPPROTO_IPV6, unix.IPV6_MTU, size)
	}
	if err != nil {
		return fmt.Errorf("don't fragment: %w", err)
	}
	s.whole = !may
	return nil
}

// Bytes of a packet that passes everywhere, in practice (IPv4: what every host must take, RFC
// 1122, section 3.3.2; IPv6: RFC 8200, section 5).
const (
	LeastMTUv4 = 576
	leastMTUv6 = 1280
)

// PayloadOf returns the bytes of a datagram that fit in a packet of mtu bytes.
func PayloadOf(v6 bool, mtu int) int {
	if v6 {
		return max(leastMTUv6-headerIPv6, min(mtu-headerIPv6, largestIPv6))
	}
	return max(LeastMTUv4-HeaderIPv4, min(mtu-HeaderIPv4, LargestIPv4))
}

// PathMTU returns the bytes of a datagram that pass undivided to an address, as far as the
// kernel knows: the interface's, or less if a router has said so.
func PathMTU(local netip.Addr, to netip.AddrPort) int {
	v6 := to.Addr().Is6()
	level, option := unix.IPPROTO_IP, unix.IP_MTU
	if v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	mtu := 0
	if fd, err := connected(local, to); err == nil {
		defer unix.Close(fd)
		if mtu, err = unix.GetsockoptInt(fd, level, option); err != nil {
			mtu = 0
		}
	}
	return PayloadOf(v6, mtu)
}
