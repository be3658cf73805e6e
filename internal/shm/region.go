package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PageSize is the size in bytes of a page of this machine.
var PageSize = os.Getpagesize()

// RoundUp returns n rounded up to whole pages.
func RoundUp(n int) int { return (n + PageSize - 1) &^ (PageSize - 1) }

// RoundDown returns n rounded down to whole pages.
func RoundDown(n int) int { return n &^ (PageSize - 1) }

// Kind says who can reach a region.
type Kind uint8

const (
	// Shared memory lives behind a descriptor without a name (memfd_create) and can be
	// mapped by every process that is given the descriptor. It disappears with the last
	// descriptor and mapping. Its size is sealed, so that no holder of the descriptor
	// can shrink it and make another one's access a SIGBUS.
	Shared Kind = iota
	// Local memory is reached by one process only: outside the Go heap, or on it under
	// the race detector, which watches only that.
	Local
)

// Region is a page-aligned stretch of memory, zeroed when new.
type Region struct {
	mem    []byte // what Bytes returns
	mapped []byte // what Close unmaps; nil on the Go heap and in an arena
	arena  *Arena // what it is a part of, or nil
	fd     int    // the memory's own descriptor, or -1
}

// NewRegion makes a region of size bytes, size > 0. The memory is used page by page as it
// is touched (or at once by Populate): having made a region does not mean that there is
// memory for it; see Available.
func NewRegion(size int, kind Kind) (*Region, error) {
	r, err := newRegion(size, kind)
	if err != nil {
		return nil, fmt.Errorf("shm: make a region of %d bytes: %w", size, err)
	}
	return r, nil
}

func newRegion(size int, kind Kind) (*Region, error) {
	if size <= 0 || RoundUp(size) < size {
		return nil, errors.New("the size is out of range")
	}
	if kind == Shared {
		return newShared(size)
	}
	if RaceEnabled {
		return &Region{mem: alignedHeap(size), fd: -1}, nil
	}
	m, err := unix.Mmap(-1, 0, RoundUp(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return &Region{mem: m[:size:size], mapped: m, fd: -1}, nil
}

func newShared(size int) (r *Region, err error) {
	const name = "aqueduct" // for people who read /proc/PID/maps
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err := unix.Ftruncate(fd, int64(RoundUp(size))); err != nil {
		return nil, fmt.Errorf("ftruncate: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("seal the size: %w", err)
	}
	m, err := unix.Mmap(fd, 0, RoundUp(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return &Region{mem: m[:size:size], mapped: m, fd: fd}, nil
}

// Map maps size bytes from offset off of a descriptor made by NewRegion in this or
// another process. off must be a multiple of PageSize. The descriptor stays the caller's
// and may be closed while the mapping is in use.
//
// A descriptor whose size is not sealed is refused: whoever holds it could truncate it,
// and touching the lost pages would kill this process.
func Map(fd int, off int64, size int) (*Region, error) {
	return mapFD(fd, off, size, unix.PROT_READ|unix.PROT_WRITE)
}

// MapReadOnly is Map for memory that this process must not store to; a store is a
// segmentation fault.
func MapReadOnly(fd int, off int64, size int) (*Region, error) {
	return mapFD(fd, off, size, unix.PROT_READ)
}

func mapFD(fd int, off int64, size, prot int) (*Region, error) {
	fail := func(err error) (*Region, error) {
		return nil, fmt.Errorf("shm: map %d bytes at %d of descriptor %d: %w", size, off, fd, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	switch seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); {
	case err != nil || seals&unix.F_SEAL_SHRINK == 0:
		return fail(errors.New("it is not sealed against shrinking"))
	case off < 0 || off%int64(PageSize) != 0:
		return fail(fmt.Errorf("the offset is not a multiple of the page size %d", PageSize))
	case size <= 0 || off > st.Size || int64(size) > st.Size-off:
		return fail(fmt.Errorf("it has only %d bytes", st.Size))
	}
	m, err := unix.Mmap(fd, off, RoundUp(size), prot, unix.MAP_SHARED)
	if err != nil {
		return fail(fmt.Errorf("mmap: %w", err))
	}
	return &Region{mem: m[:size:size], mapped: m, fd: -1}, nil
}

// Bytes returns the memory, valid until Close.
func (r *Region) Bytes() []byte { return r.mem }

// FD returns the descriptor to give to other processes, or -1 for Local memory and for
// mappings. It belongs to the region.
func (r *Region) FD() int { return r.fd }

// Populate makes every page of the region present and writable now, which costs some
// microseconds a page, instead of at its first use. Without enough memory it returns an
// error, but beyond a control group's limit the kernel may end the process instead: ask
// Available first.
func (r *Region) Populate() error {
	if r.mapped == nil {
		return nil
	}
	err := unix.Madvise(r.mapped, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		touch(r.mapped)
		return nil
	}
	if err != nil {
		return fmt.Errorf("shm: populate a region of %d bytes: %w", len(r.mem), err)
	}
	return nil
}

// Close gives the memory back. Nothing may refer to it any more.
func (r *Region) Close() error {
	var errs [2]error
	if r.mapped != nil {
		errs[0] = unix.Munmap(r.mapped)
	}
	if r.fd >= 0 {
		errs[1] = unix.Close(r.fd)
	}
	if r.arena != nil {
		errs[0] = r.arena.closed()
	}
	*r = Region{fd: -1}
	return errors.Join(errs[:]...)
}
