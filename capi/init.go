package main

// #include "internal.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// The rank's job and endpoint, made once by aqInit; a process has one rank.
var (
	job      *core.Job
	endpoint *extended.Endpoint
)

// errLate is the reason that a call which may succeed once gives the second time.
var errLate = errors.New("called a second time")

// aqInit joins the job that the process was started for, without a segment, and fills what C keeps of the job
// (gasnet_init). It returns a GASNet error code, and has said why on standard error if it is not GASNET_OK.
//
//export aqInit
func aqInit(mode, debug C.int) C.int {
	fast, err := fastWanted()
	if err != nil {
		fmt.Fprintln(os.Stderr, "aqueduct: gasnet_init:", err)
		return C.GASNET_ERR_RESOURCE
	}
	opts := []aqueduct.Option{aqueduct.Config(core.Config{Foreign: fast, Ppoll: sleep, AtExit: func() { C.gasneti_end_process() }})}
	if mode != C.GASNETI_PAR {
		opts = append(opts, aqueduct.Single())
	}
	if debug != 0 {
		opts = append(opts, aqueduct.Debug())
	}
	j, err := aqueduct.Init(append(opts, underModel()...)...)
	if err == nil && mode == C.GASNETI_PAR && j.Config().Threads != core.Many {
		err = errors.New("AQUEDUCT_THREADS=single contradicts GASNET_PAR; unset it, or link the library for GASNET_SEQ")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "aqueduct: gasnet_init:", err)
		return C.GASNET_ERR_RESOURCE
	}
	job = j
	startClock()
	if endpoint, err = extended.Attach(j, core.AttachSpec{SegmentLater: true}); err == nil {
		err = publishJob()
	}
	if err != nil {
		end("gasnet_init", err)
	}
	openMain()
	return C.GASNET_OK
}

// publishJob tells C what does not change any more, but for segments.
func publishJob() error {
	spec := core.AttachSpec{SegmentLater: true}
	if err := checkTimes(); err != nil {
		return err
	}
	limit, err := segmentLimit()
	if err != nil {
		return err
	}
	most, err := extended.MaxSegment(job, spec)
	if err != nil {
		return err
	}
	most = int(min(uint64(most), limit)) / C.GASNET_PAGESIZE * C.GASNET_PAGESIZE
	common, err := leastOfAll(uint64(most))
	if err != nil {
		return err
	}
	l := endpoint.Core().Limits()
	p := &C.gasneti_job
	p.rank, p.size = C.gasnet_node_t(job.Rank()), C.gasnet_node_t(job.Size())
	p.max_medium = C.size_t(min(l.MaxMediumRequest, l.MaxMediumReply))
	p.max_long_request, p.max_long_reply = C.size_t(l.MaxLongRequest), C.size_t(l.MaxLongReply)
	p.max_segment, p.max_segment_of_all = C.uintptr_t(most), C.uintptr_t(common)
	return nil
}

// leastOfAll returns the least of the numbers that the ranks give. Collective.
func leastOfAll(n uint64) (uint64, error) {
	b := binary.NativeEndian.AppendUint64(nil, n)
	err := endpoint.World().AllReduce(&endpoint.Context, b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Min})
	return binary.NativeEndian.Uint64(b), err
}

// aqAttach registers the handlers, makes the segment and tells C where all segments are (gasnet_attach). C has
// checked the size. Collective.
//
//export aqAttach
func aqAttach(self C.int, table unsafe.Pointer, n C.int, size C.uintptr_t) C.int {
	if err := registerTable(table, int(n)); err != nil {
		fmt.Fprintf(os.Stderr, "aqueduct: rank %d: gasnet_attach: %v\n", job.Rank(), err)
		return C.GASNET_ERR_RESOURCE
	}
	if err := attachSegment(context(self), nil, uint64(size)); err != nil {
		end("gasnet_attach", err)
	}
	return C.GASNET_OK
}

// attachSegment makes the segment of so many bytes, which is memory of the program's if that is not nil, and tells C where all
// segments are. Collective.
func attachSegment(c *extended.Context, own unsafe.Pointer, size uint64) error {
	pages := uint64(uintptr(own)) % C.GASNET_PAGESIZE // in front of memory of the program's
	pages = (pages + size + C.GASNET_PAGESIZE - 1) / C.GASNET_PAGESIZE * C.GASNET_PAGESIZE
	err := c.AttachSegment(strconv.FormatUint(pages, 10))
	if err == nil {
		err = adopt(own, pages)
	}
	if err == nil {
		err = publishSegments(c, own, size)
	}
	if err != nil {
		return err
	}
	shareState()
	C.gasneti_attached()
	return c.Barrier() // only then may handlers of the program run, which peers send for as soon as they are through
}
