package coretest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
)

// Handlers of the cases. A case may use others; these are the usual ones.
const (
	request core.HandlerIndex = 140
	answer  core.HandlerIndex = 141
	extra   core.HandlerIndex = 142
)

// segment is the size of a rank's segment in cases about payloads; it bounds their Longs.
// A conduit may write a Long's payload to its place as soon as it is sent. So whoever sends
// Longs, a rank or a goroutine, has a place of its own in the segments, and does not use it
// again before the handler has read it.
const segment = 1 << 20

// kinds are the categories.
var kinds = []core.Kind{core.Short, core.Medium, core.Long}

const patterns = 4093 // different payloads of one length; prime

// noise is where payloads are cut from.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, segment+patterns)
	src := rand.NewChaCha8([32]byte{'a', 'q'})
	src.Read(b)
	return b
})

// pattern returns the payload of n bytes that belongs to the seed. It is read only.
func pattern(seed uint32, n int) []byte {
	at := int(seed % patterns)
	return noise()[at : at+n : at+n]
}

// checkPayload compares what arrived with pattern(seed, n).
func checkPayload(data []byte, seed uint32, n int) error {
	if len(data) != n {
		return fmt.Errorf("%d bytes arrived, %d were sent", len(data), n)
	}
	want := pattern(seed, n)
	if bytes.Equal(data, want) {
		return nil
	}
	for i := range data {
		if data[i] != want[i] {
			return fmt.Errorf("byte %d of %d is %#x, want %#x", i, n, data[i], want[i])
		}
	}
	return nil
}

// address returns where b lies, for checks of alignment.
func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }

// checkAligned checks where a Medium's payload lies.
func checkAligned(t *T, tok *core.Token, data []byte) {
	if tok.Kind() == core.Medium && len(data) > 0 && address(data)%8 != 0 {
		t.Errorf("a Medium of %d bytes arrived at the unaligned address %#x", len(data), address(data))
	}
}

// send sends a request of any category in its plain form.
func send(c *core.Context, dst core.Rank, k core.Kind, h core.HandlerIndex, data []byte, off uint64, args ...uint32) error {
	switch k {
	case core.Short:
		return c.RequestShort(dst, h, args...)
	case core.Medium:
		return c.RequestMedium(dst, h, data, args...)
	}
	return c.RequestLong(dst, h, data, off, args...)
}

// reply answers with a reply of any category in its plain form.
func reply(tok *core.Token, k core.Kind, h core.HandlerIndex, data []byte, off uint64, args ...uint32) error {
	switch k {
	case core.Short:
		return tok.ReplyShort(h, args...)
	case core.Medium:
		return tok.ReplyMedium(h, data, args...)
	}
	return tok.ReplyLong(h, data, off, args...)
}

// sizes returns the payload sizes at the edges of what a category allows.
func sizes(k core.Kind, limit int) []int {
	if k == core.Short {
		return []int{0}
	}
	return []int{0, 1, limit - 1, limit}
}

// refused reports through t when a call that breaks a rule did not return a UsageError.
func refused(t *T, what string, err error) {
	if u := new(core.UsageError); !errors.As(err, &u) {
		t.Errorf("%s: want a UsageError, got %v", what, err)
	} else if u.Rank != t.Rank() {
		t.Errorf("%s: the UsageError names rank %d, this is rank %d: %v", what, u.Rank, t.Rank(), err)
	}
}

// lenient is for cases that misuse the API on purpose and go on.
func lenient(cfg *core.Config) { cfg.Debug = false }

// handlers is short for a table of functions at request, answer and so on.
func handlers(fs ...core.Handler) []core.HandlerEntry {
	var table []core.HandlerEntry
	for i, f := range fs {
		table = append(table, core.HandlerEntry{Index: request + core.HandlerIndex(i), Func: f})
	}
	return table
}

// attach is t.Attach with a segment of the usual size.
func attach(t *T, fs ...core.Handler) (*core.Endpoint, error) {
	return t.Attach(core.AttachSpec{Segment: fmt.Sprint(segment), Handlers: handlers(fs...)})
}

// ignore is a handler that does nothing.
func ignore(*core.Token, []uint32, []byte) {}
