package am2

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Tag guards an endpoint: only messages that carry the same tag reach it (AM-II). A job's
// endpoints share one.
type Tag uint64

// The tags with a meaning of their own.
const (
	NeverMatch Tag = 0       // an endpoint that has it receives nothing
	Wildcard   Tag = ^Tag(0) // an endpoint that has it receives messages with every tag but NeverMatch
)

// matches reports whether a message with tag t reaches an endpoint with tag own. A message with
// Wildcard reaches no others than Wildcard does: else tags would keep nobody out.
func (own Tag) matches(t Tag) bool {
	return own != NeverMatch && t != NeverMatch && (own == t || own == Wildcard)
}

// Name is the globally unique name of an endpoint, as a name server gives it out: where its
// process receives, its number there, and which of those that have had the number it is. A
// pair of number and incarnation must never be used again by a later endpoint at the same
// address.
type Name struct {
	Addr        netip.AddrPort
	Number      uint16
	Incarnation uint32
}

// String returns the name as "10.0.0.7:41022#3.1": address, number and incarnation.
func (n Name) String() string { return fmt.Sprintf("%v#%d.%d", n.Addr, n.Number, n.Incarnation) }

// ParseName reads what String has written.
func ParseName(text string) (Name, error) {
	fail := func() (Name, error) {
		return Name{}, fmt.Errorf("am2: name %q of an endpoint: want address, number and incarnation, as in 10.0.0.7:41022#3.1", text)
	}
	at := strings.LastIndexByte(text, '#') // the zone of an address may have some, too
	if at < 0 {
		return fail()
	}
	first, second, _ := strings.Cut(text[at+1:], ".")
	addr, err := netip.ParseAddrPort(text[:at])
	if err != nil {
		return fail()
	}
	number, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return fail()
	}
	incarnation, err := strconv.ParseUint(second, 10, 32)
	if err != nil {
		return fail()
	}
	return Name{Addr: addr, Number: uint16(number), Incarnation: uint32(incarnation)}, nil
}
