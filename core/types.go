package core

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Rank numbers a process (or goroutine, or coroutine) of the job, 0 ≤ Rank < Size.
type Rank int32

// HandlerIndex selects an entry of the 256-entry handler table. Only the index
// travels; the function behind it may differ from rank to rank.
type HandlerIndex uint8

// Ranges of the handler table (GASNet spec, "Handler registration").
const (
	// AnyHandler asks registration to assign a free client index.
	AnyHandler HandlerIndex = 0
	// CoreHandlers is the first index reserved for package core.
	CoreHandlers HandlerIndex = 1
	// ExtendedHandlers is the first index reserved for the Extended API.
	ExtendedHandlers HandlerIndex = 64
	// ClientHandlers is the first index that a client may register.
	ClientHandlers HandlerIndex = 128
)

// MaxArgs is the number of 32-bit arguments an active message can carry, for
// every category, request or reply.
const MaxArgs = 16

// Kind is the category of an active message.
type Kind uint8

// The categories. Short carries arguments only; Medium a payload delivered in a
// buffer that lives while the handler runs; Long a payload delivered at an offset
// of the destination's segment before the handler starts.
const (
	Short Kind = iota
	Medium
	Long
)

// String returns "short", "medium" or "long".
func (k Kind) String() string {
	switch k {
	case Short:
		return "short"
	case Medium:
		return "medium"
	case Long:
		return "long"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Header is the first 16 bits of every active message, laid out as in the
// published SCI conduit: handler (8, top), reply (1), category (2), argument
// count (5, low).
type Header uint16

// MakeHeader packs a header. nargs must be at most MaxArgs.
func MakeHeader(h HandlerIndex, k Kind, reply bool, nargs int) Header {
	x := Header(h)<<8 | Header(k&3)<<5 | Header(nargs&31)
	if reply {
		x |= 1 << 7
	}
	return x
}

// Handler returns the index of the handler to run.
func (h Header) Handler() HandlerIndex { return HandlerIndex(h >> 8) }

// Reply reports whether the message is a reply.
func (h Header) Reply() bool { return h&(1<<7) != 0 }

// Kind returns the category. A header from outside may hold the undefined value 3.
func (h Header) Kind() Kind { return Kind(h >> 5 & 3) }

// NArgs returns the argument count, 0 to 31; above MaxArgs the message is malformed.
func (h Header) NArgs() int { return int(h & 31) }

// String formats a header for diagnostics, e.g. "medium request, handler 130, 2 arguments".
func (h Header) String() string { return h.describe("") }

// describe is String with the handler's name, if it has one.
func (h Header) describe(name string) string {
	dir := "request"
	if h.Reply() {
		dir = "reply"
	}
	if name != "" {
		name = " (" + name + ")"
	}
	return fmt.Sprintf("%v %s, handler %d%s, %s", h.Kind(), dir, h.Handler(), name, arguments(h.NArgs()))
}

// arguments counts arguments in words.
func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return itoa(n) + " arguments"
}

// Time is a reading of the job's clock in picoseconds. Live, it counts from the
// start of the job in this process; under a model it is virtual time, equal for
// all ranks and deterministic.
type Time = vtime.Time

// Threads says how many goroutines of a rank may call the library.
type Threads uint8

const (
	// Many allows any number of goroutines, each with a Context of its own; under a model
	// one goroutine per rank may use the job all the same.
	Many Threads = iota
	// Single promises that one goroutine at a time calls the library; nothing is locked.
	Single
)

// String returns "many" or "single".
func (t Threads) String() string {
	if t == Single {
		return "single"
	}
	return "many"
}

// defaultIdle is how long a live wait polls and yields before it sleeps in the kernel
// (reference: below about 1 ms a sleep costs more than it saves).
const defaultIdle = time.Millisecond
