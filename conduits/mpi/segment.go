package mpi

import "github.com/aqueduct-go/aqueduct/internal/shm"

// segment makes the segment: the transport's, if it makes one.
func (c *conduit) segment(size int) ([]byte, error) {
	if t, ok := c.t.(Segmenter); ok {
		s, err := t.Segment(size)
		if err != nil {
			return nil, err
		}
		if c.reach = s.Reach; s.Memory != nil {
			return s.Memory, nil
		}
	}
	if size == 0 {
		return nil, nil
	}
	return c.region(size)
}

// region makes memory that the transport accepts, kept until Close.
func (c *conduit) region(size int) ([]byte, error) {
	r, err := shm.NewRegion(size, c.kind)
	if err != nil {
		return nil, err
	}
	c.regions = append(c.regions, r)
	return r.Bytes(), nil
}
