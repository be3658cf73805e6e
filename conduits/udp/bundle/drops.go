package bundle

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// Drops counts the datagrams that a bundle has dropped on arrival.
type Drops struct {
	// Misaddressed is of those that are not for this bundle: garbage, or for an earlier one at the
	// same address.
	Misaddressed uint64
	// Malformed is of those that no bundle sends.
	Malformed uint64
	// Forged is of those that are not authentic: the sender has another Key, Security, or
	// Config where they must agree; or its address was translated on the way; or it lies.
	Forged uint64
	// Repeated is of those that were received before or are too old to tell; networks that repeat
	// make some.
	Repeated uint64
	// Untried is of those of unknown senders beyond what a poll tries; see README.md. Honest
	// senders send again.
	Untried uint64
	// Full is of those of unknown senders when the bundle knows Config.Peers processes, and of
	// datagrams that were not sent, since their receiver would have been one more at an address.
	Full uint64
}

// Drops returns which datagrams were dropped so far.
func (b *Bundle) Drops() Drops { return b.drops }

// String lists the counts.
func (d Drops) String() string {
	return fmt.Sprintf("%d misaddressed, %d malformed, %d not authentic, %d repeated, %d of strangers not tried, %d for want of room for peers",
		d.Misaddressed, d.Malformed, d.Forged, d.Repeated, d.Untried, d.Full)
}

// unsealed counts a datagram that package seal has refused.
func (d *Drops) unsealed(err error) {
	switch {
	case errors.Is(err, seal.ErrShort):
		d.Malformed++
	case errors.Is(err, seal.ErrReplayed):
		d.Repeated++
	default:
		d.Forged++
	}
}
