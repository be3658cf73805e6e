package shm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Arena is a stretch of addresses that many regions are made of, for the segments of a
// modelled job's ranks. The kernel bounds the number of a process's mappings
// (vm.max_map_count, 65,530 by default), and it counts what is mapped in the ordinary way
// against the memory there is (vm.overcommit_memory); an arena is one mapping, and only what
// is touched of it counts. An Arena is used by one goroutine at a time.
type Arena struct {
	mem  []byte
	next int // where what has not been taken begins
	open int // regions that have not been closed
}

// NewArena returns an arena of size bytes, size > 0.
func NewArena(size int) (*Arena, error) {
	if size <= 0 || RoundUp(size) < size {
		return nil, fmt.Errorf("shm: an arena of %d bytes: the size is out of range", size)
	}
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	mem, err := unix.Mmap(-1, 0, RoundUp(size), prot, flags)
	if err != nil {
		return nil, fmt.Errorf("shm: map an arena of %d bytes: %w", size, err)
	}
	// A huge page for each first touch would be 2 MiB for a rank that uses some bytes. Kernels
	// that know no huge pages say EINVAL.
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(fmt.Errorf("shm: refuse huge pages for an arena: %w", err), unix.Munmap(mem))
	}
	return &Arena{mem: mem}, nil
}

// Region returns a region of the next size bytes of the arena, rounded up to whole pages. Its
// Close counts: the last one gives back the arena's memory, and the arena is of no use any
// more.
func (a *Arena) Region(size int) (*Region, error) {
	if n := RoundUp(size); size <= 0 || n < size || n > len(a.mem)-a.next {
		return nil, fmt.Errorf("shm: a region of %d bytes of an arena that has %d left", size, len(a.mem)-a.next)
	}
	mem := a.mem[a.next:][:size:size]
	a.next += RoundUp(size)
	a.open++
	return &Region{mem: mem, arena: a, fd: -1}, nil
}

// closed takes a region back.
func (a *Arena) closed() error {
	if a.open--; a.open > 0 {
		return nil
	}
	err := unix.Munmap(a.mem)
	a.mem, a.next = nil, 0
	return err
}

// Arenas are the arenas of the groups of ranks of a modelled job, by the first rank of each. The zero value has none. One goroutine at a time uses it.
type Arenas struct{ byFirst map[int]*Arena }

// Region returns a region of a size in the arena of a group, whose members' regions have the given sizes.
func (a *Arenas) Region(first int, sizes []int, size int) (*Region, error) {
	arena := a.byFirst[first]
	if arena == nil {
		total := 0
		for _, n := range sizes {
			total += n
		}
		var err error
		if arena, err = NewArena(total); err != nil {
			return nil, err
		}
		if a.byFirst == nil {
			a.byFirst = make(map[int]*Arena)
		}
		a.byFirst[first] = arena
	}
	return arena.Region(size)
}
