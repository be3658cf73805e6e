package coll

import "fmt"

type Op uint8

const (
	Barrier Op = iota
	Broadcast
	Reduce
	AllReduce
	Scatter
	Gather
	AllGather
	AllToAll
	Scan
	ExScan
	ScatterV
	GatherV
	AllGatherV
	AllToAllV
)

func (o Op) String() string {
	return [...]string{"Barrier", "Broadcast", "Reduce", "AllReduce", "Scatter", "Gather", "AllGather", "AllToAll", "Scan", "ExScan", "ScatterV", "GatherV", "AllGatherV", "AllToAllV"}[o]
}

// Rooted reports whether one member has a part of its own.
func (o Op) Rooted() bool {
	switch o {
	case Broadcast, Reduce, Scatter, Gather, ScatterV, GatherV:
		return true
	}
	return false
}

type Call struct {
	Op            Op
	N, Self, Root int
	Bytes, Elem   int
	InPlace       bool
	Commutes      bool
	Reach         bool
	ShmLimit      int
}

func Temp(c *Call) (*Schedule, error) {
	var b Builder
	all := func(o Buf, n int) Span { return Span{Buf: o, Len: n} }
	switch c.Op {
	case Barrier:
		for d := 1; d < c.N; d *= 2 {
			m := b.Recv((c.Self-d%c.N+c.N)%c.N, Span{})
			b.Send((c.Self+d)%c.N, Span{})
			b.Await(m)
		}
	case Broadcast:
		if c.Self == c.Root {
			b.Copy(all(Dst, c.Bytes), all(Src, c.Bytes))
			for i := range c.N {
				if i != c.Self {
					b.Send(i, all(Src, c.Bytes))
				}
			}
		} else {
			b.Await(b.Recv(c.Root, all(Dst, c.Bytes)))
		}
	case AllGather:
		mine := Span{Buf: Dst, Off: c.Self * c.Bytes, Len: c.Bytes}
		b.Copy(mine, all(Src, c.Bytes))
		for i := range c.N {
			if i != c.Self {
				b.Send(i, all(Src, c.Bytes))
			}
		}
		for i := range c.N {
			if i != c.Self {
				b.Await(b.Recv(i, Span{Buf: Dst, Off: i * c.Bytes, Len: c.Bytes}))
			}
		}
	case AllReduce:
		if c.Reach && c.N > 1 {
			sh := b.Shared(c.Self, c.Bytes)
			b.Copy(sh, all(Src, c.Bytes))
			for i := range c.N {
				if i != c.Self {
					b.Send(i, Span{})
				}
			}
			for i := range c.N {
				if i != c.Self {
					b.Await(b.Recv(i, Span{}))
				}
			}
			for i := range c.N {
				s := Span{Buf: Shm, Rank: i, Len: c.Bytes}
				if i == 0 {
					b.Copy(all(Dst, c.Bytes), s)
				} else {
					b.Combine(all(Dst, c.Bytes), s)
				}
			}
			for i := range c.N {
				if i != c.Self {
					b.Send(i, Span{})
				}
			}
			for i := range c.N {
				if i != c.Self {
					b.Await(b.Recv(i, Span{}))
				}
			}
			break
		}
		var got []Span
		var ms []int
		for i := range c.N {
			if i == c.Self {
				got, ms = append(got, all(Src, c.Bytes)), append(ms, -1)
				continue
			}
			b.Send(i, all(Src, c.Bytes))
			t := b.Temp(c.Bytes)
			got, ms = append(got, t), append(ms, b.Recv(i, t))
		}
		for i := range c.N {
			if ms[i] >= 0 {
				b.Await(ms[i])
			}
			if i == 0 {
				b.Copy(all(Dst, c.Bytes), got[i])
			} else {
				b.Combine(all(Dst, c.Bytes), got[i])
			}
		}
	default:
		return nil, fmt.Errorf("not there")
	}
	return b.Schedule(), nil
}
