package coretest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var negotiationCases = []Case{{
	Name:  "negotiation/request",
	Rule:  "a prepared request gets a buffer of least to most bytes, and handler, arguments, length and perhaps the offset at Commit (GASNet-EX, negotiated-payload AMs)",
	Ranks: []int{1, 2}, Body: negotiationRequest,
}, {
	Name:  "negotiation/reply",
	Rule:  "a prepared reply gets a buffer of least to most bytes, and handler, arguments, length and perhaps the offset at Commit",
	Ranks: []int{1, 2}, Body: negotiationReply,
}, {
	Name:  "negotiation/immediate",
	Rule:  "an immediate Prepare is granted or refused with ErrNoRoom, never more",
	Ranks: []int{2}, Body: negotiationImmediate,
}}

// deal is one negotiation: what is offered and how many bytes are sent in the end; -1
// stands for all that was granted.
type deal struct {
	least, most, n int
	own            bool // a buffer of the caller's
	outside        bool // one of the library outside the Go heap
	later          bool // Long: the offset is given at Commit
}

// deals are those to try with a limit.
func deals(k core.Kind, limit int) []deal {
	ds := []deal{
		{0, 0, 0, false, false, false}, {0, 0, 0, true, false, false}, {3, 3, 3, false, false, false}, {0, 64, 64, false, false, false}, {0, 64, 0, false, false, false},
		{100, 100, 100, false, false, false}, {100, 100, 99, true, false, false}, {8, 1000, 500, false, false, false}, {8, 1000, 1, true, false, false},
		{0, 2 * segment, -1, false, false, false}, {limit, limit, limit, false, false, false}, {limit, 2 * segment, -1, true, false, false},
		{3, 3, 3, false, true, false}, {0, 5000, -1, false, true, false}, {limit, limit, limit, false, true, false},
	}
	if k == core.Long {
		for _, d := range ds {
			d.later = true
			ds = append(ds, d)
		}
	}
	return ds
}

// offer describes the deal, with a Long's place at off.
func (d deal) offer(k core.Kind, off uint64, nargs int) core.Offer {
	o := core.Offer{Kind: k, Least: d.least, Most: d.most, NArgs: nargs, Outside: d.outside}
	if d.own {
		o.Buf = make([]byte, d.most)
	}
	if k == core.Long {
		if o.Off = off; d.later {
			o.Off = core.OffsetLater
		}
	}
	return o
}

// assemble checks what was granted and fills it; it returns how many bytes to send.
func (d deal) assemble(t *T, o core.Offer, b []byte, limit int, seed uint32) int {
	if len(b) < o.Least || len(b) > o.Most || len(b) > limit {
		t.Errorf("granted %d bytes; least %d, most %d, limit %d", len(b), o.Least, o.Most, limit)
	}
	if o.Buf != nil && len(b) > 0 && address(b) != address(o.Buf) {
		t.Errorf("the caller's buffer is not used")
	}
	if o.Buf == nil && len(b) > 0 && address(b)%8 != 0 {
		t.Errorf("the buffer at %#x is not aligned to 8 bytes", address(b))
	}
	n := d.n
	if n < 0 {
		n = len(b)
	}
	copy(b, pattern(seed, len(b)))
	return n
}

// args are arguments for a negotiated message; the first two are seed and length.
func dealArgs(seed uint32, n, nargs int) []uint32 {
	args := make([]uint32, nargs)
	for i := range args {
		args[i] = seed + uint32(i)
	}
	args[0], args[1] = seed, uint32(n)
	return args
}

// checkDeal compares what arrived.
func checkDeal(t *T, args []uint32, data []byte) {
	if err := checkPayload(data, args[0], int(args[1])); err != nil {
		t.Errorf("negotiated payload: %v", err)
	}
	for i := 2; i < len(args); i++ {
		if args[i] != args[0]+uint32(i) {
			t.Errorf("argument %d is %d, want %d", i, args[i], args[0]+uint32(i))
		}
	}
}

func negotiationRequest(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		checkDeal(t, args, data)
		if want := uint64(len(args) % 3); tok.Kind() == core.Long && tok.Offset() != want {
			t.Errorf("offset %d, want %d", tok.Offset(), want)
		}
		tok.ReplyShort(answer)
	}, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	sent := 0
	for _, k := range []core.Kind{core.Medium, core.Long} {
		limit := ep.MaxPayload(t.Next(), k, false) - 2 // where the offset is 2
		for _, d := range deals(k, limit) {
			seed, nargs := uint32(sent), 2+sent%15
			off := uint64(nargs % 3)
			o := d.offer(k, off, nargs)
			b, err := ep.Prepare(t.Next(), o)
			if err != nil {
				return fmt.Errorf("%v %+v: %w", k, d, err)
			}
			n := d.assemble(t, o, b, ep.MaxPayload(t.Next(), k, false), seed)
			if d.later {
				n = min(n, segment-2)
				err = ep.CommitAt(request, n, off, dealArgs(seed, n, nargs)...)
			} else {
				err = ep.Commit(request, n, dealArgs(seed, n, nargs)...)
			}
			if err != nil {
				return fmt.Errorf("%v %+v: %w", k, d, err)
			}
			sent++
			if err := t.Wait(&ep.Context, func() bool { return got >= sent }); err != nil {
				return err
			}
		}
	}
	return ep.Barrier()
}

func negotiationReply(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		k, seed, nargs := core.Kind(args[0]), args[1], 2+int(args[1])%15
		limit := tok.Endpoint().MaxPayload(tok.Src(), k, true)
		d := deals(k, limit-2)[args[2]]
		off := uint64(nargs % 3)
		o := d.offer(k, off, nargs)
		b, err := tok.Prepare(o)
		if err != nil {
			t.Errorf("%v %+v: %v", k, d, err)
			return
		}
		n := d.assemble(t, o, b, limit, seed)
		if d.later {
			n = min(n, segment-2)
			err = tok.CommitAt(answer, n, off, dealArgs(seed, n, nargs)...)
		} else {
			err = tok.Commit(answer, n, dealArgs(seed, n, nargs)...)
		}
		if err != nil {
			t.Errorf("%v %+v: %v", k, d, err)
		}
	}, func(tok *core.Token, args []uint32, data []byte) {
		got++
		checkDeal(t, args, data)
		if want := uint64(len(args) % 3); tok.Kind() == core.Long && tok.Offset() != want {
			t.Errorf("offset %d, want %d", tok.Offset(), want)
		}
	})
	if err != nil {
		return err
	}
	sent := 0
	for _, k := range []core.Kind{core.Medium, core.Long} {
		for i := range deals(k, 512) {
			if err := ep.RequestShort(t.Next(), request, uint32(k), uint32(sent), uint32(i)); err != nil {
				return err
			}
			sent++
			if err := t.Wait(&ep.Context, func() bool { return got >= sent }); err != nil {
				return err
			}
		}
	}
	return ep.Barrier()
}

func negotiationImmediate(t *T) error {
	asked := newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked.add(tok.Src(), args[0])
		if err := checkPayload(data, args[0], 8); err != nil {
			t.Errorf("payload: %v", err)
		}
	})
	if err != nil {
		return err
	}
	n := t.Times(1000)
	for sent := 0; sent < n; {
		b, err := ep.Prepare(t.Next(), core.Offer{Kind: core.Medium, Least: 8, Most: 8, NArgs: 1, Immediate: true})
		if err == core.ErrNoRoom {
			err = ep.Poll()
		} else if err == nil {
			copy(b, pattern(uint32(sent), 8))
			err = ep.Commit(request, 8, uint32(sent))
			sent++
		}
		if err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return asked.n >= n })
}
