package extended

import "github.com/aqueduct-go/aqueduct/core"

// natives are the bytes of the largest operations that the network carries out itself, without
// the target's handlers; 0: it has none.
type natives struct{ put, get int }

// counter returns what counts the parts of an operation that the network carries out: where
// they are waited for, so that of a member its group, since members end by messages alone.
func (op *operation) counter() *core.Completion {
	if op.group != nil {
		op = op.group
	}
	return &op.native
}

// putNative has the network put src, or as many bytes from its beginning as it takes, and
// returns their number. For LCNow it waits until they have been read.
func (c *Context) putNative(op *operation, dst core.Rank, off uint64, src []byte, lc LocalCompletion) (n int, err error) {
	var local *core.Completion
	switch lc {
	case LCNow:
		local = &c.lent
	case LCLeaf:
		local = &op.local
	}
	for n < len(src) {
		part := src[n:min(len(src), n+c.ep.native.put)]
		r, err := c.PutNative(dst, off+uint64(n), part, local, op.counter())
		if err != nil {
			return n, err
		}
		if r == core.Declined {
			break
		}
		n += len(part)
	}
	if c.lent.Pending() > 0 {
		err = c.WaitLocal(&c.lent)
	}
	return n, err
}

// getNative has the network get dst, or as many bytes of its beginning as it takes, and
// returns their number.
func (c *Context) getNative(op *operation, dst []byte, src core.Rank, off uint64) (n int, err error) {
	for n < len(dst) {
		part := dst[n:min(len(dst), n+c.ep.native.get)]
		r, err := c.GetNative(part, src, off+uint64(n), op.counter())
		if err != nil {
			return n, err
		}
		if r == core.Declined {
			break
		}
		n += len(part)
	}
	return n, nil
}
