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
	"github.com/aqueduct-go/aqueduct/core"
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

	// What is handed over is in C's memory: batch is one element, which names the others.
	batch      []C.aqmpi_batch
	collective []C.aqmpi_collective // one
	posts      []C.aqmpi_post
	done       []C.aqmpi_done
}

// room is the number of posts and of completions in one crossing, of posts at first.
const room = 64

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
	t.batch, t.posts, t.done = inC[C.aqmpi_batch](1), inC[C.aqmpi_post](room), inC[C.aqmpi_done](room)
	b := &t.batch[0]
	b.table, b.end, b.posts, b.done = t.lib.table, t.end, unsafe.SliceData(t.posts), unsafe.SliceData(t.done)
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

func (t *transport) progress(posts []mpi.Post, done []mpi.Completion, spin C.int) (int, error) {
	if len(posts) > len(t.posts) {
		freeC(t.posts)
		t.posts = inC[C.aqmpi_post](2 * len(posts))
		t.batch[0].posts = unsafe.SliceData(t.posts)
	}
	for i := range posts {
		p, to := &posts[i], &t.posts[i]
		to.buf, to.id = address(p.Buf), C.uint64_t(p.ID)
		to.len, to.peer, to.tag = C.int32_t(len(p.Buf)), C.int32_t(p.Peer), C.int32_t(p.Tag)
		to.receive = 0
		if p.Receive {
			to.receive = 1
		}
	}
	t.used = true
	n, err := t.cross(len(posts), min(len(done), len(t.done)), spin)
	if err != nil {
		return 0, err
	}
	for i := range n {
		d := &t.done[i]
		done[i] = mpi.Completion{ID: uint64(d.id), Len: int(d.len), Source: core.Rank(d.source), Tag: int32(d.tag)}
	}
	return n, nil
}

// cross is the crossing. It returns how many completions it has brought. The text of an error is the library's
// until its next call, so it is read under the same lock.
func (t *transport) cross(posts, most int, spin C.int) (int, error) {
	if t.lib.shared.Load() {
		t.lib.mu.Lock()
		defer t.lib.mu.Unlock()
	}
	C.aqmpi_call_progress(C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(t.batch)))), C.int(posts), C.int(most), spin)
	if n := int(t.batch[0].ended); n >= 0 {
		return n, nil
	}
	return 0, t.lib.failure()
}

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
	freeC(t.batch)
	freeC(t.collective)
	freeC(t.posts)
	freeC(t.done)
	if !t.used || err != nil {
		return err // the job has failed, and others may not come to finalise
	}
	return t.lib.done()
}
