package coll_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/colltest"
)

// lenOf is how much i sends to j: nothing now and then.
func lenOf(i, j int) int { return (i*7 + j*5) % 4 * 3 }

// Every member sends every other a block of a length of its own; source and destination
// have gaps that nothing touches. It is the same if empty blocks are told of.
func TestExchange(t *testing.T) {
	const gap = 0xee
	for i := range 18 {
		n, told := 1+i/2, i%2 == 1
		var members []colltest.Member
		var want [][]byte
		for self := range n {
			var send, recv []coll.Span
			var src, dst []byte
			for i := range n {
				send = append(send, coll.Span{Buf: coll.Src, Off: len(src), Len: lenOf(self, i)})
				src = append(append(src, bytes.Repeat([]byte{byte(self<<4 | i)}, lenOf(self, i))...), gap)
				recv = append(recv, coll.Span{Buf: coll.Dst, Off: len(dst), Len: lenOf(i, self)})
				dst = append(append(dst, bytes.Repeat([]byte{byte(i<<4 | self)}, lenOf(i, self))...), gap)
			}
			want = append(want, dst)
			members = append(members, colltest.Member{
				Schedule: coll.Exchange(self, recv, send, told),
				Mem:      append(src, bytes.Repeat([]byte{gap}, len(dst))...),
				Src:      colltest.Extent{Off: 0, Len: len(src)},
				Dst:      colltest.Extent{Off: len(src), Len: len(dst)},
			})
		}
		if err := colltest.Simulate(members, nil, colltest.Random(uint64(n))); err != nil {
			t.Fatalf("%d members, told %v: %v", n, told, err)
		}
		for i, m := range members {
			if got := m.Mem[m.Dst.Off:]; !bytes.Equal(got, want[i]) {
				t.Errorf("%d members, told %v: member %d has %x, want %x", n, told, i, got, want[i])
			}
		}
	}
}

// A root that sends and members that receive give nil for the other direction.
func TestExchangeOneWay(t *testing.T) {
	for _, told := range []bool{false, true} {
		oneWay(t, told)
	}
}

func oneWay(t *testing.T, told bool) {
	one := coll.Span{Buf: coll.Dst, Len: 4}
	root := coll.Exchange(0, []coll.Span{one, {}}, []coll.Span{{Buf: coll.Src, Len: 4}, {Buf: coll.Src, Off: 4, Len: 4}}, told)
	other := coll.Exchange(1, []coll.Span{one, {}}, nil, told)
	members := []colltest.Member{
		{Schedule: root, Mem: []byte("abcdefgh...."), Src: colltest.Extent{Off: 0, Len: 8}, Dst: colltest.Extent{Off: 8, Len: 4}},
		{Schedule: other, Mem: make([]byte, 4), Dst: colltest.Extent{Off: 0, Len: 4}},
	}
	if err := colltest.Simulate(members, nil, colltest.Random(1)); err != nil {
		t.Fatal(err)
	}
	if a, b := members[0].Mem[8:], members[1].Mem; string(a) != "abcd" || string(b) != "efgh" {
		t.Errorf("got %q and %q", a, b)
	}
}

// Where empty blocks are told of, members that differ on which are empty do not wait for each
// other for ever: one gets a message that it does not expect.
func TestExchangeTold(t *testing.T) {
	none, some := make([]coll.Span, 2), []coll.Span{{}, {Buf: coll.Dst, Len: 4}}
	err := colltest.Simulate([]colltest.Member{
		{Schedule: coll.Exchange(0, some, none, true), Mem: make([]byte, 4), Dst: colltest.Extent{Len: 4}},
		{Schedule: coll.Exchange(1, none, none, true)},
	}, nil, colltest.Random(1))
	if err == nil || strings.Contains(err.Error(), "deadlock") {
		t.Errorf("one member has nothing for the other, which wants 4 bytes: %v", err)
	}
}

// Members of a call that is preceded by a meeting do the same, and all hear of each other.
func TestMeet(t *testing.T) {
	for n := 1; n <= 9; n++ {
		c := coll.Call{Op: coll.AllReduce, N: n, Bytes: 40, Elem: elem, Commutes: true}
		for _, a := range coll.Algorithms(c.Op) {
			if !a.Applies(&c) {
				continue
			}
			var members []colltest.Member
			var want []byte
			for c.Self = range n {
				m := member(t, c, coll.Choice{Algorithm: a, K: 64}, true)
				m.Schedule = coll.Meet(m.Schedule, c.Self, n)
				for i := range m.Mem {
					m.Mem[i] = byte(c.Self + i)
				}
				if c.Self == 0 {
					want = bytes.Clone(m.Mem)
				} else {
					add(want, m.Mem)
				}
				members = append(members, m)
			}
			if err := colltest.Simulate(members, add, colltest.Random(uint64(n))); err != nil {
				t.Fatalf("%s of %d members: %v", a.Name, n, err)
			}
			for i, m := range members {
				if !bytes.Equal(m.Mem, want) {
					t.Errorf("%s of %d members: member %d has %x, want %x", a.Name, n, i, m.Mem, want)
				}
			}
		}
	}
}
