package exttest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var attachCases = []coretest.Case{{
	Name:  "attach/segment-later",
	Rule:  "teams, barriers and collectives work before there are segments; all else when they have come (gex_Client_Init, gex_Segment_Attach)",
	Ranks: []int{1, 2, 3}, Config: lenient, Body: segmentLater,
}, {
	Name:  "attach/teams-beside",
	Rule:  "a goroutine may make teams and use them while another attaches the segment",
	Ranks: []int{5}, Needs: coretest.Threads, Body: teamsBeside,
}}

// teamsBeside makes teams until all ranks have their segments, and some more.
func teamsBeside(t *coretest.T) error {
	ep, err := extended.Attach(t.Job, core.AttachSpec{SegmentLater: true})
	if err != nil {
		return err
	}
	all, err := ep.World().Split(&ep.Context, 0, 0) // the world is for AttachSegment
	if err != nil {
		return err
	}
	var attached atomic.Uint64
	var g errgroup.Group
	g.Go(func() error {
		c := ep.NewContext()
		for {
			have, err := sumOf(c, all, attached.Load())
			if err != nil || have == uint64(t.Size()) {
				return err
			}
			team, err := all.Split(c, 0, -int(t.Rank()))
			if err != nil {
				return err
			}
			if err := sum(c, team); err != nil {
				return err
			}
			if err := team.Free(c); err != nil {
				return err
			}
		}
	})
	err = ep.AttachSegment("4096")
	attached.Store(1)
	return errors.Join(err, g.Wait())
}

// segmentLater gives rank r 16 + r pages, while a barrier and a broadcast are under way.
func segmentLater(t *coretest.T) error {
	ep, err := extended.Attach(t.Job, core.AttachSpec{SegmentLater: true})
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	sizeOf := func(r core.Rank) int { return (16 + int(r)) * os.Getpagesize() }
	err = ep.Put(t.Next(), 0, []byte{1})
	if u := (*core.UsageError)(nil); !errors.As(err, &u) || !strings.Contains(err.Error(), "AttachSegment") || ep.SegmentSize(t.Next()) != 0 {
		t.Errorf("a put before there are segments: %v", err)
	}
	if near, err := ep.NeighborhoodTeam(c); err != nil || near.RankOf(t.Rank()) < 0 {
		t.Errorf("the neighbourhood before there are segments: %v, %v", near, err)
	}
	if err := sum(c, w); err != nil {
		return err
	}
	root, told := w.Size()-1, make([]byte, 70_000)
	said := fill(make([]byte, len(told)), 7)
	ev, err := w.BroadcastNB(c, root, told, said)
	if err != nil {
		return err
	}
	if err := w.Notify(c, 5, 0); err != nil {
		return err
	}
	if err := ep.AttachSegment(fmt.Sprint(sizeOf(t.Rank()))); err != nil {
		return err
	}
	if err := w.WaitBarrier(c, 5, 0); err != nil {
		return err
	}
	if err := ep.Wait(ev); err != nil || !bytes.Equal(told, said) {
		t.Errorf("what was broadcast meanwhile has not come: %v", err)
	}
	if len(ep.Segment()) != sizeOf(t.Rank()) || ep.SegmentSize(t.Next()) != sizeOf(t.Next()) || ep.Core().Extra() > 0 != ep.Core().Reaches() {
		t.Errorf("a segment of %d bytes, of %d at the next rank; %d beyond", len(ep.Segment()), ep.SegmentSize(t.Next()), ep.Core().Extra())
	}
	all := !slices.ContainsFunc(w.Members(), func(r core.Rank) bool { return ep.Local(r) == nil })
	if w.Reach() != all {
		t.Errorf("the world has direct reach: %t; this rank reaches all: %t", w.Reach(), all)
	}
	b := fill(make([]byte, 1000), uint64(t.Rank()))
	at := uint64(sizeOf(t.Next()) - len(b))
	if err := ep.Put(t.Next(), at, b); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	from := (int(t.Rank()) + t.Size() - 1) % t.Size()
	if !bytes.Equal(ep.Segment()[sizeOf(t.Rank())-len(b):], fill(make([]byte, len(b)), uint64(from))) {
		t.Errorf("what rank %d has put is not there", from)
	}
	got := make([]byte, len(b))
	if err := ep.Get(got, t.Next(), at); err != nil || !bytes.Equal(got, b) {
		t.Errorf("what was put is not what is got: %v", err)
	}
	if err := ep.Put(t.Next(), uint64(sizeOf(t.Next())), b); err == nil {
		t.Errorf("a put beyond the program's part was accepted")
	}
	return sum(c, w)
}

// sum checks an AllReduce.
func sum(c *extended.Context, w *extended.Team) error {
	var total [8]byte
	if err := w.AllReduce(c, total[:], []byte{1, 0, 0, 0, 0, 0, 0, 0}, extended.Reduction{Type: extended.Uint64, Op: extended.Add}); err != nil {
		return err
	}
	if int(total[0]) != w.Size() {
		return fmt.Errorf("%d ranks add up to %d", w.Size(), total[0])
	}
	return nil
}
