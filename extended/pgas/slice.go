package pgas

import "github.com/aqueduct-go/aqueduct/extended"

// GetSlice copies the elements from p on to dst, as many as it holds, and returns when they
// are there. It may poll.
func (p Ptr[T]) GetSlice(c *extended.Context, dst []T) error {
	return c.Get(bytesOf(dst), p.Rank(), p.off)
}

// PutSlice copies src to the elements from p on and returns when everybody sees them there.
// It may poll.
func (p Ptr[T]) PutSlice(c *extended.Context, src []T) error {
	return c.Put(p.Rank(), p.off, bytesOf(src))
}

// GetSliceNB initiates a GetSlice and returns its event, 0 if it is complete; dst is
// undefined until that is synchronised.
func (p Ptr[T]) GetSliceNB(c *extended.Context, dst []T) (extended.Event, error) {
	return c.GetNB(bytesOf(dst), p.Rank(), p.off)
}

// PutSliceNB initiates a PutSlice and returns its event, 0 if it is complete. src may be
// reused as lc says.
func (p Ptr[T]) PutSliceNB(c *extended.Context, src []T, lc extended.LocalCompletion) (extended.Event, error) {
	return c.PutNB(p.Rank(), p.off, bytesOf(src), lc)
}

// GetSliceNBI initiates an implicit GetSlice; see extended.Context.GetNBI.
func (p Ptr[T]) GetSliceNBI(c *extended.Context, dst []T) error {
	return c.GetNBI(bytesOf(dst), p.Rank(), p.off)
}

// PutSliceNBI initiates an implicit PutSlice; see extended.Context.PutNBI.
func (p Ptr[T]) PutSliceNBI(c *extended.Context, src []T, lc extended.LocalCompletion) error {
	return c.PutNBI(p.Rank(), p.off, bytesOf(src), lc)
}
