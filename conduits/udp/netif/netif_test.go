package netif

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
)

// parseOffer reads an offer: the namespace, "!" if the user has chosen, then PREFIX@INTERFACE, with "-" in front if it is
// ignored.
func parseOffer(t testing.TB, text string) *Offer {
	t.Helper()
	o := new(Offer)
	for i, w := range strings.Fields(text) {
		if i == 0 {
			number, chosen := strings.CutSuffix(w, "!")
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			o.Namespace, o.Chosen = n, chosen
			continue
		}
		prefix, device, _ := strings.Cut(w, "@")
		prefix, not := strings.CutPrefix(prefix, "-")
		a := ifaddr.Address{Interface: device, Prefix: netip.MustParsePrefix(prefix)}
		if not {
			a.Ignored = "reason"
		}
		o.Addresses = append(o.Addresses, a)
	}
	return o
}

// routes are by destination from which address a host sends there.
type routes map[string]string

func (r routes) ask(to netip.Addr) (netip.Addr, bool) {
	from, ok := r[to.String()]
	if !ok {
		return netip.Addr{}, false
	}
	return netip.MustParseAddr(from), true
}

func TestChoose(t *testing.T) {
	const docker, virbr = "-172.17.0.1/16@docker0", "-192.168.122.1/24@virbr0"
	for _, c := range []struct {
		name   string
		offers []string
		routed []routes // by rank
		want   string   // the addresses by rank, or for a rank part of an error behind "!"; joined by " & "
	}{
		{name: "one namespace", offers: []string{"1 10.0.0.1/24@eth0", "1 10.0.0.1/24@eth0"}, want: "127.0.0.1 & 127.0.0.1"},
		{name: "one network", offers: []string{"1 " + docker + " 10.0.0.1/24@eth0", "2 " + docker + " 10.0.0.2/24@ens3"}, want: "10.0.0.1 & 10.0.0.2"},
		{name: "ignored", offers: []string{"1 -10.0.0.1/24@br-1", "2 10.0.0.2/24@eth0"}, want: "!rank 0 has 10.0.0.1/24 (br-1, ignored: reason); rank 1 has 10.0.0.2/24 (eth0) & !fit each other"},
		{name: "same address", offers: []string{"1 10.0.2.15/24@eth0 192.168.7.1/24@eth1", "2 10.0.2.15/24@eth0 192.168.7.2/24@eth1"}, want: "192.168.7.1 & 192.168.7.2"},
		{name: "four ranks", offers: []string{"1 10.0.0.1/24@a 10.1.0.1/24@b", "1 10.0.0.1/24@a 10.1.0.1/24@b", "2 10.1.0.2/24@a", "2 10.1.0.2/24@a"},
			want: "10.1.0.1 & 10.1.0.1 & 10.1.0.2 & 10.1.0.2"},
		{name: "order of rank 0", offers: []string{"1 10.1.0.1/24@b 10.0.0.1/24@a", "2 10.0.0.2/24@a 10.1.0.2/24@b"}, want: "10.1.0.1 & 10.1.0.2"},
		{name: "IPv4 first", offers: []string{"1 2001:db8::1/64@a 10.0.0.1/24@a", "2 2001:db8::2/64@a 10.0.0.2/24@a"}, want: "10.0.0.1 & 10.0.0.2"},
		{name: "IPv6", offers: []string{"1 2001:db8::1/64@a 10.0.0.1/24@a", "2 2001:db8::2/64@a 10.9.0.2/24@a"}, want: "2001:db8::1 & 2001:db8::2"},
		{name: "two in the network", offers: []string{"1 10.0.0.1/24@a 10.0.0.3/24@b", "2 10.0.0.2/24@a"},
			routed: []routes{{"10.0.0.2": "10.0.0.3"}, nil}, want: "10.0.0.3 & 10.0.0.2"},
		{name: "routed elsewhere", offers: []string{"1 10.0.0.1/24@a 172.16.0.1/16@b", "2 10.0.0.2/24@a"},
			routed: []routes{{"10.0.0.2": "172.16.0.1"}, nil}, want: "10.0.0.1 & 10.0.0.2"},
		{name: "routers", offers: []string{"1 192.168.0.1/24@a 10.1.0.1/24@b", "2 10.2.0.1/24@a", "3 10.3.0.1/32@a"},
			routed: []routes{{"10.2.0.1": "10.1.0.1", "10.3.0.1": "10.1.0.1"}, {"10.1.0.1": "10.2.0.1", "10.3.0.1": "10.2.0.1"}, {"10.1.0.1": "10.3.0.1", "192.168.0.1": "10.3.0.1", "10.2.0.1": "10.3.0.1"}},
			want:   "10.1.0.1 & 10.2.0.1 & 10.3.0.1"},
		{name: "no route", offers: []string{"1 10.1.0.1/24@a", "2 10.2.0.1/24@a"}, routed: []routes{{}, {"10.1.0.1": "10.2.0.1"}}, want: "!ranks 0 and 1 fit & 10.2.0.1"},
		{name: "a route from an ignored address", offers: []string{"1 10.1.0.1/24@a " + virbr, "2 10.2.0.1/24@a"}, routed: []routes{{"10.2.0.1": "192.168.122.1"}, {"10.1.0.1": "10.2.0.1"}}, want: "!ranks 0 and 1 fit & 10.2.0.1"},
		{name: "nothing", offers: []string{"1", "2 10.2.0.1/24@a"}, want: "!rank 0 has none & !rank 0 has none"},
		{name: "families", offers: []string{"1 10.1.0.1/24@a", "2 2001:db8::2/64@a"}, want: "!ranks 1 and 0 fit & !ranks 1 and 0 fit"},
		{name: "chosen", offers: []string{"1! 10.9.9.9/32@a", "2 10.2.0.1/24@a"}, routed: []routes{nil, {"10.9.9.9": "10.2.0.1"}}, want: "10.9.9.9 & 10.2.0.1"},
		{name: "chosen in the network", offers: []string{"1! 10.0.0.9/24@a", "2 10.2.0.1/24@a 10.0.0.1/24@b"}, want: "10.0.0.9 & 10.0.0.1"},
		{name: "chosen loopback", offers: []string{"1! 127.0.0.1/8@lo", "2! 127.0.0.1/8@lo"}, want: "!rank 1 is on another host & !rank 0 is on another host"},
		{name: "chosen loopback in one namespace", offers: []string{"1! 127.0.0.5/8@lo", "1"}, want: "127.0.0.5 & 127.0.0.1"},
		{name: "unknown namespaces", offers: []string{"0 10.0.0.1/24@a", "0 10.0.0.2/24@a"}, want: "10.0.0.1 & 10.0.0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var coded [][]byte
			for _, text := range c.offers {
				coded = append(coded, parseOffer(t, text).Encode())
			}
			offers, err := Decode(coded)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			for self := range offers {
				var one string
				one, want, _ = strings.Cut(want, " & ")
				r := routes{}
				if self < len(c.routed) {
					r = c.routed[self]
				}
				got, err := Choose(self, offers, r.ask)
				part, bad := strings.CutPrefix(one, "!")
				if bad && (err == nil || !strings.Contains(err.Error(), part)) || !bad && (err != nil || got.String() != one) {
					t.Errorf("rank %d: %v, %v; want %s", self, got, err, one)
				}
			}
		})
	}
}

func TestNamespace(t *testing.T) {
	if first, again := Namespace(), Namespace(); first != again {
		t.Errorf("the namespace changes from %d to %d", first, again)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(parseOffer(f, "7 10.0.0.1/24@eth0 -fe80::1/64@eth0").Encode())
	f.Add(parseOffer(f, "7! ::1/128@lo").Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		offers, err := Decode([][]byte{b, b})
		if err != nil {
			return
		}
		if o := offers[0]; len(o.Addresses) <= mostAddresses {
			again, err := decode(o.Encode())
			if err != nil || again.Namespace != o.Namespace || again.Chosen != o.Chosen || !slices.Equal(again.Addresses, o.Addresses) {
				t.Errorf("%v, and again %v, %v", o, again, err)
			}
		}
		Choose(1, offers, routes{}.ask)
	})
}
