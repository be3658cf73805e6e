package coretest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var handlerCases = []Case{{
	Name:  "handler/assignment",
	Rule:  "entries without index get the lowest free one at attach and the highest free one later, in table order, written back (gasnet_attach, gex_EP_RegisterHandlers)",
	Ranks: []int{2}, Body: handlerAssignment,
}, {
	Name:  "handler/late",
	Rule:  "handlers may be registered while the job runs; bad entries are refused and register nothing (gex_EP_RegisterHandlers)",
	Ranks: []int{2}, Config: lenient, Body: handlerLate,
}, {
	Name:  "handler/per-rank",
	Rule:  "only the index travels: what runs is what the destination registered (GASNet-1, handler registration)",
	Ranks: []int{3}, Body: handlerPerRank,
}, {
	Name:  "handler/refused-table",
	Rule:  "attach refuses reserved and duplicate indices and entries without function",
	Ranks: []int{2}, Config: lenient, Body: handlerRefusedTable,
}, {
	Name:  "handler/full-table",
	Rule:  "all 128 client indices can be used; there is no 129th",
	Ranks: []int{1}, Config: lenient, Body: handlerFullTable,
}, {
	Name:  "handler/unregistered-request",
	Rule:  "a message to an index without handler ends the job and says so",
	Ranks: []int{1, 2}, Want: endsWith(1, "handler 222", "no handler"),
	Body: func(t *T) error { return unregistered(t, true) },
}, {
	Name:  "handler/unregistered-reply",
	Rule:  "a reply to an index without handler ends the job and says so",
	Ranks: []int{1, 2}, Want: endsWith(1, "handler 222", "no handler"),
	Body: func(t *T) error { return unregistered(t, false) },
}}

// touch sends a Short to every rank at each of the indices and waits until as many have come.
func touch(t *T, ep *core.Endpoint, got *int, indices ...core.HandlerIndex) error {
	want := *got + len(indices)*t.Size()
	if err := ep.Barrier(); err != nil { // all have registered
		return err
	}
	for dst := range core.Rank(t.Size()) {
		for _, x := range indices {
			if err := ep.RequestShort(dst, x, uint32(x)); err != nil {
				return err
			}
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return *got >= want }); err != nil {
		return err
	}
	return ep.Barrier()
}

// expect returns a handler for a message whose argument is the handler's own index.
func expect(t *T, got *int) core.Handler {
	return func(tok *core.Token, args []uint32, _ []byte) {
		*got++
		if x := tok.Entry().Index; uint32(x) != args[0] {
			t.Errorf("a message for index %d ran handler %d", args[0], x)
		}
	}
}

func handlerAssignment(t *T) error {
	var got int
	h := expect(t, &got)
	first := []core.HandlerEntry{{Func: h}, {Index: 129, Func: h}, {Func: h}, {Index: 128, Func: h}, {Func: h}, {Index: 255, Func: h}}
	ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: first})
	if err != nil {
		return err
	}
	later := []core.HandlerEntry{{Func: h}, {Index: 253, Func: h}, {Func: h}}
	if err := ep.RegisterHandlers(later); err != nil {
		return err
	}
	var all []core.HandlerIndex
	for _, e := range append(first, later...) {
		all = append(all, e.Index)
	}
	if want := []core.HandlerIndex{130, 129, 131, 128, 132, 255, 254, 253, 252}; fmt.Sprint(all) != fmt.Sprint(want) {
		return fmt.Errorf("indices %v, want %v", all, want)
	}
	return touch(t, ep, &got, all...)
}

func handlerLate(t *T) error {
	var got int
	h := expect(t, &got)
	ep, err := attach(t, h)
	if err != nil {
		return err
	}
	bad := []core.HandlerEntry{{Index: request, Func: h}, {Index: 127, Func: h}, {Index: 1, Func: h}, {Index: 200}, {Func: h, NArgs: 17}, {Func: h, NArgs: -1}}
	for _, e := range bad {
		table := []core.HandlerEntry{{Func: h}, e}
		refused(t, fmt.Sprintf("entry %+v", e), ep.RegisterHandlers(table))
		if table[0].Index != core.AnyHandler {
			t.Errorf("a refused table was assigned index %d", table[0].Index)
		}
	}
	refused(t, "one index twice", ep.RegisterHandlers([]core.HandlerEntry{{Index: 200, Func: h}, {Index: 200, Func: h}}))
	if err := ep.RegisterHandlers(nil); err != nil {
		return err
	}
	table := []core.HandlerEntry{{Index: 200, Func: h}, {Func: h}}
	if err := ep.RegisterHandlers(table); err != nil {
		return err
	}
	if table[1].Index != 255 {
		t.Errorf("index %d, want 255", table[1].Index)
	}
	table[0].Func, table[1].Func = nil, nil // the table is the caller's again
	if err := touch(t, ep, &got, request, 200, 255); err != nil {
		return err
	}
	if err := ep.RegisterExtended([]core.HandlerEntry{{Index: 64, Func: h}, {Index: 127, Func: h}}); err != nil {
		return err
	}
	refused(t, "a client's index as an extended one", ep.RegisterExtended([]core.HandlerEntry{{Index: 128, Func: h}}))
	refused(t, "a core index as an extended one", ep.RegisterExtended([]core.HandlerEntry{{Index: 63, Func: h}}))
	return touch(t, ep, &got, 64, 127)
}

func handlerPerRank(t *T) error {
	var ran [3]int
	table := make([]core.HandlerEntry, 3)
	for i := range table {
		index := request + core.HandlerIndex((i+int(t.Rank()))%3)
		table[i] = core.HandlerEntry{Index: index, Func: func(*core.Token, []uint32, []byte) { ran[i]++ }}
	}
	ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: table})
	if err != nil {
		return err
	}
	if err := t.Others(func(dst core.Rank) error {
		return ep.RequestShort(dst, request+core.HandlerIndex((1+dst)%3)) // the second of dst's table
	}); err != nil {
		return err
	}
	if err := t.Wait(&ep.Context, func() bool { return ran[0]+ran[1]+ran[2] >= 2 }); err != nil {
		return err
	}
	if ran[1] != 2 {
		t.Errorf("handlers of the table ran %v times, want only the second", ran)
	}
	return nil
}

func handlerRefusedTable(t *T) error {
	for _, table := range [][]core.HandlerEntry{
		{{Index: 1, Func: ignore}}, {{Index: 64, Func: ignore}}, {{Index: 127, Func: ignore}}, {{Index: 128}},
		{{Index: 128, Func: ignore}, {Index: 128, Func: ignore}}, make([]core.HandlerEntry, 1),
	} {
		_, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: table})
		refused(t, fmt.Sprintf("table %+v", table), err)
	}
	return nil
}

func handlerFullTable(t *T) error {
	var got int
	table := make([]core.HandlerEntry, 128)
	for i := range table {
		table[i].Func = expect(t, &got)
	}
	ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: table})
	if err != nil {
		return err
	}
	refused(t, "a 129th handler", ep.RegisterHandlers([]core.HandlerEntry{{Func: ignore}}))
	var all []core.HandlerIndex
	for i := range 128 {
		all = append(all, core.HandlerIndex(128+i))
	}
	return touch(t, ep, &got, all...)
}

// unregistered sends a request or a reply to a handler that is not there.
func unregistered(t *T, asRequest bool) error {
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(222) })
	if err != nil {
		return err
	}
	h := request
	if asRequest {
		h = 222
	}
	if t.Rank() == 0 {
		if err := ep.RequestShort(t.Next(), h); err != nil {
			return err
		}
	}
	return ep.WaitUntil(func() bool { return false })
}
