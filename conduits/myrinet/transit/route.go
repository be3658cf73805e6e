package transit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// Type is the type of a packet in transit: the first two bytes behind the leg that has ended. It is assigned here: Coll had
// Myricom assign one, and does not name it.
const Type uint16 = 0x000b

// HeaderSize is the size in bytes of what is in front of each leg but the first: type, and length of the leg.
const HeaderSize = 4

// maxLeg bounds the bytes of a leg.
const maxLeg = 255

// Append appends a route: the route bytes to the first in-transit host, then for each of these the type, the length of
// the next leg, and its route bytes (Coll, 3.3). The packet's own type comes behind.
func Append(to []byte, legs [][]byte) []byte {
	for i, leg := range legs {
		if i > 0 {
			to = binary.BigEndian.AppendUint16(to, Type)
			to = binary.BigEndian.AppendUint16(to, uint16(len(leg)))
		}
		to = append(to, leg...)
	}
	return to
}

// Check returns an error if legs are no route: there must be one at least, none empty but a single one, and every byte with its
// top bit set.
func Check(legs [][]byte) error {
	if len(legs) == 0 {
		return errors.New("transit: a route of no legs")
	}
	for _, leg := range legs {
		if len(leg) > maxLeg || len(leg) == 0 && len(legs) > 1 {
			return fmt.Errorf("transit: a leg of %d route bytes; there can be 1 to %d", len(leg), maxLeg)
		}
		for _, b := range leg {
			if !fabric.IsRoute(b) {
				return fmt.Errorf("transit: route byte %#02x has not its top bit set", b)
			}
		}
	}
	return nil
}

// Decode reads what is in front of a leg, and returns how many bytes the leg has. It looks at HeaderSize bytes and no more: a
// program is told of a packet when these are there, and the leg itself is not yet.
func Decode(b []byte) (leg int, err error) {
	if t, ok := fabric.PacketType(b); !ok || t != Type {
		return 0, errors.New("transit: no packet in transit")
	}
	leg = int(binary.BigEndian.Uint16(b[2:]))
	if leg < 1 || leg > maxLeg {
		return 0, fmt.Errorf("transit: a packet in transit with a leg of %d bytes", leg)
	}
	return leg, nil
}
