package pgas

import (
	"sync"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended"
)

// Get returns the element. It may poll. Reading what another rank writes at the same time
// gives an undefined value, unless the element has 1, 2, 4 or 8 bytes, lies at a multiple of
// that and is reached directly: then it is one of the values written.
func (p Ptr[T]) Get(c *extended.Context) (v T, err error) {
	if from := p.direct(c); from != nil {
		copyValue(&v, from)
		return v, nil
	}
	return p.getByMessage(c)
}

// Put sets the element and returns when everybody sees it there. It may poll. What Get says
// of words holds.
func (p Ptr[T]) Put(c *extended.Context, v T) error {
	if to := p.direct(c); to != nil {
		copyValue(to, &v)
		return nil
	}
	return p.putByMessage(c, v)
}

// PutNB initiates a Put and returns its event, 0 if it is complete.
func (p Ptr[T]) PutNB(c *extended.Context, v T) (extended.Event, error) {
	if to := p.direct(c); to != nil {
		copyValue(to, &v)
		return 0, nil
	}
	b, src := stagingOf(v)
	defer stages.Put(b)
	return c.PutNB(p.Rank(), p.off, src, extended.LCNow)
}

// PutNBI initiates an implicit Put; see extended.Context.PutNBI.
func (p Ptr[T]) PutNBI(c *extended.Context, v T) error {
	if to := p.direct(c); to != nil {
		copyValue(to, &v)
		return nil
	}
	b, src := stagingOf(v)
	defer stages.Put(b)
	return c.PutNBI(p.Rank(), p.off, src, extended.LCNow)
}

// GetNB initiates a Get and returns its event, 0 if it is complete; *dst is undefined until
// that is synchronised.
func (p Ptr[T]) GetNB(c *extended.Context, dst *T) (extended.Event, error) {
	if from := p.direct(c); from != nil {
		copyValue(dst, from)
		return 0, nil
	}
	return c.GetNB(bytesOf(unsafe.Slice(dst, 1)), p.Rank(), p.off)
}

// GetNBI initiates an implicit Get; see extended.Context.GetNBI.
func (p Ptr[T]) GetNBI(c *extended.Context, dst *T) error {
	if from := p.direct(c); from != nil {
		copyValue(dst, from)
		return nil
	}
	return c.GetNBI(bytesOf(unsafe.Slice(dst, 1)), p.Rank(), p.off)
}

// direct returns where to access the element at once; nil if that is not the way, or if p is
// wrong: package extended then does it, or says what is.
func (p Ptr[T]) direct(c *extended.Context) *T {
	mem := c.Endpoint().Direct(p.Rank())
	if n := uint64(len(mem)); p.off > n || size[T]() > n-p.off {
		return nil
	}
	return (*T)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), p.off))
}

// getByMessage is Get where the memory is not reached; it tells what is wrong with p, too.
func (p Ptr[T]) getByMessage(c *extended.Context) (v T, err error) {
	b := staging(int(unsafe.Sizeof(v)))
	if err = c.Get(b.bytes(int(unsafe.Sizeof(v))), p.Rank(), p.off); err != nil {
		return v, err // a get that was given up may still write there
	}
	copyValue(&v, (*T)(unsafe.Pointer(unsafe.SliceData(b.words))))
	stages.Put(b)
	return v, nil
}

// putByMessage is Put where the memory is not reached.
func (p Ptr[T]) putByMessage(c *extended.Context, v T) error {
	b, src := stagingOf(v)
	err := c.Put(p.Rank(), p.off, src)
	if err == nil {
		stages.Put(b)
	}
	return err
}

// copyValue copies an element, by a single load and store if it has the size of a word.
func copyValue[T any](dst, src *T) {
	switch d, s := unsafe.Pointer(dst), unsafe.Pointer(src); unsafe.Sizeof(*dst) {
	case 1:
		*(*uint8)(d) = *(*uint8)(s)
	case 2:
		*(*uint16)(d) = *(*uint16)(s)
	case 4:
		*(*uint32)(d) = *(*uint32)(s)
	case 8:
		*(*uint64)(d) = *(*uint64)(s)
	default:
		*dst = *src
	}
}

// stage is memory for a value on its way. Values cannot travel from and to the stack of a
// caller, because the library keeps the address while it waits.
type stage struct{ words []uint64 }

func (s *stage) bytes(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), n)
}

var stages = sync.Pool{New: func() any { return &stage{make([]uint64, 8)} }}

// staging returns a stage for n bytes.
func staging(n int) *stage {
	s := stages.Get().(*stage)
	if words := (n + 7) / 8; words > len(s.words) {
		s.words = make([]uint64, words)
	}
	return s
}

// stagingOf returns a stage with the value v, and the bytes of that.
func stagingOf[T any](v T) (*stage, []byte) {
	n := int(unsafe.Sizeof(v))
	s := staging(n)
	copyValue((*T)(unsafe.Pointer(unsafe.SliceData(s.words))), &v)
	return s, s.bytes(n)
}

// bytesOf returns the memory of elements that checkElement accepts.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(size[T]()))
}

// elementsOf returns the whole elements in b.
func elementsOf[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(size[T]()))
}
