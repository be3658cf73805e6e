package spawner

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// kind is the first byte of every frame after the handshake.
type kind uint8

// What a rank sends.
const (
	kindExchange kind = 1 + iota // collective: the contribution
	kindBarrier                  // collective
	kindShare                    // collective: one descriptor comes with it
	kindTaken                    // a kindFDs has been received
	kindAbort                    // status, reason
	kindLeave                    // Close
	kindStalled                  // a wait takes long: stallReport, stallDebug; for how many nanoseconds
	kindPlace                    // where the rank is: the question's number, a core.Place in JSON
	kindRecord                   // what was recorded of the rank
)

// What a kindStalled says of the wait.
const (
	stallReport = 1 << iota // it is to be reported
	stallDebug              // what can never end is to end the job
)

// What the launcher sends.
const (
	kindWelcome kind = 64 + iota // proof
	kindPart                     // one rank's contribution to an Exchange: rank, bytes
	kindPassed                   // the Barrier is complete
	kindFDs                      // index of the first, count; the descriptors come with it
	kindEnd                      // the job has failed: status, reason
	kindLocate                   // the rank is to say where it is: the question's number
)

// String returns the name of the call behind a rank's message.
func (k kind) String() string {
	switch k {
	case kindExchange:
		return "Exchange"
	case kindBarrier:
		return "Barrier"
	case kindShare:
		return "ShareFD"
	case kindAbort:
		return "Abort"
	case kindLeave:
		return "Close"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// appendFrame appends a frame of the kind whose body the function writes.
func appendFrame(b []byte, k kind, body func([]byte) []byte) []byte {
	b, at := wire.BeginFrame(b)
	b = append(b, byte(k))
	if body != nil {
		b = body(b)
	}
	return wire.EndFrame(b, at)
}

func appendPart(b []byte, rank int, blob []byte) []byte {
	return appendFrame(b, kindPart, func(b []byte) []byte {
		return append(wire.AppendUint32(b, uint32(rank)), blob...)
	})
}

func appendFDs(b []byte, first, count int) []byte {
	return appendFrame(b, kindFDs, func(b []byte) []byte {
		return wire.AppendUint32(wire.AppendUint32(b, uint32(first)), uint32(count))
	})
}

// maxReason bounds the text of an Abort; more is cut off.
const maxReason = 64 << 10

// appendVerdict appends a kindAbort or kindEnd.
func appendVerdict(b []byte, k kind, status int, reason string) []byte {
	return appendFrame(b, k, func(b []byte) []byte {
		return wire.AppendText(wire.AppendUint32(b, uint32(status)), reason[:min(len(reason), maxReason)])
	})
}

// exitStatus maps a status to what a process can exit with; what is not 0 does not become 0.
func exitStatus(status int) int {
	if status != 0 && status&0xff == 0 {
		return 1
	}
	return status & 0xff
}

// message is a decoded frame; which fields count depends on the kind.
type message struct {
	kind   kind
	body   []byte // as a local host has received it; else nil
	blob   []byte // Exchange, Part, Welcome, Place, Record: aliases the frame
	rank   int    // Part
	first  int    // FDs
	count  int    // FDs
	status int    // Abort, End: 0 to 255
	reason string // Abort, End
	flags  uint8  // Stalled
	number uint32 // Place, Locate
	waited uint64 // Stalled
}

// decode reads the body of a frame.
func decode(body []byte) (message, error) {
	r := wire.NewReader(body)
	m := message{kind: kind(r.Uint8())}
	switch m.kind {
	case kindExchange, kindWelcome, kindRecord:
		m.blob = r.Rest()
	case kindPlace:
		m.number, m.blob = r.Uint32(), r.Rest()
	case kindLocate:
		m.number = r.Uint32()
	case kindStalled:
		m.flags, m.waited = r.Uint8(), r.Uint64()
	case kindPart:
		m.rank = int(r.Uint32())
		m.blob = r.Rest()
	case kindFDs:
		m.first, m.count = int(r.Uint32()), int(r.Uint32())
	case kindAbort, kindEnd:
		m.status = exitStatus(int(int32(r.Uint32())))
		m.reason = r.Text()
	case kindBarrier, kindShare, kindTaken, kindLeave, kindPassed:
	default:
		if r.Err() == nil {
			return m, fmt.Errorf("message of unknown %v", m.kind)
		}
	}
	return m, r.End()
}
