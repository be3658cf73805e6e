package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// sockaddr is an address as the kernel takes and gives it: that of IPv4 in the first 16
// bytes, or that of IPv6. Equal addresses are equal values.
type sockaddr [unix.SizeofSockaddrInet6]byte

// is reports whether two addresses are equal, in less time than ==, which calls for it.
func (s *sockaddr) is(t *sockaddr) bool {
	u := binary.NativeEndian
	return u.Uint64(s[:]) == u.Uint64(t[:]) && u.Uint64(s[8:]) == u.Uint64(t[8:]) &&
		u.Uint64(s[16:]) == u.Uint64(t[16:]) && u.Uint32(s[24:]) == u.Uint32(t[24:])
}

// sockaddrOf returns an address for the kernel.
func sockaddrOf(a netip.AddrPort) (s sockaddr, err error) {
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
func (s *sockaddr) size() uint32 {
	if binary.NativeEndian.Uint16(s[:]) == unix.AF_INET {
		return unix.SizeofSockaddrInet4
	}
	return unix.SizeofSockaddrInet6
}

// addrPort returns the address, without its zone: that is the receiver's own matter.
func (s *sockaddr) addrPort() netip.AddrPort {
	port := binary.BigEndian.Uint16(s[2:])
	if binary.NativeEndian.Uint16(s[:]) == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(s[4:8])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(s[8:24])), port)
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// chooseAddress returns the address to bind to: the one that the settings say, else, for a job
// on one host, the loopback's.
func chooseAddress(address, device string, oneHost bool) (netip.Addr, error) {
	switch {
	case address == "" && device == "" && oneHost:
		return loopback, nil
	case address == "" && device == "":
		return netip.Addr{}, errors.New("udp: the ranks are on several hosts: say which address to use by the setting address=ADDRESS, address=PREFIX/BITS or interface=NAME")
	}
	if a, err := netip.ParseAddr(address); err == nil && device == "" {
		switch a = a.Unmap(); {
		case a.IsUnspecified() || a.IsMulticast():
			return a, refused("address", address, "it is not the address of one interface; want one such as 10.0.0.7")
		case !ofOneLink(a) || a.Zone() != "":
			return a, nil
		} // else the interface that has it is looked for
	}
	within := netip.Prefix{}
	if address != "" {
		var err error
		if within, err = netip.ParsePrefix(address); err != nil {
			if a, err2 := netip.ParseAddr(address); err2 == nil {
				within = netip.PrefixFrom(a, a.BitLen())
			} else {
				return netip.Addr{}, refused("address", address, "want an address such as 10.0.0.7 or a prefix such as 10.0.0.0/24")
			}
		}
	}
	own, err := addressesOf(device)
	if err != nil {
		return netip.Addr{}, err
	}
	return pick(own, within, address, device)
}

// ofOneLink reports whether an address means something only together with an interface.
func ofOneLink(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }

// addressesOf returns the addresses of an interface, or of all if it has no name.
func addressesOf(device string) (own []netip.Addr, err error) {
	interfaces, err := net.Interfaces()
	if device != "" {
		var i *net.Interface
		if i, err = net.InterfaceByName(device); err != nil {
			return nil, refused("interface", device, "%v", err)
		}
		interfaces = []net.Interface{*i}
	}
	if err != nil {
		return nil, fmt.Errorf("udp: list the interfaces of this host: %w", err)
	}
	for _, i := range interfaces {
		nets, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("udp: list the addresses of interface %s: %w", i.Name, err)
		}
		for _, n := range nets {
			p, err := netip.ParsePrefix(n.String())
			if err != nil {
				continue
			}
			a := p.Addr().Unmap()
			if ofOneLink(a) {
				a = a.WithZone(i.Name)
			}
			own = append(own, a)
		}
	}
	return own, nil
}

// pick returns the first address in the prefix, if that is valid; IPv4 and addresses that are
// good beyond the link come first.
func pick(own []netip.Addr, within netip.Prefix, address, device string) (netip.Addr, error) {
	best, rank := netip.Addr{}, 0
	for _, a := range own {
		r := 1
		switch {
		case within.IsValid() && !within.Contains(a.WithZone("")):
			r = 0
		case a.Is4():
			r = 3
		case !a.IsLinkLocalUnicast():
			r = 2
		}
		if r > rank {
			best, rank = a, r
		}
	}
	if rank > 0 {
		return best, nil
	}
	if device == "" {
		return best, refused("address", address, "this host has no address in it; it has %v", own)
	}
	return best, refused("interface", device, "it has no fitting address; it has %v", own)
}
