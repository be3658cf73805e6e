package core

import (
	"errors"
	"fmt"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// staging is memory in which a context, or the token, assembles payloads.
type staging struct {
	mem    []byte
	region *shm.Region // what it lies in; nil: on the heap
}

// stagings are all of a rank's.
type stagings struct {
	mu  sync.Mutex
	all []*staging
}

// leastStaging is the size of the smallest staging memory in bytes.
const leastStaging = 4 << 10

// stagingOf returns size bytes of the staging memory own, which it makes, or makes larger. Live it lies outside
// the Go heap; of modelled ranks there may be more than a process may have mappings.
func (ep *Endpoint) stagingOf(own **staging, size int) ([]byte, error) {
	s := *own
	if s == nil {
		s = new(staging)
		*own = s
		ep.stagings.mu.Lock()
		ep.stagings.all = append(ep.stagings.all, s)
		ep.stagings.mu.Unlock()
	}
	if len(s.mem) >= size && s.mem != nil {
		return s.mem[:size:size], nil
	}
	n := max(size, 2*len(s.mem)) // it grows seldom
	if ep.proc != nil {
		s.mem = make([]byte, max(n, 64)) // tiny ones need not be aligned
		return s.mem[:size:size], nil
	}
	r, err := shm.NewRegion(max(n, leastStaging), shm.Local)
	if err == nil {
		err = s.free()
	}
	if err != nil {
		return nil, fmt.Errorf("core: rank %d: staging memory of a prepared message: %w", ep.job.rank, err)
	}
	s.region, s.mem = r, r.Bytes()
	return s.mem[:size:size], nil
}

// free gives the memory back.
func (s *staging) free() error {
	if s.region == nil {
		return nil
	}
	err := s.region.Close()
	s.region, s.mem = nil, nil
	return err
}

// free gives all of it back.
func (x *stagings) free() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, s := range x.all {
		errs = append(errs, s.free())
	}
	x.all = nil
	return errors.Join(errs...)
}
