// Goranks are the ranks in Go of a job whose other ranks run stress.c: they answer, and take part in what all ranks do
// together. The argument is the number of rounds of the others.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"unsafe"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// The handlers and numbers of stress.c.
const (
	short core.HandlerIndex = 128 + iota
	medium
	long
	silent
	shortDone
	mediumDone
	longDone
	total
)

const (
	most             = 64 << 10
	places           = 4
	roundsPerBarrier = 64
	byShort          = 0
)

func main() { aqueduct.Run(run, aqueduct.Single()) }

// answer returns the payload of the answer to one that was made with a seed.
func answer(n int, seed uint32) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(uint32(i*11+i>>8) + seed + 1)
	}
	return b
}

func check(data []byte, seed uint32) {
	for i, b := range data {
		if b != byte(uint32(i*11+i>>8)+seed) {
			panic(fmt.Sprintf("byte %d of %d is %d", i, len(data), b))
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func run(job *core.Job) error {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	var came, announced, totals int
	ep, err := extended.Attach(job, core.AttachSpec{SegmentLater: true, Handlers: []core.HandlerEntry{
		{Index: short, Func: func(t *core.Token, args []uint32, _ []byte) { must(t.ReplyShort(shortDone, args...)) }},
		{Index: medium, Func: func(t *core.Token, args []uint32, data []byte) {
			check(data, args[0])
			if args[1] == byShort {
				must(t.ReplyShort(shortDone, args[0]))
			} else {
				must(t.ReplyMedium(mediumDone, answer(len(data), args[0]), args[0], args[1], math.MaxUint32))
			}
		}},
		{Index: long, Func: func(t *core.Token, args []uint32, data []byte) {
			check(data, args[0])
			at := ((int(job.Rank())*places+int(args[1]))*2 + 1) * most
			must(t.ReplyLong(longDone, answer(len(data), args[0]), uint64(at), args...))
		}},
		{Index: silent, Func: func(*core.Token, []uint32, []byte) { came++ }},
		{Index: total, Func: func(_ *core.Token, args []uint32, _ []byte) { announced, totals = announced+int(args[0]), totals+1 }},
	}})
	if err != nil {
		return err
	}
	if err := join(job, ep); err != nil {
		return err
	}
	for range 1 + (rounds+roundsPerBarrier-1)/roundsPerBarrier {
		if err := ep.World().Barrier(&ep.Context); err != nil {
			return err
		}
	}
	for r := range core.Rank(job.Size()) {
		if err := ep.RequestShort(r, total, 0); err != nil {
			return err
		}
	}
	if err := ep.WaitUntil(func() bool { return totals == job.Size() && came >= announced }); err != nil {
		return err
	}
	fmt.Printf("stress of rank %d is over\n", job.Rank())
	return ep.World().Barrier(&ep.Context)
}

// join does what gasnet_init and gasnet_attach do together with all ranks.
func join(job *core.Job, ep *extended.Endpoint) error {
	limit := binary.NativeEndian.AppendUint64(nil, math.MaxUint64)
	err := ep.World().AllReduce(&ep.Context, limit, limit, extended.Reduction{Type: extended.Uint64, Op: extended.Min})
	if err != nil {
		return err
	}
	if err := ep.AttachSegment(strconv.Itoa(job.Size() * places * 2 * most)); err != nil {
		return err
	}
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(ep.Segment()))))
	var card []byte
	for _, word := range []uint64{base, uint64(ep.Neighborhood()[0]), 0, uint64(len(ep.Segment()))} { // see publishSegments of the library
		card = binary.NativeEndian.AppendUint64(card, word)
	}
	if err := ep.World().AllGather(&ep.Context, make([]byte, len(card)*job.Size()), card); err != nil {
		return err
	}
	return ep.World().Barrier(&ep.Context)
}
