package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

func TestCards(t *testing.T) {
	for _, addr := range []string{"10.1.2.3:4", "[2001:db8::1]:65535", "[::ffff:1.2.3.4]:5"} {
		want := card{netip.MustParseAddrPort(addr), 1 << 31, seal.Encrypt, 1 << 20, 1 << 63, seal.NewKey()}
		if got, err := parseCard(want.encode()); err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
}

// The name, to which keys are bound, tells sockets apart and does not show the key.
func TestNames(t *testing.T) {
	base := card{addr: netip.MustParseAddrPort("10.1.2.3:4"), key: seal.NewKey()}
	same := base
	same.key, same.buffer = seal.NewKey(), 5
	if same.name() != base.name() {
		t.Error("key or buffer are part of the name")
	}
	for _, change := range []func(*card){
		func(c *card) { c.addr = netip.MustParseAddrPort("10.1.2.4:4") },
		func(c *card) { c.addr = netip.MustParseAddrPort("10.1.2.3:5") },
		func(c *card) { c.incarnation++ },
	} {
		other := base
		change(&other)
		if other.name() == base.name() {
			t.Errorf("%v and %v have the same name", other, base)
		}
	}
	if tag := base.tag(); tag == am2.NeverMatch || tag == am2.Wildcard || tag == same.tag() {
		t.Errorf("tags %x and %x", tag, same.tag())
	}
}

func FuzzCard(f *testing.F) {
	good := card{addr: netip.MustParseAddrPort("10.1.2.3:4"), key: seal.Key{1}}
	f.Add(good.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCard(b)
		if err != nil {
			return
		}
		again := c.encode()
		if c2, err := parseCard(again); err != nil || c2 != c || !bytes.Equal(again[atMode:], b[atMode:]) {
			t.Errorf("%v becomes %v, %v", c, c2, err)
		}
	})
}
