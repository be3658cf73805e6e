package coretest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"

	"golang.org/x/sync/errgroup"
)

var segmentCases = []Case{{
	Name:  "segment/later",
	Rule:  "a segment may come after messages, of any size: then all is as if Attach had made it (gex_Client_Init, gex_Segment_Attach)",
	Ranks: []int{2, 3}, Config: lenient, Body: segmentLater,
}, {
	Name:  "segment/later-threads",
	Rule:  "while a goroutine attaches the segment, others exchange messages",
	Ranks: []int{2}, Needs: Threads, Body: segmentThreads,
}, {
	Name:  "segment/largest",
	Rule:  "the size of the largest segment can be asked between the two steps, and a segment of that size attached",
	Ranks: []int{2}, Needs: Plain, Body: segmentLargest,
}, {
	Name:  "segment/absurd",
	Rule:  "a segment that comes later and is beyond the host's memory fails the job on every rank",
	Ranks: []int{2}, Want: endsWith(1, "segment", "available"),
	Body: func(t *T) error {
		return attachLater(t, [...]string{"4096", "100000TB"}[t.Rank()])
	},
}, {
	Name:  "segment/disagreement",
	Rule:  "all ranks attach their segments later, or none",
	Ranks: []int{3}, Want: endsWith(1, "SegmentLater", "must agree"),
	Body: func(t *T) error {
		return attachOnly(t, core.AttachSpec{Segment: "4096", SegmentLater: t.Rank() == 1})
	},
}, {
	Name:  "segment/peer-returns",
	Rule:  "a rank that returns without its segment ends the job, by name",
	Ranks: []int{2, 3}, Want: endsWith(1, "rank 0 has returned"),
	Body: func(t *T) error {
		if t.Rank() == 0 {
			return attachOnly(t, core.AttachSpec{SegmentLater: true})
		}
		return attachLater(t, "4096")
	},
}, {
	Name:  "segment/peer-dies",
	Rule:  "attaching a segment does not hang on a dead peer",
	Ranks: []int{2, 3}, Needs: Kills, Want: endsWith(killed),
	Body: func(t *T) error {
		if t.Rank() > 0 {
			return survive(t, "AttachSegment", attachLater(t, "4096"))
		}
		if err := attachOnly(t, core.AttachSpec{SegmentLater: true}); err != nil {
			return err
		}
		killMe(t)
		return nil
	},
}}

// attachLater attaches in two steps.
func attachLater(t *T, size string) error {
	ep, err := t.Attach(core.AttachSpec{SegmentLater: true})
	if err != nil {
		return err
	}
	return ep.AttachSegment(size)
}

