package hw

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Link is one cable in one direction. It carries one packet after the other, in the order in which it
// is given them. The zero value is idle.
type Link struct{ vtime.Resource }

// Carry gives the link a packet, at a time as for Resource.Use, that takes the link up for length. It
// returns when the packet's head and its tail have left the link: a switch that cuts through goes on
// with the head. Propagation is the caller's to add.
func (l *Link) Carry(at, length vtime.Time) (head, tail vtime.Time) {
	tail = l.Use(at, length)
	return tail - length, tail
}
