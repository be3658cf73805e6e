package udp

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/aqueduct-go/aqueduct/conduits/udp/netif"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
)

// autoDevice as the interface has the address be chosen as package netif says.
const autoDevice = "auto"

// chooseAddress returns the address to bind to: the one that the settings say, else the loopback's if the ranks are on
// one host, else what netif.Choose says. It also returns what all ranks have to offer if they are on several hosts; then
// it is collective.
func chooseAddress(boot core.Bootstrap, p *params) (addr netip.Addr, offers []*netif.Offer, err error) {
	said := p.address != "" || p.device != autoDevice
	if said {
		if addr, err = addressSaid(p.address, p.device); err != nil {
			return addr, nil, err
		}
	}
	if len(boot.Local()) == boot.Size() {
		if !said {
			addr = socket.Loopback
		}
		return addr, nil, nil
	}
	own := netif.Offer{Namespace: netif.Namespace(), Chosen: said}
	if said {
		own.Addresses = []ifaddr.Address{{Interface: "chosen", Prefix: netip.PrefixFrom(addr.WithZone(""), addr.BitLen())}}
	} else if own.Addresses, err = ifaddr.Own(); err != nil {
		return addr, nil, fmt.Errorf("udp: %w", err)
	}
	all, err := boot.Exchange(own.Encode())
	if err != nil {
		return addr, nil, err
	}
	if offers, err = netif.Decode(all); err != nil {
		return addr, nil, fmt.Errorf("udp: %w", err)
	}
	chosen, err := netif.Choose(int(boot.Rank()), offers, socket.Source)
	if err != nil {
		return addr, nil, fmt.Errorf("udp: %w; say which to use by the setting address=ADDRESS, address=PREFIX/BITS or interface=NAME", err)
	}
	if !said {
		addr = chosen
	}
	return addr, offers, nil
}

// addressSaid returns the address that the settings say.
func addressSaid(address, device string) (netip.Addr, error) {
	if device == autoDevice {
		device = ""
	}
	if a, err := netip.ParseAddr(address); err == nil && device == "" {
		switch a = a.Unmap(); {
		case a.IsUnspecified() || a.IsMulticast():
			return a, refused("address", address, "it is not the address of one interface; want one such as 10.0.0.7")
		case !socket.OfOneLink(a) || a.Zone() != "":
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
			if socket.OfOneLink(a) {
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
