//go:build cgo

package libmpi

/*
#cgo noescape aqmpi_call_progress
#cgo nocallback aqmpi_call_progress
#include <stdlib.h>
#include "call.h"
*/
import "C"

import (
	"fmt"
	"log/slog"
	"slices"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
)

// transport is one rank's end.
type transport struct {
	lib *library
	log *slog.Logger
	end *C.aqmpi_end
	choices
	used bool // Progress was called

	self  int  // this rank's place in the group
	ranks int  // of the group
	near  bool // all of them share their segments

	// In C's memory, one element each.
	crossing   []C.aqmpi_crossing
	collective []C.aqmpi_collective
}

// The shim works on posts and completions where they are: they lie in memory as it has them.
var (
	_ [unsafe.Sizeof(mpi.Post{})]byte                = [C.sizeof_aqmpi_post]byte{}
	_ [unsafe.Offsetof(mpi.Post{}.ID)]byte           = [unsafe.Offsetof(C.aqmpi_post{}.id)]byte{}
	_ [unsafe.Offsetof(mpi.Post{}.Peer)]byte         = [unsafe.Offsetof(C.aqmpi_post{}.peer)]byte{}
	_ [unsafe.Offsetof(mpi.Post{}.Tag)]byte          = [unsafe.Offsetof(C.aqmpi_post{}.tag)]byte{}
	_ [unsafe.Offsetof(mpi.Post{}.Receive)]byte      = [unsafe.Offsetof(C.aqmpi_post{}.receive)]byte{}
	_ [unsafe.Sizeof(mpi.Completion{})]byte          = [C.sizeof_aqmpi_done]byte{}
	_ [unsafe.Offsetof(mpi.Completion{}.Len)]byte    = [unsafe.Offsetof(C.aqmpi_done{}.len)]byte{}
	_ [unsafe.Offsetof(mpi.Completion{}.Source)]byte = [unsafe.Offsetof(C.aqmpi_done{}.source)]byte{}
	_ [unsafe.Offsetof(mpi.Completion{}.Tag)]byte    = [unsafe.Offsetof(C.aqmpi_done{}.tag)]byte{}
)

// open makes a rank's end. Collective over the group; MPI is initialised by all ranks of the job
// together.
func open(profile string, s *mpi.Spec) (_ mpi.Transport, err error) {
	t := &transport{ranks: len(s.Group), log: s.Log}
	if err := t.choices.table().Read("mpi", s.Settings); err != nil {
		return nil, err
	}
	if t.lib, err = use(profile); err != nil {
		return nil, fmt.Errorf("mpi: rank %d: %w", s.Boot.Rank(), err)
	}
	if err := t.lib.check(int(s.Boot.Rank()), s.Boot.Size()); err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	var group *C.int
	if n := len(s.Group); n < s.Boot.Size() {
		ranks := make([]C.int, n)
		for i, r := range s.Group {
			ranks[i] = C.int(r)
		}
		group = unsafe.SliceData(ranks)
	}
	if t.eager == 0 {
		t.eager = t.lib.family.eager
	}
	t.lib.mu.Lock()
	defer t.lib.mu.Unlock()
	if C.aqmpi_call_open(t.lib.table, group, C.int(len(s.Group)), &t.end) != 0 {
		return nil, t.lib.failure()
	}
	if t.takes != takesNone && C.aqmpi_call_join(t.lib.table, t.end) != 0 {
		return nil, t.lib.failure()
	}
	t.self, t.ranks = slices.Index(s.Group, s.Boot.Rank()), len(s.Group)
	t.collective = inC[C.aqmpi_collective](1)
	t.crossing = inC[C.aqmpi_crossing](1)
	t.crossing[0].table, t.crossing[0].end = t.lib.table, t.end
	return t, nil
}

// inC makes n elements outside the Go heap.
func inC[T any](n int) []T {
	var zero T
	return unsafe.Slice((*T)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(zero)))), n)
}

func freeC[T any](s []T) { C.free(unsafe.Pointer(unsafe.SliceData(s))) }

// address returns where b is, as a number: what is kept in C's memory as a pointer the garbage collector
// takes for one when it is overwritten, also when what it led to is gone.
func address(b []byte) C.uint64_t { return C.uint64_t(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// Limits implements mpi.Transport.
func (t *transport) Limits() mpi.TransportLimits {
	return mpi.TransportLimits{Eager: t.eager, Exact: t.lib.family.exact, Async: t.lib.async()}
}

// Progress implements mpi.Transport by one crossing.
func (t *transport) Progress(posts []mpi.Post, done []mpi.Completion) (int, error) {
	return t.progress(posts, done, 0)
}

// Spin implements mpi.Spinner by one crossing.
func (t *transport) Spin(posts []mpi.Post, done []mpi.Completion) (int, error) {
	return t.progress(posts, done, 1)
}

// progress is the crossing. The text of an error is the library's until its next call, so it is read under the
// same lock.
//
// Posts and done are passed by address. They are not of a goroutine's stack, which may move meanwhile: whoever
// calls does so through mpi.Transport, by which they escape to the heap.
func (t *transport) progress(posts []mpi.Post, done []mpi.Completion, spin C.int) (int, error) {
	t.used = true
	if t.lib.shared.Load() {
		t.lib.mu.Lock()
		defer t.lib.mu.Unlock()
	}
	c := unsafe.SliceData(t.crossing)
	C.aqmpi_call_progress(number(c), number(unsafe.SliceData(posts)), C.int(len(posts)), number(unsafe.SliceData(done)), C.int(len(done)), spin)
	if n := int(c.ended); n >= 0 {
		return n, nil
	}
	return 0, t.lib.failure()
}

// number returns an address as a number.
func number[T any](p *T) C.uintptr_t { return C.uintptr_t(uintptr(unsafe.Pointer(p))) }

// Close implements mpi.Transport. What has been used is closed by all ranks together: none of
// them has failed then.
func (t *transport) Close() error {
	var drain C.int
	if t.used {
		drain = 1
	}
	err := func() error {
		t.lib.mu.Lock()
		defer t.lib.mu.Unlock()
		if C.aqmpi_call_close(t.lib.table, t.end, drain) != 0 {
			return t.lib.failure()
		}
		return nil
	}()
	freeC(t.crossing)
	freeC(t.collective)
	if !t.used || err != nil {
		return err // the job has failed, and others may not come to finalise
	}
	return t.lib.done()
}
