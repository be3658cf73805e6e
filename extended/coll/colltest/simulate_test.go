package colltest_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/colltest"
)

// TestFaults has two members' schedules with one fault each, and one without.
func TestFaults(t *testing.T) {
	src, dst := coll.Span{Buf: coll.Src, Len: 8}, coll.Span{Buf: coll.Dst, Len: 8}
	shm := coll.Span{Buf: coll.Shm, Len: 8} // of member 0
	// read has member 1 read member 0's Shm and say so.
	read := func(b *coll.Builder) {
		b.Await(b.RecvSignal(0))
		b.Copy(dst, shm)
		b.Signal(0)
	}
	for _, x := range []struct {
		want string
		a, b func(b *coll.Builder)
	}{
		{"", func(b *coll.Builder) {
			b.Send(1, src)
			b.Take(1, dst)
		}, func(b *coll.Builder) {
			b.Send(0, src)
			b.Take(0, dst)
		}},
		{"", func(b *coll.Builder) {
			b.Copy(b.Shared(0, 8), src)
			b.Signal(1)
			b.Await(b.RecvSignal(1))
		}, read},
		{"deadlock: member 0 waits for message 0 of 1, member 1 waits", func(b *coll.Builder) {
			b.Take(1, dst)
			b.Send(1, src)
		}, func(b *coll.Builder) {
			b.Take(0, dst)
			b.Send(0, src)
		}},
		{"does not expect message 0", func(b *coll.Builder) { b.Send(1, src) }, func(*coll.Builder) {}},
		{"expects 4", func(b *coll.Builder) { b.Send(1, src) }, func(b *coll.Builder) { b.Take(0, dst.Part(0, 4)) }},
		{"does not await", func(b *coll.Builder) { b.Send(1, src) }, func(b *coll.Builder) { b.Recv(0, dst) }},
		{"not the member's to write", func(b *coll.Builder) { b.Send(1, src) }, func(b *coll.Builder) { b.Take(0, src) }},
		{"not the member's to write", func(b *coll.Builder) { b.Copy(src.Part(0, 4), src.Part(4, 4)) }, func(*coll.Builder) {}},
		{"undefined", func(b *coll.Builder) { b.Copy(dst, b.Temp(8)) }, func(*coll.Builder) {}},
		{"undefined", func(b *coll.Builder) { b.Combine(dst, src) }, func(*coll.Builder) {}},
		{"overlap", func(b *coll.Builder) { b.Combine(src, src.Part(0, 8)) }, func(*coll.Builder) {}},
		{"8 to 16 of 8", func(b *coll.Builder) { b.Copy(dst, src.Part(8, 8)) }, func(*coll.Builder) {}},
		{"uses memory that message 0 may come to", func(b *coll.Builder) { b.Send(1, src) }, func(b *coll.Builder) {
			b.Copy(dst, src)
			b.Take(0, dst)
		}},
		{"may come to the memory of another", func(b *coll.Builder) {
			b.Send(1, src)
			b.Send(1, src)
		}, func(b *coll.Builder) {
			b.Take(0, dst)
			b.Take(0, dst)
		}},
		{"does not know where", func(b *coll.Builder) { b.Copy(b.Shared(0, 8), src) }, func(b *coll.Builder) { b.Copy(dst, shm) }},
		{"reads Shm that member 0 may write in its step 1", func(b *coll.Builder) { // it gives it away too early
			b.Signal(1)
			b.Copy(b.Shared(0, 8), src)
			b.Await(b.RecvSignal(1))
		}, func(b *coll.Builder) {
			b.Await(b.RecvSignal(0))
			b.Copy(dst, shm)
			b.Signal(0)
		}},
		{"reads Shm that member 0 may write in its step 2", func(b *coll.Builder) { // ends too early
			b.Copy(b.Shared(0, 8), src)
			b.Signal(1)
		}, func(b *coll.Builder) {
			b.Await(b.RecvSignal(0))
			b.Copy(dst, shm)
		}},
		{"reads Shm that member 0 may write in its step 2", func(b *coll.Builder) { // writes it again too early
			b.Copy(b.Shared(0, 8), src)
			b.Signal(1)
			b.Copy(shm.Part(0, 4), src.Part(0, 4))
			b.Await(b.RecvSignal(1))
		}, read},
	} {
		var a, b coll.Builder
		x.a(&a)
		x.b(&b)
		members := []colltest.Member{{Schedule: a.Schedule()}, {Schedule: b.Schedule()}}
		for i := range members {
			m := &members[i]
			m.Mem, m.Src, m.Dst = make([]byte, 16), colltest.Extent{Off: 0, Len: 8}, colltest.Extent{Off: 8, Len: 8}
		}
		// The first member goes first: what is wrong must be found in any order.
		first := func(ready []colltest.Event) int {
			for i, e := range ready {
				if e.Member == 0 {
					return i
				}
			}
			return 0
		}
		err := colltest.Simulate(members, func(dst, src []byte) { dst[0] += src[0] }, first)
		switch {
		case x.want == "" && err != nil:
			t.Errorf("no fault: %v", err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("error %v, want %q", err, x.want)
		}
	}
}
