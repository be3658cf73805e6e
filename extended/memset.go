package extended

import (
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
)

// memsetPiece is how much one message sets, so that a handler does not hold up its rank
// for long.
const memsetPiece = 1 << 20

// Memset sets n bytes at off of dst's segment to value and returns when everybody sees them
// there. It may poll. Not allowed in a handler.
func (c *Context) Memset(dst core.Rank, off uint64, value byte, n int) error {
	_, err := c.memset("Memset", blocking, dst, off, value, n)
	return err
}

// MemsetNB initiates a Memset and returns its event.
func (c *Context) MemsetNB(dst core.Rank, off uint64, value byte, n int) (Event, error) {
	return c.memset("MemsetNB", explicit, dst, off, value, n)
}

// MemsetNBI initiates an implicit Memset, which counts as a put; see PutNBI.
func (c *Context) MemsetNBI(dst core.Rank, off uint64, value byte, n int) error {
	_, err := c.memset("MemsetNBI", implicit, dst, off, value, n)
	return err
}

// memset is all forms of memsets.
func (c *Context) memset(call string, f form, dst core.Rank, off uint64, value byte, n int) (Event, error) {
	if n < 0 {
		return 0, c.ep.misuse(call, "%d bytes", n)
	}
	if err := c.admit(call, dst, off, n); err != nil {
		return 0, err
	}
	if mem := c.ep.reach.of(dst); mem != nil {
		c.ep.core.NoteInPlace(record.PutInPlace, dst, n)
		setBytes(mem[off:off+uint64(n)], value)
		return 0, nil
	}
	op, err := c.start(call, f, putCategory, dst, nil)
	if err != nil {
		return 0, err
	}
	return c.end(op, f, c.sendMemset(op, dst, off, value, n))
}

// setBytes sets all of b to value.
func setBytes(b []byte, value byte) {
	if value == 0 || len(b) == 0 {
		clear(b)
		return
	}
	const block = 4096 // stays in the first-level cache, where it is copied from
	b[0] = value
	for n := 1; n < len(b); {
		n += copy(b[n:], b[:min(n, block)])
	}
}

// sendMemset asks for n bytes to be set, in as many parts as it takes; op counts the answers.
// Few bytes the network may put.
func (c *Context) sendMemset(op *operation, dst core.Rank, off uint64, value byte, n int) error {
	if c.ep.native.put > 0 && n <= patternSize {
		if done, err := c.putNative(op, dst, off, pattern(value)[:n], LCDefer); done == n || err != nil {
			return err
		}
	}
	for n > 0 {
		k := min(n, memsetPiece)
		op.pending.Add(1)
		if err := c.RequestShort(dst, handlerMemset, op.number, uint32(off), uint32(off>>32), uint32(k), uint32(value)); err != nil {
			return err
		}
		n, off = n-k, off+uint64(k)
	}
	return nil
}

// patternSize is up to how many bytes are set by a native put: more of them than a message
// would cost on the way.
const patternSize = 4096

// patterns are, by value, what such puts copy. They are made when first needed, never
// change, and serve every rank of the process.
var patterns [256]atomic.Pointer[[patternSize]byte]

// pattern returns patternSize bytes of a value, to be read only.
func pattern(value byte) []byte {
	p := patterns[value].Load()
	if p == nil {
		p = new([patternSize]byte)
		setBytes(p[:], value)
		patterns[value].Store(p) // another goroutine's is as good
	}
	return p[:]
}

// onMemset handles [number, off, off, n, value].
func (ep *Endpoint) onMemset(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 5 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if args[3] > memsetPiece {
		ep.malformed(t, "%d bytes to set; at most %d", args[3], memsetPiece)
		return
	}
	if to, ok := ep.own(t, args[1], args[2], int(args[3])); ok {
		setBytes(to, byte(args[4]))
		ep.reply(t, handlerDone, args[0])
	}
}
