package core

import (
	"fmt"
	"sync/atomic"
)

// Handler is what an active message runs at its destination. It runs inside a library
// call of the destination, on the calling goroutine, one at a time per endpoint. It may
// use the token to reply (requests only, at most once), query the endpoint and take an
// HSL; it must not send requests, poll or wait. args and, for Medium, data belong to the
// library and are valid until it returns, a reply notwithstanding. For Long, data is the
// part of the segment that was written.
type Handler func(t *Token, args []uint32, data []byte)

// HandlerFlags restrict what may invoke a handler. They are checked in debug mode; zero
// allows everything.
type HandlerFlags uint8

// Flags for HandlerEntry, to be combined: at least one category and one direction when
// any is given.
const (
	AllowShort HandlerFlags = 1 << iota
	AllowMedium
	AllowLong
	AllowRequest
	AllowReply
)

// HandlerEntry describes one handler for registration.
type HandlerEntry struct {
	// Index is the place in the table, ClientHandlers or above; AnyHandler has one
	// assigned and written back here. Equal tables give equal assignments on all ranks.
	Index HandlerIndex
	Func  Handler
	Flags HandlerFlags
	NArgs int    // with Flags: the argument count that is expected, checked in debug mode
	Name  string // for diagnostics and figures of a watched job; "": there it is that of the function
	Data  any    // the client's own, see Token.Entry
}

// handlerTable maps indices to handlers. The functions stand apart so that dispatch
// touches one small array.
type handlerTable struct {
	fn   [256]Handler
	wrap func(*HandlerEntry) Handler // what is called in place of a handler; nil: it itself
	registry
	names atomic.Pointer[registry] // the same, never changed
}

// registry has what was registered, in order, and by index where it is there, plus 1.
type registry struct {
	place   [256]uint8
	entries []HandlerEntry
}

// entry returns what is registered at an index; the zero entry if nothing is.
func (r *registry) entry(x HandlerIndex) HandlerEntry {
	if p := r.place[x]; p != 0 {
		return r.entries[p-1]
	}
	return HandlerEntry{}
}

// named is entry for another goroutine than those that register: what is registered meanwhile may be missing.
func (t *handlerTable) named(x HandlerIndex) HandlerEntry {
	if p := t.names.Load(); p != nil {
		return p.entry(x)
	}
	return HandlerEntry{}
}

func (r *registry) taken(x int) bool { return r.place[x] != 0 }

func (r *registry) add(e HandlerEntry) {
	r.entries = append(r.entries, e)
	r.place[e.Index] = uint8(len(r.entries)) // index 0 is none, so 255 at most
}

// register places the fixed entries, then gives the others free indices: from base
// upwards, or from 255 downwards. On an error the table is unchanged.
func (t *handlerTable) register(entries []HandlerEntry, base HandlerIndex, upwards bool) error {
	next := registry{t.place, make([]HandlerEntry, 0, len(t.entries)+len(entries))}
	next.entries = append(next.entries, t.entries...)
	for i := range entries {
		e := &entries[i]
		if e.Func == nil {
			return fmt.Errorf("handler entry %d (%s): no function", i, e.Name)
		}
		if e.NArgs < 0 || e.NArgs > MaxArgs {
			return fmt.Errorf("handler entry %d (%s): %d arguments; at most %d", i, e.Name, e.NArgs, MaxArgs)
		}
		if e.Index == AnyHandler {
			continue
		}
		if e.Index < base {
			return fmt.Errorf("handler entry %d (%s): index %d is reserved; use %d to 255", i, e.Name, e.Index, base)
		}
		if next.taken(int(e.Index)) {
			return fmt.Errorf("handler entry %d (%s): index %d is taken by %q", i, e.Name, e.Index, next.entry(e.Index).Name)
		}
		next.add(*e)
	}
	lo, hi := int(base), 255
	assigned := make([]HandlerIndex, len(entries))
	for i := range entries {
		if entries[i].Index != AnyHandler {
			continue
		}
		for lo <= hi && next.taken(lo) {
			lo++
		}
		for lo <= hi && next.taken(hi) {
			hi--
		}
		if lo > hi {
			return fmt.Errorf("handler entry %d (%s): no index left between %d and 255", i, entries[i].Name, base)
		}
		e := entries[i]
		if e.Index = HandlerIndex(hi); upwards {
			e.Index = HandlerIndex(lo)
		}
		next.add(e)
		assigned[i] = e.Index
	}
	for i, x := range assigned {
		if x != AnyHandler {
			entries[i].Index = x
		}
	}
	for i := range next.entries[len(t.entries):] {
		t.install(&next.entries[len(t.entries)+i])
	}
	t.registry = next
	t.names.Store(&next)
	return nil
}

// install has a handler called.
func (t *handlerTable) install(e *HandlerEntry) {
	if t.fn[e.Index] = e.Func; t.wrap != nil {
		t.fn[e.Index] = t.wrap(e)
	}
}

func (t *handlerTable) set(e HandlerEntry) {
	t.add(e)
	t.install(&e)
	names := t.registry
	t.names.Store(&names)
}

// RegisterHandlers adds handlers to a running endpoint. Entries with index AnyHandler get
// the highest free index, downwards in table order (GASNet-EX rule), written back into
// entries. Not collective and no barrier: peers may send to the new indices only once
// they know that registration is done. A handler may not call it. On an error nothing is
// registered.
func (c *Context) RegisterHandlers(entries []HandlerEntry) error {
	return c.registerFrom("RegisterHandlers", entries, ClientHandlers)
}

// RegisterExtended is RegisterHandlers for the Extended API's range, ExtendedHandlers up
// to ClientHandlers-1; every index must be given.
func (c *Context) RegisterExtended(entries []HandlerEntry) error {
	for i := range entries {
		if x := entries[i].Index; x < ExtendedHandlers || x >= ClientHandlers {
			return c.ep.Misuse("RegisterExtended", "index %d is outside %d to %d", x, ExtendedHandlers, ClientHandlers-1)
		}
	}
	return c.registerFrom("RegisterExtended", entries, ExtendedHandlers)
}

func (c *Context) registerFrom(op string, entries []HandlerEntry, base HandlerIndex) error {
	if c.restricted != 0 {
		return c.misplaced(op)
	}
	var err error
	if err := c.Exclusively(func() { err = c.ep.table.register(entries, base, false) }); err != nil {
		return err
	}
	if err != nil {
		return c.ep.Misuse(op, "%v", err)
	}
	return nil
}

// check compares a message with what its handler was registered for.
func (e *HandlerEntry) check(h Header) error {
	if e.Flags == 0 {
		return nil
	}
	dir := AllowRequest
	if h.Reply() {
		dir = AllowReply
	}
	if e.Flags&(AllowShort<<h.Kind()) == 0 || e.Flags&dir == 0 {
		return fmt.Errorf("the handler is not registered for such a message")
	}
	if e.NArgs != h.NArgs() {
		return fmt.Errorf("the handler is registered for %s", arguments(e.NArgs))
	}
	return nil
}
