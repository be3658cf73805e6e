// Package ifaddr lists the addresses of this host's interfaces, and says which of them are for traffic among hosts.
package ifaddr

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
)

// Address is an address of an interface of a host.
type Address struct {
	Interface string
	Prefix    netip.Prefix // the address, and how many of its bits are the network's
	Ignored   string       // why it is not chosen by itself; "": it may be
}

// String writes it for people.
func (a Address) String() string {
	if a.Ignored != "" {
		return fmt.Sprintf("%v (%s, ignored: %s)", a.Prefix, a.Interface, a.Ignored)
	}
	return fmt.Sprintf("%v (%s)", a.Prefix, a.Interface)
}

// Own returns the addresses of this host, in the order in which the kernel numbers the interfaces.
func Own() ([]Address, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of this host: %w", err)
	}
	var all []Address
	for _, i := range interfaces {
		nets, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list the addresses of interface %s: %w", i.Name, err)
		}
		for _, n := range nets {
			p, err := netip.ParsePrefix(n.String())
			if err != nil {
				continue // no Internet address
			}
			all = append(all, Address{Interface: i.Name, Prefix: p, Ignored: ignored(i.Name, i.Flags, p.Addr())})
		}
	}
	return all, nil
}

// private are the names of interfaces behind which a host keeps networks of its own, and who makes them.
var private = []struct {
	name *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^(docker|br-|veth[0-9a-f]{6,}$)`), "of containers"}, // Docker, and engines that follow it
	{regexp.MustCompile(`^(cni|podman|lxcbr|lxdbr)`), "of containers"},       // Kubernetes, Podman, LXC
	{regexp.MustCompile(`^(virbr|vmnet|vboxnet)`), "of virtual machines"},    // libvirt, VMware, VirtualBox
}

// ignored returns why an address is not for traffic among hosts, "" if it is.
func ignored(name string, flags net.Flags, a netip.Addr) string {
	switch {
	case flags&net.FlagUp == 0:
		return "down"
	case flags&net.FlagRunning == 0:
		return "no link"
	case flags&net.FlagLoopback != 0 || a.IsLoopback():
		return "loopback"
	case a.IsLinkLocalUnicast():
		return "good on one link only"
	}
	for _, p := range private {
		if p.name.MatchString(name) {
			return p.why
		}
	}
	return ""
}
