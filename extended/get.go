package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
)

// Get copies len(dst) bytes at off of src's segment to dst and returns when they are
// there. It may poll. src is a rank of the job, not of a team, and may be the caller. Not
// allowed in a handler.
func (c *Context) Get(dst []byte, src core.Rank, off uint64) error {
	_, err := c.get(blocking, dst, src, off)
	return err
}

// GetNB initiates a get and returns its event; dst is undefined until that is
// synchronised. Not allowed in a handler.
func (c *Context) GetNB(dst []byte, src core.Rank, off uint64) (Event, error) {
	return c.get(explicit, dst, src, off)
}

// GetNBI initiates an implicit get; see PutNBI. Not allowed in a handler.
func (c *Context) GetNBI(dst []byte, src core.Rank, off uint64) error {
	_, err := c.get(implicit, dst, src, off)
	return err
}

// get is all forms of gets, as put is of puts.
func (c *Context) get(f form, dst []byte, src core.Rank, off uint64) (Event, error) {
	if from := place(c.ep.direct, src, off, len(dst)); from != nil {
		fetch(dst, from)
		return 0, nil
	}
	return c.getChecked(gets[f], f, dst, src, off)
}

// gets names the forms.
var gets = [...]string{blocking: "Get", explicit: "GetNB", implicit: "GetNBI"}

// getChecked is get where that needs a check or messages; call names it.
func (c *Context) getChecked(call string, f form, dst []byte, src core.Rank, off uint64) (Event, error) {
	if err := c.admit(call, src, off, len(dst)); err != nil {
		return 0, err
	}
	if from := place(c.ep.reach, src, off, len(dst)); from != nil {
		c.ep.core.NoteInPlace(record.GetInPlace, src, len(dst))
		fetch(dst, from)
		return 0, nil
	}
	op, err := c.start(call, f, getCategory, src, dst)
	if err != nil {
		return 0, err
	}
	return c.end(op, f, c.sendGet(op, dst, src, off))
}

// sendGet asks for dst, which is op's, in as many parts as it takes; op counts them, or the
// answers. What goes to this rank's own segment comes in Longs.
func (c *Context) sendGet(op *operation, dst []byte, src core.Rank, off uint64) error {
	begun := 0
	if c.ep.native.get > 0 {
		var err error
		if begun, err = c.getNative(op, dst, src, off); begun == len(dst) || err != nil {
			return err
		}
	}
	size, long, at := c.ep.piece.get, uint32(0), uint64(begun)
	if len(dst)-begun > smallPut {
		if o, ok := c.ep.offsetOf(dst); ok {
			size, long, at = c.ep.piece.longReply, 1, o+uint64(begun)
		}
	}
	off += uint64(begun)
	for left := len(dst) - begun; left > 0; {
		n := min(left, size)
		op.pending.Add(1)
		if err := c.RequestShort(src, handlerGet, op.number, uint32(off), uint32(off>>32),
			uint32(n), uint32(at), uint32(at>>32), long); err != nil {
			return err
		}
		left, off, at = left-n, off+uint64(n), at+uint64(n)
	}
	return nil
}

// onGet handles [number, off, off, n, at, at, long]: n bytes from off are wanted, at
// position at of the operation's destination or, if long, of the requester's segment.
func (ep *Endpoint) onGet(t *core.Token, args []uint32, _ []byte) {
	if len(args) != 7 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	from, ok := ep.own(t, args[1], args[2], int(args[3]))
	if !ok {
		return
	}
	var err error
	if args[6] != 0 {
		err = t.ReplyLong(handlerGotLong, from, join(args[4], args[5]), args[0])
	} else {
		err = t.ReplyMedium(handlerGot, from, args[0], args[4], args[5])
	}
	if err != nil {
		ep.malformed(t, "it cannot be answered: %v", err)
	}
}

// onGot handles a Medium [number, at, at]: a part of a get has come.
func (ep *Endpoint) onGot(t *core.Token, args []uint32, data []byte) {
	if len(args) != 3 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	op := ep.answered(t, args[0])
	if op == nil {
		return
	}
	at := join(args[1], args[2])
	if at > uint64(len(op.dst)) || uint64(len(data)) > uint64(len(op.dst))-at {
		ep.malformed(t, "%d bytes at %d of a get of %d", len(data), at, len(op.dst))
		return
	}
	copy(op.dst[at:], data)
	ep.finish(op, 1)
}

// onGotLong handles a Long [number]: a part of a get lies in the segment.
func (ep *Endpoint) onGotLong(t *core.Token, args []uint32, _ []byte) {
	ep.onDone(t, args, nil)
}
