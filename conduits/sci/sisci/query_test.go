package sisci

import "testing"

func TestQuery(t *testing.T) {
	d := newNetwork(t, 2, small, together, nil).devs[1]
	expect := func(q Query, want int) {
		t.Helper()
		if got, err := d.Query(q); err != nil || got != want {
			t.Errorf("query %d: %d, %v; want %d", q, got, err, want)
		}
	}
	expect(QueryNodeID, 1)
	expect(QueryDMASizeAlignment, 8)
	expect(QueryDMAOffsetAlignment, 8)
	expect(QueryMaxSegment, 6*page)
	s, err := d.CreateSegment(1, 2*page-1, 0, nil)
	ok(t, err)
	expect(QueryMaxSegment, 4*page)
	ok(t, s.Remove())
	expect(QueryMaxSegment, 6*page)
	expect(QueryLink, 1)
	ok(t, d.SetLink(0, false))
	expect(QueryLink, 1)
	ok(t, d.SetLink(1, false))
	expect(QueryLink, 0)
	if mtu, err := d.Query(QueryDMAMTU); err != nil || mtu < small.Memory || mtu%DMAAlignment != 0 {
		t.Errorf("DMA MTU %d, %v", mtu, err)
	}
	if d.Node() != 1 {
		t.Errorf("node %d", d.Node())
	}
}
