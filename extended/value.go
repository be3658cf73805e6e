package extended

import (
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
)

// maxValue is the size of the largest value: that of a register.
const maxValue = 8

// PutValue writes the low n bytes of v, 1 to 8, in the machine's byte order to off of dst's
// segment and returns when everybody sees them there. A value of 1, 2, 4 or 8 bytes at a
// multiple of its size appears at once, not byte by byte, where the segment is reached
// directly. It may poll. Not allowed in a handler.
func (c *Context) PutValue(dst core.Rank, off, v uint64, n int) error {
	_, err := c.putValue(blocking, dst, off, v, n)
	return err
}

// PutValueNB initiates a PutValue and returns its event.
func (c *Context) PutValueNB(dst core.Rank, off, v uint64, n int) (Event, error) {
	return c.putValue(explicit, dst, off, v, n)
}

// PutValueNBI initiates an implicit PutValue; see PutNBI.
func (c *Context) PutValueNBI(dst core.Rank, off, v uint64, n int) error {
	_, err := c.putValue(implicit, dst, off, v, n)
	return err
}

// putValue is all forms of value puts, as put is of puts.
func (c *Context) putValue(f form, dst core.Rank, off, v uint64, n int) (Event, error) {
	if p := c.ep.valueAt(dst, off, n); p != nil {
		storeValue(p, v, n)
		return 0, nil
	}
	return c.putValueChecked(f, dst, off, v, n)
}

// valuePuts names the forms.
var valuePuts = [...]string{blocking: "PutValue", explicit: "PutValueNB", implicit: "PutValueNBI"}

// putValueChecked is putValue where that needs a check or messages.
func (c *Context) putValueChecked(f form, dst core.Rank, off, v uint64, n int) (Event, error) {
	call := valuePuts[f]
	if err := c.admitValue(call, dst, off, n); err != nil {
		return 0, err
	}
	if to := place(c.ep.reach, dst, off, n); to != nil {
		c.ep.core.NoteInPlace(record.PutInPlace, dst, n)
		storeValue(to, v, n)
		return 0, nil
	}
	op, err := c.start(call, f, putCategory, dst, nil)
	if err != nil {
		return 0, err
	}
	return c.end(op, f, c.sendValue(op, dst, off, v, n))
}

// GetValue returns the n bytes, 1 to 8, at off of src's segment as a number in the
// machine's byte order, whose other bytes are 0. It may poll. Not allowed in a handler.
func (c *Context) GetValue(src core.Rank, off uint64, n int) (uint64, error) {
	if p := c.ep.valueAt(src, off, n); p != nil {
		return loadValue(p, n), nil
	}
	return c.getValue(src, off, n)
}

// getValue is GetValue where that needs a check or messages.
func (c *Context) getValue(src core.Rank, off uint64, n int) (uint64, error) {
	const call = "GetValue"
	if v, there, err := c.getValueChecked(call, src, off, n); there || err != nil {
		return v, err
	}
	w := c.fetched[:n]
	if _, err := c.getChecked(call, blocking, w, src, off); err != nil {
		return 0, err
	}
	return decodeValue(w), nil
}

// getValueChecked is the check of GetValue and GetValueNB, which call names, and returns the value if the
// segment is reached; else it takes messages.
func (c *Context) getValueChecked(call string, src core.Rank, off uint64, n int) (v uint64, there bool, err error) {
	if err := c.admitValue(call, src, off, n); err != nil {
		return 0, false, err
	}
	if from := place(c.ep.reach, src, off, n); from != nil {
		c.ep.core.NoteInPlace(record.GetInPlace, src, n)
		return loadValue(from, n), true, nil
	}
	return 0, false, nil
}

// ValueEvent stands for a value get that has been initiated. It goes to WaitValue once;
// its copies are void then.
type ValueEvent struct {
	ev    Event
	value uint64          // if ev is 0
	word  *[maxValue]byte // else where it comes
	n     int
}

// words are the destinations of value gets with events.
var words = sync.Pool{New: func() any { return new([maxValue]byte) }}

// GetValueNB initiates a GetValue, to be ended by WaitValue.
func (c *Context) GetValueNB(src core.Rank, off uint64, n int) (ValueEvent, error) {
	if p := c.ep.valueAt(src, off, n); p != nil {
		return ValueEvent{value: loadValue(p, n)}, nil
	}
	const call = "GetValueNB"
	if v, there, err := c.getValueChecked(call, src, off, n); there || err != nil {
		return ValueEvent{value: v}, err
	}
	w := words.Get().(*[maxValue]byte)
	ev, err := c.getChecked(call, explicit, w[:n], src, off)
	if err != nil {
		return ValueEvent{}, err // the value may still come: the word is not used again
	}
	if ev != 0 {
		return ValueEvent{ev: ev, word: w, n: n}, nil
	}
	v := decodeValue(w[:n]) // it came during the call
	words.Put(w)
	return ValueEvent{value: v}, nil
}

// WaitValue polls until the value is there and returns it. Not allowed in a handler.
func (c *Context) WaitValue(e ValueEvent) (uint64, error) {
	if err := c.Check("WaitValue"); err != nil {
		return 0, err
	}
	if e.ev == 0 {
		return e.value, nil
	}
	if err := c.Wait(e.ev); err != nil {
		return 0, err
	}
	v := decodeValue(e.word[:e.n])
	words.Put(e.word)
	return v, nil
}

// sendValue sends a value as a small put.
func (c *Context) sendValue(op *operation, dst core.Rank, off, v uint64, n int) error {
	if c.ep.native.put > 0 {
		w := c.sent[:n]
		encodeValue(w, v)
		if done, err := c.putNative(op, dst, off, w, LCNow); done == n || err != nil {
			return err
		}
	}
	b, err := c.Prepare(dst, core.Offer{Kind: core.Medium, Least: n, Most: n, NArgs: 3})
	if err != nil {
		return err
	}
	encodeValue(b, v)
	op.pending.Add(1)
	return c.Commit(handlerPut, n, op.number, uint32(off), uint32(off>>32))
}

// admitValue is admit for a value.
func (c *Context) admitValue(call string, rank core.Rank, off uint64, n int) error {
	if uint(n-1) >= maxValue {
		return c.ep.misuse(call, "a value of %d bytes; it has 1 to %d", n, maxValue)
	}
	return c.admit(call, rank, off, n)
}
