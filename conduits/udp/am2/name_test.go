package am2_test

import (
	"net/netip"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

func TestName(t *testing.T) {
	for _, n := range []am2.Name{
		{Addr: netip.MustParseAddrPort("10.0.0.7:41022"), Number: 3, Incarnation: 1},
		{Addr: netip.MustParseAddrPort("[fe80::1%e#th0]:1"), Number: 1<<16 - 1, Incarnation: 1<<32 - 1},
		{Addr: netip.MustParseAddrPort("[::1]:65535")},
	} {
		if got, err := am2.ParseName(n.String()); err != nil || got != n {
			t.Errorf("%v is read as %v, %v", n, got, err)
		}
	}
	for _, bad := range []string{
		"", "#", "10.0.0.7:41022", "10.0.0.7#3.1", "10.0.0.7:41022#3", "10.0.0.7:41022#3.", "10.0.0.7:41022#.1",
		"10.0.0.7:41022#65536.1", "10.0.0.7:41022#3.4294967296", "10.0.0.7:41022#-1.1", "10.0.0.7:41022#3.1.1",
		"10.0.0.7:41022#3.1 ", "host:41022#3.1",
	} {
		if n, err := am2.ParseName(bad); err == nil {
			t.Errorf("%q is read as %v", bad, n)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("10.0.0.7:41022#3.1")
	f.Add("[fe80::1%eth0]:41022#0.4294967295")
	f.Add("10.0.0.7:41022#007.1")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := am2.ParseName(text)
		if err != nil {
			return
		}
		if again, err := am2.ParseName(n.String()); err != nil || again != n {
			t.Fatalf("%q is %v, which is read as %v, %v", text, n, again, err)
		}
	})
}
