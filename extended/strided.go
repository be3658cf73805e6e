package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/vis"
)

// Section is one side of a strided transfer: the elements of an array of any dimension,
// the first of them at Off of a segment or a buffer. Strides[i] is the distance in bytes
// between neighbours along dimension i. It may be negative, to go backwards, and strides
// need not nest, so that a transfer may transpose, reflect or repeat.
type Section = vis.Section

// PutStrided copies the elements of the section from of src, elem bytes each, to the
// section to of dst's segment. Both have counts[i] elements along dimension i, of which 0
// is the innermost: it is best the one whose neighbours are nearest. Without dimensions it
// is one element. PutVector tells the rules.
func (c *Context) PutStrided(dst core.Rank, to Section, src []byte, from Section, elem int, counts []int) error {
	t := c.putting("PutStrided", dst, src, LCDefer)
	return t.blocking(vis.Strided(to, from, elem, counts))
}

// PutStridedNB initiates a PutStrided and returns its event. src may be reused as lc says.
func (c *Context) PutStridedNB(dst core.Rank, to Section, src []byte, from Section, elem int, counts []int, lc LocalCompletion) (Event, error) {
	t := c.putting("PutStridedNB", dst, src, lc)
	return t.nb(vis.Strided(to, from, elem, counts))
}

// PutStridedNBI initiates an implicit PutStrided. src may be reused as lc says.
func (c *Context) PutStridedNBI(dst core.Rank, to Section, src []byte, from Section, elem int, counts []int, lc LocalCompletion) error {
	t := c.putting("PutStridedNBI", dst, src, lc)
	return t.nbi(vis.Strided(to, from, elem, counts))
}

// GetStrided copies the elements of the section from of src's segment to the section to of
// dst; otherwise as PutStrided.
func (c *Context) GetStrided(dst []byte, to Section, src core.Rank, from Section, elem int, counts []int) error {
	t := c.getting("GetStrided", dst, src)
	return t.blocking(vis.Strided(from, to, elem, counts))
}

// GetStridedNB initiates a GetStrided and returns its event.
func (c *Context) GetStridedNB(dst []byte, to Section, src core.Rank, from Section, elem int, counts []int) (Event, error) {
	t := c.getting("GetStridedNB", dst, src)
	return t.nb(vis.Strided(from, to, elem, counts))
}

// GetStridedNBI initiates an implicit GetStrided.
func (c *Context) GetStridedNBI(dst []byte, to Section, src core.Rank, from Section, elem int, counts []int) error {
	t := c.getting("GetStridedNBI", dst, src)
	return t.nbi(vis.Strided(from, to, elem, counts))
}
