package tunnel

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// udpPacket returns an IPv4 packet from node 0 to node 1 with options words of IP options.
func udpPacket(options int, payload string) []byte {
	from, to := Address(0).As4(), Address(1).As4()
	p := make([]byte, ipHeader+4*options)
	p[0], p[8], p[ipProtocol] = byte(0x45+options), 64, 17
	copy(p[12:], from[:])
	copy(p[ipDestination:], to[:])
	p = append(p, 1, 2, 3, 4, 0, byte(udpHeader+len(payload)), 0xab, 0xcd)
	p = append(p, payload...)
	binary.BigEndian.PutUint16(p[ipLength:], uint16(len(p)))
	return p
}

func TestSplitAndMend(t *testing.T) {
	for options := range 11 {
		p := udpPacket(options, "the payload")
		header := split(p)
		if want := ipHeader + 4*options + udpHeader; header != want {
			t.Fatalf("%d options: headers of %d bytes, want %d", options, header, want)
		}
		p = p[:len(p)-5]
		mend(p)
		if to, ok := destination(p); !ok || to != Address(1) || split(p) != header {
			t.Errorf("%d options: mended, it goes to %v, %v, and has headers of %d bytes", options, to, ok, split(p))
		}
		if sum := checksum(p[:header-udpHeader]); sum != 0 {
			t.Errorf("%d options: the checksum is off by %#x", options, sum)
		}
	}
}

// The example of RFC 1071, section 3.
func TestChecksum(t *testing.T) {
	if got := ^checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != 0xddf2 {
		t.Errorf("%#x", got)
	}
}

func TestNotToBeAltered(t *testing.T) {
	fragment, tcp, odd := udpPacket(0, "payload"), udpPacket(0, "payload"), udpPacket(0, "payload")
	fragment[ipFragment] = 0x20
	tcp[ipProtocol] = 6
	odd[ipHeader+udpLength+1]++
	for _, p := range [][]byte{fragment, tcp, odd} {
		if split(p) != len(p) {
			t.Errorf("%x has %d bytes of headers", p, split(p))
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, n := range []int{0, 1, 254, 255, 256, MaxNodes - 1} {
		if got, ok := nodeOf(Address(n), n+1); !ok || got != n {
			t.Errorf("node %d has address %v, which is that of %d, %v", n, Address(n), got, ok)
		}
	}
	six := []byte{0x60, 39: 0} // of IPv6, as kernels send by themselves
	if to, ok := destination(six); ok || to.IsValid() {
		t.Errorf("IPv6 goes to %v", to)
	}
	for _, a := range []netip.Addr{{}, netip.IPv6Loopback(), netip.MustParseAddr("10.76.0.1"), netip.MustParseAddr("10.77.0.0"), Address(5)} {
		if n, ok := nodeOf(a, 5); ok {
			t.Errorf("%v is node %d of 5", a, n)
		}
	}
	if Address(0).String() != "10.77.0.1" || Address(255).String() != "10.77.1.0" {
		t.Errorf("%v, %v", Address(0), Address(255))
	}
}

// Whatever a device holds is either refused or split and mended within its bounds.
func FuzzPacket(f *testing.F) {
	f.Add(udpPacket(0, "payload"), uint16(3))
	f.Add(udpPacket(10, ""), uint16(0))
	f.Add([]byte{0x4f, 0, 0, 20, 19: 0}, uint16(1))
	f.Fuzz(func(t *testing.T, packet []byte, cut uint16) {
		if _, ok := destination(packet); !ok {
			return
		}
		header := split(packet)
		if header < ipHeader || header > len(packet) {
			t.Fatalf("%d of %d bytes are headers", header, len(packet))
		}
		if header == len(packet) {
			return // its payload is empty or nobody's: it is not altered
		}
		short := packet[:max(header, len(packet)-int(cut))]
		mend(short)
		if _, ok := destination(short); !ok || split(short) != header {
			t.Fatalf("mended, %x has %d bytes of headers, not %d", short, split(short), header)
		}
	})
}