// segmentLater gives rank r 2r pages after messages, and while some are under way.
func segmentLater(t *T) error {
	const long, place = 200, 256 // bytes of a Long, and of each rank's place for its own
	page, last := os.Getpagesize(), core.Rank(t.Size()-1)
	sizeOf := func(r core.Rank) int { return 2 * int(r) * page }
	var asked, answered, longs, told int
	ep, err := t.Attach(core.AttachSpec{SegmentLater: true, Handlers: handlers(
		func(tok *core.Token, _ []uint32, data []byte) {
			if err := checkPayload(data, 5, 300); err != nil {
				t.Errorf("Medium from rank %d: %v", tok.Src(), err)
			}
			asked++
			tok.ReplyMedium(answer, data)
		},
		func(*core.Token, []uint32, []byte) { answered++ },
		func(tok *core.Token, _ []uint32, data []byte) {
			if err := checkPayload(data, uint32(tok.Src()), long); err != nil {
				t.Errorf("Long from rank %d: %v", tok.Src(), err)
			}
			longs++
			if tok.Src() == 0 {
				tok.ReplyShort(extra + 1)
				return
			}
			tok.ReplyLong(extra+1, data, uint64(page-place*(int(t.Rank())+1)))
		},
		func(tok *core.Token, _ []uint32, data []byte) {
			if tok.Kind() == core.Long {
				if err := checkPayload(data, uint32(t.Rank()), long); err != nil {
					t.Errorf("Long reply from rank %d: %v", tok.Src(), err)
				}
			}
			told++
		})})
	if err != nil {
		return err
	}
	if len(ep.Segment()) != 0 || ep.SegmentSize(last) != 0 || ep.MaxPayload(last, core.Long, false) != 0 {
		t.Errorf("there is a segment already")
	}
	for dst := range core.Rank(t.Size()) {
		err := ep.RequestLong(dst, extra, pattern(0, long), 0)
		if refused(t, "a Long before there are segments", err); !strings.Contains(fmt.Sprint(err), "AttachSegment") {
			t.Errorf("%v does not say what to do", err)
		}
		if err := ep.RequestMedium(dst, request, pattern(5, 300)); err != nil {
			return err
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return answered >= t.Size() }); err != nil {
		return err
	}
	if t.Rank() == last { // rank 0 is in AttachSegment, and serves
		for !t.Noted("attaching") {
			if err := ep.Poll(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		if err := ep.RequestMedium(0, request, pattern(5, 300)); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return answered > t.Size() }); err != nil {
			return err
		}
		if err := ep.RequestMedium(0, request, pattern(5, 300)); err != nil { // stays under way
			return err
		}
	}
	if t.Rank() == 0 {
		t.Note("attaching")
	}
	if err := ep.AttachSegment(fmt.Sprint(sizeOf(t.Rank()))); err != nil {
		return err
	}
	for i, b := range ep.Segment() {
		if b != 0 {
			return fmt.Errorf("byte %d of a new segment is %d", i, b)
		}
	}
	if seg := ep.Segment(); len(seg) != sizeOf(t.Rank()) || len(seg) > 0 && address(seg)%uintptr(page) != 0 {
		t.Errorf("a segment of %d bytes at %#x, want %d", len(seg), address(seg), sizeOf(t.Rank()))
	}
	refused(t, "a second AttachSegment", ep.AttachSegment("4096"))
	if err := ep.Barrier(); err != nil {
		return err
	}
	for dst := range core.Rank(t.Size()) {
		size := sizeOf(dst)
		if ep.SegmentSize(dst) != size {
			t.Errorf("rank %d has a segment of %d bytes, want %d", dst, ep.SegmentSize(dst), size)
		}
		refused(t, "a Long beyond the segment", ep.RequestLong(dst, extra, pattern(0, 1), uint64(size)))
		if dst > 0 {
			if err := ep.RequestLong(dst, extra, pattern(uint32(t.Rank()), long), uint64(size-place*(int(t.Rank())+1))); err != nil {
				return err
			}
		}
	}
	all := t.Size()
	if t.Rank() == 0 {
		all += 2
	}
	return t.Wait(&ep.Context, func() bool {
		return told >= t.Size()-1 && asked >= all && (t.Rank() == 0 || longs >= t.Size())
	})
}

// segmentThreads has goroutines of each rank exchange messages, and send, while another attaches the segment.
func segmentThreads(t *T) error {
	var answered, longs int
	ep, err := t.Attach(core.AttachSpec{SegmentLater: true, Handlers: handlers(
		func(tok *core.Token, _ []uint32, data []byte) {
			if tok.Endpoint().SegmentSize(tok.Src()) > 0 {
				tok.ReplyLong(answer, data, 0)
			} else {
				tok.ReplyMedium(answer, data)
			}
		},
		func(*core.Token, []uint32, []byte) { answered++ },
		func(*core.Token, []uint32, []byte) { longs++ }, ignore)})
	if err != nil {
		return err
	}
	var over atomic.Bool
	var g errgroup.Group
	g.Go(func() error {
		c := ep.NewContext()
		for i := 1; !over.Load(); i++ {
			if err := c.RequestMedium(t.Next(), request, pattern(1, 100)); err != nil {
				return err
			}
			if err := t.Wait(c, func() bool { return answered >= i }); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error { // sends without polling
		c := ep.NewContext()
		for !over.Load() {
			if err := c.TryShort(t.Next(), extra+1); err != nil && !errors.Is(err, core.ErrNoRoom) {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
	attach := func() error {
		if err := t.Wait(&ep.Context, func() bool { return answered > 0 }); err != nil {
			return err
		}
		if err := ep.AttachSegment("8192"); err != nil {
			return err
		}
		if err := ep.RequestLong(t.Next(), extra, pattern(2, 100), 4096); err != nil {
			return err
		}
		return t.Wait(&ep.Context, func() bool { return longs > 0 })
	}
	err = attach()
	over.Store(true) // the others send on until then
	if end := g.Wait(); err == nil {
		err = end
	}
	return err
}

func segmentLargest(t *T) error {
	ep, err := t.Attach(core.AttachSpec{SegmentLater: true, Handlers: handlers(ignore)})
	if err != nil {
		return err
	}
	if _, err := t.MaxSegment(core.AttachSpec{}); err != nil {
		return err
	}
	n, err := t.MaxSegmentOfAll(core.AttachSpec{})
	if err != nil {
		return err
	}
	if err := ep.AttachSegment(fmt.Sprint(n)); err != nil {
		return err
	}
	return useLargest(t, ep, n)
}
