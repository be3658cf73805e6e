package socket

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Addr is an address as the kernel takes and gives it: that of IPv4 in the first 16
// bytes, or that of IPv6. Equal addresses are equal values.
type Addr [unix.SizeofSockaddrInet6]byte

// Is reports whether two addresses are equal, in less time than ==, which calls for it.
func (s *Addr) Is(t *Addr) bool {
	u := binary.NativeEndian
	return u.Uint64(s[:]) == u.Uint64(t[:]) && u.Uint64(s[8:]) == u.Uint64(t[8:]) &&
		u.Uint64(s[16:]) == u.Uint64(t[16:]) && u.Uint32(s[24:]) == u.Uint32(t[24:])
}

// AddrOf returns an address for the kernel.
func AddrOf(a netip.AddrPort) (s Addr, err error) {
	family := uint16(unix.AF_INET)
	if a.Addr().Is4() {
		copy(s[4:8], a.Addr().AsSlice())
	} else {
		family = unix.AF_INET6
		copy(s[8:24], a.Addr().AsSlice())
		zone, err := zoneIndex(a.Addr().Zone())
		if err != nil {
			return s, err
		}
		binary.NativeEndian.PutUint32(s[24:], zone)
	}
	binary.NativeEndian.PutUint16(s[:], family)
	binary.BigEndian.PutUint16(s[2:], a.Port())
	return s, nil
}

// zoneIndex returns the number of an interface that is named by name or number.
func zoneIndex(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("interface %s: %w", zone, err)
	}
	return uint32(i.Index), nil
}

// size returns the bytes that the kernel takes.
func (s *Addr) size() uint32 {
	if binary.NativeEndian.Uint16(s[:]) == unix.AF_INET {
		return unix.SizeofSockaddrInet4
	}
	return unix.SizeofSockaddrInet6
}

// AddrPort returns the address, without its zone: that is the receiver's own matter.
func (s *Addr) AddrPort() netip.AddrPort {
	port := binary.BigEndian.Uint16(s[2:])
	if binary.NativeEndian.Uint16(s[:]) == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(s[4:8])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(s[8:24])), port)
}

// Loopback is the address of this host that no other host reaches.
var Loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// OfOneLink reports whether an address means something only together with an interface.
func OfOneLink(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }
