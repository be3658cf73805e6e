// Govirtual does in Go what virtual.c does, and prints the same: in virtual time all must happen at the same moments.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// The handlers and numbers of virtual.c.
const (
	short core.HandlerIndex = 200 + iota
	medium
	long
	answer
	shortAnswer
)

const (
	segment = 1 << 20
	rounds  = 5
	most    = 400
)

func main() { aqueduct.Run(run, aqueduct.Single()) }

// rank is one rank's part.
type rank struct {
	job     *core.Job
	ep      *extended.Endpoint
	answers int
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (r *rank) step(what string) {
	fmt.Printf("rank %d: %s at %d ps\n", r.job.Rank(), what, r.job.Now())
}

// await waits as GASNET_BLOCKUNTIL does.
func (r *rank) await(n int) {
	for w := r.ep.Turns("GASNET_BLOCKUNTIL"); r.answers != n; {
		must(w.Next())
	}
}

func (r *rank) barrier() {
	must(r.ep.World().Notify(&r.ep.Context, 0, extended.Anonymous))
	must(r.ep.World().WaitBarrier(&r.ep.Context, 0, extended.Anonymous))
}

func run(job *core.Job) (err error) {
	r := &rank{job: job}
	if job.Rank() == 0 {
		fmt.Println("begins")
	}
	spec := core.AttachSpec{SegmentLater: true}
	if r.ep, err = extended.Attach(job, spec); err != nil {
		return err
	}
	r.join()
	r.step("attached")
	r.messages()
	r.transfers()
	return nil
}

// join does what gasnet_init and gasnet_attach do.
func (r *rank) join() {
	ep := r.ep
	limit := binary.NativeEndian.AppendUint64(nil, math.MaxUint64)
	must(ep.World().AllReduce(&ep.Context, limit, limit, extended.Reduction{Type: extended.Uint64, Op: extended.Min}))
	echo := func(t *core.Token, args []uint32, data []byte) { must(t.ReplyMedium(answer, data, args[0])) }
	count := func(*core.Token, []uint32, []byte) { r.answers++ }
	must(ep.RegisterHandlers([]core.HandlerEntry{
		{Index: short, Func: func(t *core.Token, args []uint32, _ []byte) {
			r.job.Compute(300)
			must(t.ReplyShort(shortAnswer, args[0]))
		}},
		{Index: medium, Func: echo}, {Index: long, Func: echo}, {Index: answer, Func: count}, {Index: shortAnswer, Func: count},
	}))
	must(ep.AttachSegment(strconv.Itoa(segment)))
	card := make([]byte, 4*8) // as long as the one of publishSegments of the library
	must(ep.World().AllGather(&ep.Context, make([]byte, len(card)*r.job.Size()), card))
	must(ep.Barrier())
}

// messages sends messages to the next rank.
func (r *rank) messages() {
	ep, next := r.ep, r.next()
	for i := range rounds {
		must(ep.RequestShort(next, short, uint32(i)))
		r.await(i + 1)
	}
	r.step("shorts")
	payload := make([]byte, most)
	must(ep.RequestMedium(next, medium, payload, 7))
	must(ep.RequestLong(next, long, payload, 4096, 7))
	r.await(rounds + 2)
	r.step("payloads")
	r.job.Compute(1500 * time.Duration(r.job.Rank()+1))
	r.job.Compute(10)
	r.barrier()
	r.step("barrier")
}

func (r *rank) next() core.Rank { return (r.job.Rank() + 1) % core.Rank(r.job.Size()) }

// transfers puts to the next rank, and gets from it.
func (r *rank) transfers() {
	ep, next := r.ep, r.next()
	payload := make([]byte, most)
	must(ep.Put(next, 8192, payload))
	must(ep.Put(r.job.Rank(), 0, payload[:8]))
	r.step("puts")
	must(ep.Get(make([]byte, most), next, 8192))
	r.step("get")
	r.barrier()
	ev, err := ep.PutNB(next, 16384, ep.Segment()[:4096], extended.LCDefer)
	must(err)
	must(ep.Wait(ev))
	r.step("put of the segment")
	r.barrier()
}
