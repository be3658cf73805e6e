package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/vis"
)

// Extent is Len bytes at Off of a segment or a buffer.
type Extent = vis.Extent

// PutVector copies the extents from of src, in their order, to the extents to of dst's
// segment. The lists may be cut differently, and extents may be empty, but the totals must
// be equal.
//
// Rules of all vector, indexed and strided transfers: The remote side is named by offsets
// in the rank's segment, the local side by offsets in the buffer. Everything is checked
// before anything moves. What names the pieces is read before the call returns; the buffer
// follows the rules of puts and gets. Pieces move in no order, so destinations that overlap
// end up undefined, and a strided transfer of more bytes than the destination's side has is
// an error; sources may overlap. A call that moves no bytes succeeds, whatever the
// rank and the offsets. All may poll, and none is allowed in a handler.
func (c *Context) PutVector(dst core.Rank, to []Extent, src []byte, from []Extent) error {
	t := c.putting("PutVector", dst, src, LCDefer)
	return t.blocking(vis.Vector(to, from))
}

// PutVectorNB initiates a PutVector and returns its event. src may be reused as lc says.
func (c *Context) PutVectorNB(dst core.Rank, to []Extent, src []byte, from []Extent, lc LocalCompletion) (Event, error) {
	t := c.putting("PutVectorNB", dst, src, lc)
	return t.nb(vis.Vector(to, from))
}

// PutVectorNBI initiates an implicit PutVector. src may be reused as lc says.
func (c *Context) PutVectorNBI(dst core.Rank, to []Extent, src []byte, from []Extent, lc LocalCompletion) error {
	t := c.putting("PutVectorNBI", dst, src, lc)
	return t.nbi(vis.Vector(to, from))
}

// GetVector copies the extents from of src's segment, in their order, to the extents to of
// dst; otherwise as PutVector.
func (c *Context) GetVector(dst []byte, to []Extent, src core.Rank, from []Extent) error {
	t := c.getting("GetVector", dst, src)
	return t.blocking(vis.Vector(from, to))
}

// GetVectorNB initiates a GetVector and returns its event.
func (c *Context) GetVectorNB(dst []byte, to []Extent, src core.Rank, from []Extent) (Event, error) {
	t := c.getting("GetVectorNB", dst, src)
	return t.nb(vis.Vector(from, to))
}

// GetVectorNBI initiates an implicit GetVector.
func (c *Context) GetVectorNBI(dst []byte, to []Extent, src core.Rank, from []Extent) error {
	t := c.getting("GetVectorNBI", dst, src)
	return t.nbi(vis.Vector(from, to))
}
