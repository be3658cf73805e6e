package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// What handlers share: checks of what comes from outside.

func join(lo, hi uint32) uint64 { return uint64(hi)<<32 | uint64(lo) }

// own returns n bytes at an offset of the client's part of this rank's segment, or ends the
// job if they lie outside.
func (ep *Endpoint) own(t *core.Token, lo, hi uint32, n int) ([]byte, bool) {
	off := join(lo, hi)
	if !ep.inside(ep.Rank(), off, n) {
		ep.malformed(t, "bytes %d to %d lie outside the segment of %d bytes", off, off+uint64(n), len(ep.Segment()))
		return nil, false
	}
	return ep.Segment()[off : off+uint64(n)], true
}

// malformed ends the job because of a message that no correct peer sends.
func (ep *Endpoint) malformed(t *core.Token, format string, args ...any) {
	ep.core.Fail(fmt.Errorf("extended: rank %d: message %q from rank %d: %s",
		ep.Rank(), t.Entry().Name, t.Src(), fmt.Sprintf(format, args...)))
}

// reply answers with a Short.
func (ep *Endpoint) reply(t *core.Token, h core.HandlerIndex, args ...uint32) {
	if err := t.ReplyShort(h, args...); err != nil {
		ep.malformed(t, "it cannot be answered: %v", err)
	}
}
