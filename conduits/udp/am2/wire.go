package am2

import (
	"net/netip"
	"time"
)

// Wire takes what a bundle sends. None of its methods may call the bundle or wait.
type Wire interface {
	// Send sends head and body as one datagram, at the latest when Flush is called. It may
	// write the tags (HeadTag, BodyTag), and nothing else. Head and body stay as they are until
	// Flush returns; body may be nil. Vain says how often it was sent before in vain: something
	// that was sent no earlier got through, but nothing as long. What cannot be sent may be
	// dropped.
	Send(to netip.AddrPort, head, body []byte, vain int)

	// Flush sends what Send has collected.
	Flush()

	// MTU returns how many bytes a datagram to the address may have: at least MinDatagram.
	MTU(to netip.AddrPort) int

	// Now returns the time, on the clock of the times that the bundle is given.
	Now() time.Duration
}
