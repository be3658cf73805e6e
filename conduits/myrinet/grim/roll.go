package grim

import (
	"fmt"
	"slices"
)

// roll is the names that a program has announced which takes messages itself, and their numbers: it takes less memory than a database of
// handlers.
type roll struct {
	names     []string    // sorted
	ids       []HandlerID // of each name; 0: not known yet
	positions []int32     // by number, less firstHandler: where the name is, and one; 0: it is none of these
}

// Announce names handlers of a program that takes messages itself, sorted and each once: see [Endpoint.Take]. Synchronize tells the server. The
// endpoint keeps names, which must not change. It is called once, before Synchronize.
func (e *Endpoint) Announce(names []string) error {
	for i, name := range names {
		if name == "" || len(name) > maxName || i > 0 && names[i-1] >= name {
			return fmt.Errorf("grim: handler %d is announced as %q; names have 1 to %d bytes, are sorted, and each is given once", i, name, maxName)
		}
	}
	e.names.roll = &roll{names: names, ids: make([]HandlerID, len(names))}
	return nil
}

// note takes down a name's number, and reports whether the name is one of these.
func (r *roll) note(name string, id HandlerID) bool {
	i, ok := slices.BinarySearch(r.names, name)
	if !ok {
		return false
	}
	r.ids[i] = id
	at := int(id - firstHandler)
	if at >= len(r.positions) {
		r.positions = append(r.positions, make([]int32, max(at+1, len(r.names))-len(r.positions))...)
	}
	r.positions[at] = int32(i + 1)
	return true
}

// Number returns the number of the i-th name that has been announced; 0: the server has not told.
func (e *Endpoint) Number(i int) HandlerID { return e.names.roll.ids[i] }

// Position returns which of the names that have been announced has a number.
func (e *Endpoint) Position(id HandlerID) (i int, ok bool) {
	r, at := e.names.roll, int(id)-int(firstHandler)
	if at < 0 || at >= len(r.positions) || r.positions[at] == 0 {
		return 0, false
	}
	return int(r.positions[at] - 1), true
}

// Told returns how many requests for its list this endpoint has answered, as the server.
func (e *Endpoint) Told() int { return e.names.told }
