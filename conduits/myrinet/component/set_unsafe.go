package component

import (
	"math/bits"
	"strings"
	"unsafe"
)

// Protocol is a set of lightweight protocols. A composition is named by a type: an array whose length is the set, such as
//
//	type Reliable [component.Reliability | component.Credits]byte
//
// No value of the type is ever made. The compiler knows its size, so that what is asked about the set is a constant in the
// code of each composition.
type Protocol uint8

// The protocols, in the order in which every point-cut calls them.
const (
	Active      Protocol = 1 << iota // frames say which protocols act on them, and carry units of other protocols
	Reliability                      // frames are numbered, acknowledged, and sent again after a time
	Credits                          // a frame leaves only if the receiver has room for it
	Multicast                        // one frame for many nodes
	MTU                              // the payload of frames is chosen while the component runs
	Adaptive                         // whether a rendezvous is worth its price is measured
	Rendezvous                       // payload goes to a buffer that the receiver has posted
	Traced                           // calls of protocols are reported: for tests

	// All are the protocols without Traced.
	All = Traced - 1
)

var protocolNames = [...]string{"Active", "Reliability", "Credits", "Multicast", "MTU", "Adaptive", "Rendezvous", "Traced"}

// String returns the names of the protocols.
func (p Protocol) String() string {
	if p == 0 {
		return "baseline"
	}
	var names []string
	for rest := p; rest != 0; rest &= rest - 1 {
		names = append(names, protocolNames[bits.TrailingZeros8(uint8(rest))])
	}
	return strings.Join(names, "+")
}

// setOf returns the set that S names. It is a constant in the code of each composition.
func setOf[S any]() Protocol {
	var s S
	return Protocol(unsafe.Sizeof(s))
}

// has tells whether S names a protocol. A branch on it is not there in the code of a composition in which it is false.
func has[S any](p Protocol) bool {
	var s S
	return Protocol(unsafe.Sizeof(s))&p != 0
}
