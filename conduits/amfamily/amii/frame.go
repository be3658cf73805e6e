package amii

import (
	"encoding/binary"
	"net/netip"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// A packet on the wire has the type, 16 bits of which are am2Type and 16 the node that it comes from, and then a datagram of package
// am2 without the places for tags: the network of a cluster is trusted, and a CRC is at the end of each packet.
const (
	am2Type  uint16 = 0x0a02 // assigned here
	typeSize        = 4
	fixed           = am2.FixedHead - am2.TagSize // of the head, as it is on the wire
)

// descriptorHeader is what a message in a frame has beside its words: endpoint, handler, length, state.
const descriptorHeader = 16

// destOf returns which endpoint a packet is for; it reports false for what is too short.
func destOf(packet []byte) (number uint16, ok bool) {
	if len(packet) < typeSize+fixed {
		return 0, false
	}
	var head [am2.FixedHead]byte
	copy(head[am2.TagSize:], packet[typeSize:])
	_, number = am2.Ends(head[:])
	return number, true
}

// payloadOf returns how many bytes at the end of a datagram cross the host's bus by DMA: the body of a fragment, or what of a
// packet does not fit a descriptor.
func (p *Profile) payloadOf(size, head int) int {
	if size > head {
		return size - head
	}
	return max(0, size-am2.FixedHead-int(p.AM2.Descriptor))
}

// port is that of all addresses: an address is a node.
const port = 1

// addressOf returns the address of a node.
func addressOf(node int) netip.AddrPort {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 10<<24|uint32(node))
	return netip.AddrPortFrom(netip.AddrFrom4(a), port)
}

// nodeOf returns the node at an address.
func nodeOf(addr netip.AddrPort) int {
	a := addr.Addr().As4()
	return int(binary.BigEndian.Uint32(a[:]) & (1<<24 - 1))
}

// appendFrame appends a packet of a node: a datagram's head, and the body of a fragment.
func appendFrame(to []byte, node int, head, body []byte) []byte {
	to = binary.BigEndian.AppendUint16(to, am2Type)
	to = binary.BigEndian.AppendUint16(to, uint16(node))
	to = append(to, head[am2.TagSize:am2.FixedHead]...)
	rest := head[am2.FixedHead:]
	if am2.HasBody(head) {
		rest = rest[am2.TagSize:]
	}
	return append(append(to, rest...), body...)
}

// decodeFrame puts the datagram of a packet together in memory, of which it returns the part that has it. It reports false for
// what is no packet of AM-II, or too long for the memory.
func decodeFrame(memory, packet []byte) (node int, datagram []byte, ok bool) {
	t, typed := fabric.PacketType(packet)
	if !typed || t != am2Type || len(packet) < typeSize+fixed || len(packet)-typeSize+2*am2.TagSize > len(memory) {
		return 0, nil, false
	}
	node = int(binary.BigEndian.Uint16(packet[2:]))
	packet = packet[typeSize:]
	clear(memory[:am2.TagSize])
	n := am2.TagSize + copy(memory[am2.TagSize:], packet[:fixed])
	if am2.HasBody(memory[:n]) {
		clear(memory[n : n+am2.TagSize])
		n += am2.TagSize
	}
	n += copy(memory[n:], packet[fixed:])
	_, ok = am2.HeadLen(memory[:n])
	return node, memory[:n:n], ok
}
