package udp

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// counts are of datagrams that were dropped on arrival.
type counts struct {
	strangers    uint64 // from an address that is nobody's in this job
	malformed    uint64 // not what a rank sends
	misaddressed uint64 // of or for another incarnation: garbage, or of an earlier job
	forged       uint64 // not authentic
	replayed     uint64 // received before, or too old to tell: networks that repeat make some, too
}

// unsealed counts a datagram that package seal has refused.
func (n *counts) unsealed(err error) {
	switch {
	case errors.Is(err, seal.ErrShort):
		n.malformed++
	case errors.Is(err, seal.ErrReplayed):
		n.replayed++
	default:
		n.forged++
	}
}

// String lists the counts.
func (n counts) String() string {
	return fmt.Sprintf("%d of strangers, %d malformed, %d misaddressed, %d not authentic, %d repeated", n.strangers, n.malformed, n.misaddressed, n.forged, n.replayed)
}
