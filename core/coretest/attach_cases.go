package coretest

import (
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/core"
)

var attachCases = []Case{{
	Name:  "attach/twice",
	Rule:  "attach succeeds once; a second call is refused (gasnet_attach)",
	Ranks: []int{1, 2}, Config: lenient,
	Body: func(t *T) error {
		if t.Endpoint() != nil {
			return fmt.Errorf("an endpoint before attach")
		}
		ep, err := attach(t)
		if err != nil {
			return err
		}
		_, err = t.Attach(core.AttachSpec{})
		refused(t, "a second Attach", err)
		refused(t, "AttachSegment after an Attach with a segment", ep.AttachSegment("4096"))
		if t.Endpoint() != ep {
			return fmt.Errorf("the endpoint is another now")
		}
		return ep.Barrier()
	},
}, {
	Name:  "attach/no-segment",
	Rule:  "Short and Medium messages need no segment (GASNet-EX, gex_Client_Init)",
	Ranks: []int{2, 3}, Body: attachNoSegment,
}, {
	Name:  "attach/segment-sizes",
	Rule:  "segments may differ in size among ranks, none included; they are zeroed, whole pages, and known to all",
	Ranks: []int{1, 3}, Config: lenient, Body: attachSegmentSizes,
}, {
	Name:  "attach/percentage",
	Rule:  "a percentage is a part of what the host has, divided among its ranks",
	Ranks: []int{1, 2},
	Body: func(t *T) error {
		ep, err := t.Attach(core.AttachSpec{Segment: "0.1%"})
		if err != nil {
			return err
		}
		seg := ep.Segment()
		if len(seg) < os.Getpagesize() || len(seg)%os.Getpagesize() != 0 {
			return fmt.Errorf("0.1%% of memory is a segment of %d bytes", len(seg))
		}
		seg[0], seg[len(seg)-1] = 1, 1
		return ep.Barrier()
	},
}, {
	Name:  "attach/largest-segment",
	Rule:  "the size of the largest segment can be asked before attaching, and a segment of that size attached (gasnet_getMaxLocalSegmentSize)",
	Ranks: []int{1, 2}, Needs: Plain, Body: attachLargestSegment,
}, {
	Name:  "attach/default-segment",
	Rule:  "without a size the segment is that of the configuration, 64 MB if it has none",
	Ranks: []int{1, 2},
	Body: func(t *T) error {
		ep, err := t.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		want := 64 << 20
		if t.Config().Segment != "" {
			if want, err = core.ParseSize(t.Config().Segment, 0); err != nil {
				return nil // a percentage
			}
		}
		if len(ep.Segment()) != want {
			return fmt.Errorf("a segment of %d bytes, want %d", len(ep.Segment()), want)
		}
		return nil
	},
}, {
	Name:  "attach/absurd-segment",
	Rule:  "a segment beyond the host's memory is refused with a clear error before anything is made",
	Ranks: []int{1, 2}, Want: endsWith(1, "segment", "available"),
	Body: func(t *T) error { return attachOnly(t, core.AttachSpec{Segment: "100000TB"}) },
}, {
	Name:  "attach/overflowing-segments",
	Rule:  "segments whose sum exceeds what a machine word holds are refused, too",
	Ranks: []int{4}, Want: endsWith(1, "segment", "available"),
	Body: func(t *T) error { return attachOnly(t, core.AttachSpec{Segment: "4194304TB"}) },
}, {
	Name:  "attach/one-absurd-segment",
	Rule:  "one rank's absurd segment fails the job on every rank",
	Ranks: []int{3}, Want: endsWith(1, "segment", "available"),
	Body: func(t *T) error {
		if t.Rank() == 1 {
			return attachOnly(t, core.AttachSpec{Segment: "100000TB"})
		}
		return attachOnly(t, core.AttachSpec{Segment: "4096"})
	},
}, {
	Name:  "attach/malformed-segment",
	Rule:  "what is not a size is refused with the forms that are",
	Ranks: []int{1, 2}, Config: lenient,
	Body: func(t *T) error {
		for _, s := range []string{"12furlongs", "-1", "1e99", "MB", "NaN", "50%%", "4 0 9 6"} {
			_, err := t.Attach(core.AttachSpec{Segment: s})
			refused(t, "segment "+s, err)
		}
		return nil
	},
}, {
	Name:  "attach/unknown-conduit",
	Rule:  "an unknown conduit is refused with the names of the known",
	Ranks: []int{1, 2}, Config: func(cfg *core.Config) { cfg.Conduit = "no-such-conduit" },
	Want: endsWith(1, "no-such-conduit", "known"),
	Body: func(t *T) error { return attachOnly(t, core.AttachSpec{}) },
}, {
	Name:  "attach/unknown-setting",
	Rule:  "a setting that the conduit does not know is refused by name",
	Ranks: []int{1, 2}, Config: func(cfg *core.Config) { cfg.Settings = map[string]string{"no-such-setting": "1"} },
	Want: endsWith(1, "no-such-setting"),
	Body: func(t *T) error { return attachOnly(t, core.AttachSpec{Segment: "4096"}) },
}}

