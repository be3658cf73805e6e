package udp

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

func TestSettings(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"depth", "0", "whole number, 1 to 4096"},
		{"depth", "many", "whole number, 1 to 4096"},
		{"window", "3", "power of two"},
		{"datagram", "65508", "512 to 65507"},
		{"gso", "maybe", "on or off"},
		{"gather", "0s", "1ns or more"},
		{"unreachable", "10", "such as 10us"},
		{"security", "rot13", "none, auth or encrypt"},
		{"secruity", "none", "unknown; there are address, assemblies,"},
	} {
		_, err := parseParams(map[string]string{c.key: c.value})
		if err == nil || !strings.Contains(err.Error(), c.key) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	p, err := parseParams(map[string]string{
		"depth": "7", "security": "encrypt", "gso": "off", "insecure": "yes", "gather": "5us", "interface": "lo",
	})
	if err != nil || p.am.Depth != 7 || p.security != seal.Encrypt || p.socket.GSO || !p.socket.GRO || !p.insecure ||
		p.am.Gather != 5*time.Microsecond || p.device != "lo" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPermit(t *testing.T) {
	for _, c := range []struct {
		security seal.Mode
		insecure bool
		addr     string
		want     bool
	}{
		{seal.None, false, "127.0.0.1", true},
		{seal.None, false, "::1", true},
		{seal.None, false, "10.0.0.1", false},
		{seal.None, false, "fe80::1", false},
		{seal.None, true, "10.0.0.1", true},
		{seal.Auth, false, "10.0.0.1", true},
		{seal.Encrypt, false, "2001:db8::1", true},
	} {
		p := params{security: c.security, insecure: c.insecure}
		if err := p.permit(netip.MustParseAddr(c.addr)); (err == nil) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
