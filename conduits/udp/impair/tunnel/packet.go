package tunnel

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Sizes of headers and places in them (RFC 791, RFC 768).
const (
	ipHeader  = 20 // without options
	udpHeader = 8

	ipLength      = 2
	ipFragment    = 6
	ipProtocol    = 9
	ipChecksum    = 10
	ipDestination = 16

	udpLength   = 4
	udpChecksum = 6
)

// destination returns where a packet is to go; no address and false if it is not whole IPv4.
func destination(packet []byte) (netip.Addr, bool) {
	if len(packet) < ipHeader || packet[0]>>4 != 4 || int(binary.BigEndian.Uint16(packet[ipLength:])) != len(packet) {
		return netip.Addr{}, false
	}
	if h := headerLength(packet); h < ipHeader || h > len(packet) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(packet[ipDestination:])), true
}

// headerLength returns how long an IPv4 packet says that its IP header is.
func headerLength(packet []byte) int { return int(packet[0]&15) * 4 }

// split returns how many bytes at the start of an IPv4 packet are headers: those of IP and
// UDP, or the whole packet if it is not UDP or a fragment.
func split(packet []byte) int {
	const fragment = 0x3fff // more of them follow, or the place of this one
	udp := headerLength(packet)
	switch {
	case packet[ipProtocol] != unix.IPPROTO_UDP,
		binary.BigEndian.Uint16(packet[ipFragment:])&fragment != 0,
		len(packet) < udp+udpHeader,
		int(binary.BigEndian.Uint16(packet[udp+udpLength:])) != len(packet)-udp:
		return len(packet)
	}
	return udp + udpHeader
}

// mend makes a UDP packet valid whose payload was altered after split. It gets no UDP
// checksum, as IPv4 permits.
func mend(packet []byte) {
	udp := headerLength(packet)
	binary.BigEndian.PutUint16(packet[ipLength:], uint16(len(packet)))
	binary.BigEndian.PutUint16(packet[udp+udpLength:], uint16(len(packet)-udp))
	binary.BigEndian.PutUint16(packet[udp+udpChecksum:], 0)
	binary.BigEndian.PutUint16(packet[ipChecksum:], 0)
	binary.BigEndian.PutUint16(packet[ipChecksum:], checksum(packet[:udp]))
}

// checksum returns the Internet checksum of an even number of bytes (RFC 1071).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
