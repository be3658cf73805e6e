package ifaddr

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestIgnored(t *testing.T) {
	const up = net.FlagUp | net.FlagRunning
	for _, c := range []struct {
		name  string
		flags net.Flags
		addr  string
		want  string
	}{
		{"eth0", up, "10.0.0.1", ""},
		{"ens3", up, "2001:db8::1", ""},
		{"veth0", up, "10.0.0.1", ""}, // of a namespace that somebody made by hand
		{"ib0", up, "172.17.0.9", ""},
		{"eth0", net.FlagUp, "10.0.0.1", "no link"},
		{"eth0", 0, "10.0.0.1", "down"},
		{"eth0", up, "fe80::1", "good on one link only"},
		{"eth0", up, "169.254.0.1", "good on one link only"},
		{"lo", up | net.FlagLoopback, "127.0.0.1", "loopback"},
		{"lo", up | net.FlagLoopback, "10.0.0.1", "loopback"},
		{"docker0", up, "172.17.0.1", "of containers"},
		{"docker_gwbridge", up, "172.18.0.1", "of containers"},
		{"br-0123456789ab", up, "172.19.0.1", "of containers"},
		{"veth1a2b3c4", up, "10.0.0.1", "of containers"},
		{"cni-podman0", up, "10.88.0.1", "of containers"},
		{"virbr0", up, "192.168.122.1", "of virtual machines"},
	} {
		if got := ignored(c.name, c.flags, netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.addr, c.name, got, c.want)
		}
	}
}

func TestOwn(t *testing.T) {
	own, err := Own()
	if err != nil {
		t.Fatal(err)
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	if !slices.ContainsFunc(own, func(a Address) bool { return a.Prefix.Addr() == loopback && a.Ignored == "loopback" }) {
		t.Errorf("the loopback is missing: %v", own)
	}
}
