package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/vis"
)

// Chunks are pieces of Len bytes each at the offsets Offs of a segment or a buffer.
type Chunks = vis.Chunks

// PutIndexed copies the chunks from of src, in their order, to the chunks to of dst's
// segment. Both sides may have chunks of different length, but the totals must be equal.
// PutVector tells the rules.
func (c *Context) PutIndexed(dst core.Rank, to Chunks, src []byte, from Chunks) error {
	t := c.putting("PutIndexed", dst, src, LCDefer)
	return t.blocking(vis.Indexed(to, from))
}

// PutIndexedNB initiates a PutIndexed and returns its event. src may be reused as lc says.
func (c *Context) PutIndexedNB(dst core.Rank, to Chunks, src []byte, from Chunks, lc LocalCompletion) (Event, error) {
	t := c.putting("PutIndexedNB", dst, src, lc)
	return t.nb(vis.Indexed(to, from))
}

// PutIndexedNBI initiates an implicit PutIndexed. src may be reused as lc says.
func (c *Context) PutIndexedNBI(dst core.Rank, to Chunks, src []byte, from Chunks, lc LocalCompletion) error {
	t := c.putting("PutIndexedNBI", dst, src, lc)
	return t.nbi(vis.Indexed(to, from))
}

// GetIndexed copies the chunks from of src's segment, in their order, to the chunks to of
// dst; otherwise as PutIndexed.
func (c *Context) GetIndexed(dst []byte, to Chunks, src core.Rank, from Chunks) error {
	t := c.getting("GetIndexed", dst, src)
	return t.blocking(vis.Indexed(from, to))
}

// GetIndexedNB initiates a GetIndexed and returns its event.
func (c *Context) GetIndexedNB(dst []byte, to Chunks, src core.Rank, from Chunks) (Event, error) {
	t := c.getting("GetIndexedNB", dst, src)
	return t.nb(vis.Indexed(from, to))
}

// GetIndexedNBI initiates an implicit GetIndexed.
func (c *Context) GetIndexedNBI(dst []byte, to Chunks, src core.Rank, from Chunks) error {
	t := c.getting("GetIndexedNBI", dst, src)
	return t.nbi(vis.Indexed(from, to))
}