// attachOnly is a body for attachments that fail.
func attachOnly(t *T, spec core.AttachSpec) error {
	_, err := t.Attach(spec)
	return err
}

func attachNoSegment(t *T) error {
	var got int
	ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: handlers(func(_ *core.Token, args []uint32, data []byte) {
		got++
		if err := checkPayload(data, 3, int(args[0])); err != nil {
			t.Errorf("Medium: %v", err)
		}
	})})
	if err != nil {
		return err
	}
	if len(ep.Segment()) != 0 || ep.SegmentSize(t.Next()) != 0 || ep.MaxPayload(t.Next(), core.Long, false) != 0 {
		t.Errorf("there is a segment")
	}
	for dst := range core.Rank(t.Size()) {
		if err := ep.RequestShort(dst, request, 0); err != nil {
			return err
		}
		if err := ep.RequestMedium(dst, request, pattern(3, 500), 500); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return got >= 2*t.Size() })
}

func attachLargestSegment(t *T) error {
	spec := core.AttachSpec{Handlers: handlers(ignore)}
	n, err := t.MaxSegment(spec)
	if err != nil {
		return err
	}
	all, err := t.MaxSegmentOfAll(spec)
	if err != nil {
		return err
	}
	then, err := t.MaxSegment(spec) // others may have given memory back since the first look
	if err != nil {
		return err
	}
	if page := os.Getpagesize(); n < page || n%page != 0 || all < page || all > max(n, then) {
		return fmt.Errorf("the largest segment has %d bytes here, and then %d, %d everywhere", n, then, all)
	}
	if t.Rank() == 0 { // the least that can be everywhere; elsewhere all that there is
		n = all
	}
	spec.Segment = fmt.Sprint(n)
	ep, err := t.Attach(spec)
	if err != nil {
		return err
	}
	return useLargest(t, ep, n)
}

// useLargest checks a segment of n bytes.
func useLargest(t *T, ep *core.Endpoint, n int) error {
	if len(ep.Segment()) != n {
		return fmt.Errorf("a segment of %d bytes, want %d", len(ep.Segment()), n)
	}
	if err := ep.RequestLong(t.Next(), request, pattern(1, 8), uint64(ep.SegmentSize(t.Next())-8)); err != nil {
		return err
	}
	return ep.Barrier()
}

// attachSegmentSizes gives rank r r pages, asked for in the middle of the last.
func attachSegmentSizes(t *T) error {
	page := os.Getpagesize()
	sizeOf := func(r core.Rank) int { return int(r) * page }
	var got int
	ep, err := t.Attach(core.AttachSpec{
		Segment: fmt.Sprint(max(0, sizeOf(t.Rank())-page/2)),
		Handlers: handlers(func(tok *core.Token, _ []uint32, data []byte) {
			got++
			n := min(sizeOf(t.Rank()), tok.Endpoint().MaxPayload(t.Rank(), core.Long, false))
			if err := checkPayload(data, uint32(tok.Src()), n); err != nil {
				t.Errorf("Long from rank %d: %v", tok.Src(), err)
			}
			tok.ReplyShort(answer)
		}, ignore),
	})
	if err != nil {
		return err
	}
	if seg := ep.Segment(); len(seg) > 0 && address(seg)%uintptr(page) != 0 {
		t.Errorf("the segment at %#x is not page aligned", address(seg))
	}
	for i, b := range ep.Segment() {
		if b != 0 {
			return fmt.Errorf("byte %d of a new segment is %d", i, b)
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	for r := range core.Rank(t.Size()) {
		if ep.SegmentSize(r) != sizeOf(r) {
			t.Errorf("rank %d has a segment of %d bytes, want %d", r, ep.SegmentSize(r), sizeOf(r))
		}
		refused(t, "a Long beyond the segment", ep.RequestLong(r, request, pattern(0, 1), uint64(sizeOf(r))))
	}
	for turn := range core.Rank(t.Size()) { // one after the other writes to all, everywhere if one Long can
		if turn == t.Rank() {
			for dst := range core.Rank(t.Size()) {
				n := min(sizeOf(dst), ep.MaxPayload(dst, core.Long, false))
				if err := ep.RequestLong(dst, request, pattern(uint32(turn), n), uint64(sizeOf(dst)-n)); err != nil {
					return err
				}
			}
		}
		if err := t.Wait(&ep.Context, func() bool { return got > int(turn) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return nil
}
