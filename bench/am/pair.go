package am

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
)

// Operations per sample at weight 1.
const (
	pingPongs   = 20_000
	floods      = 400_000
	emptyPolls  = 400_000
	streamBytes = 64 << 20
	// bandwidthBytes are more, as each is copied once or not at all.
	bandwidthBytes = 256 << 20
)

// category is the parameter of a series that names a kind of message.
func category(k core.Kind) bench.Param { return bench.Param{Key: "category", Value: k.String()} }

// sizes returns the payload sizes to measure of a category.
func (r *rank) sizes(k core.Kind) []int {
	if k == core.Short {
		return []int{0}
	}
	var sizes []int
	for _, n := range r.Sizes {
		if n <= r.ep.MaxPayload(1, k, false) && n <= len(r.payload) {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

func (r *rank) pingPongs() error {
	for _, k := range []core.Kind{core.Short, core.Medium, core.Long} {
		s := &bench.Series{
			Family: "AM", Title: k.String() + " AM round trip", Quantity: bench.RoundTrip,
			Params: r.Params(PingPong, category(k)),
		}
		for _, size := range r.sizes(k) {
			work := func(n int) error { return r.bounce(k, size, n) }
			n, err := r.Iters(max(10, r.Count(pingPongs)/(1+size>>14)), work)
			if err != nil {
				return err
			}
			point := bench.Result{Size: size, Ranks: 2, Iters: n}
			if err := r.Point(s, point, against.For(r.Plan).RoundTrip(size, n), work); err != nil {
				return err
			}
		}
		if err := runner.Emit(s); err != nil {
			return err
		}
	}
	return nil
}

// bounce makes n round trips.
func (r *rank) bounce(k core.Kind, size, n int) error {
	for range n {
		want := r.answers + 1
		if err := r.send(k, onPing, size, 0); err != nil {
			return err
		}
		if err := r.ep.WaitUntil(func() bool { return r.answers >= want }); err != nil {
			return err
		}
	}
	return nil
}

// send sends one message; a Long goes to one of several places in turn.
func (r *rank) send(k core.Kind, h core.HandlerIndex, size, place int) error {
	m := core.Message{Kind: k, Handler: h, Data: r.payload[:size]}
	switch k {
	case core.Short:
		return r.ep.RequestShort(1, h)
	case core.Long:
		m.Off = offset(place, size, r.ep.SegmentSize(1))
	}
	return r.ep.Request(1, m)
}

// offset returns where a Long of a stream goes: to places of their own cache lines in turn,
// 1 MB of them or 4, so that one can be filled while another is read, as in the floor's rings;
// fewer if the segment has no room for them, as the small ones of some models.
func offset(place, size, segment int) uint64 {
	stride := (size + 127) &^ 127
	places := max(1, min(max(4, 1<<20/stride), segment/stride))
	return uint64(place % places * stride)
}

// pour sends n messages one way and waits until the last has been handled.
func (r *rank) pour(k core.Kind, size, n int) error {
	return r.oneWay(n, func(i int) error { return r.send(k, onSink, size, i) })
}

// oneWay calls send n times, with the numbers of messages that go to onSink or onLand, and waits until
// the last has been handled.
func (r *rank) oneWay(n int, send func(i int) error) error {
	want := r.answers + 1
	if err := r.ep.RequestShort(1, onExpect, uint32(n)); err != nil {
		return err
	}
	if err := r.ep.WaitUntil(func() bool { return r.answers >= want }); err != nil {
		return err
	}
	for i := range n {
		if err := send(i); err != nil {
			return err
		}
	}
	return r.ep.WaitUntil(func() bool { return r.answers >= want+1 })
}

func (r *rank) flood() error {
	work := func(n int) error { return r.pour(core.Short, 0, n) }
	n, err := r.Iters(r.Count(floods), work)
	if err != nil {
		return err
	}
	s := &bench.Series{
		Family: "AM", Title: "flood of short AMs", Quantity: bench.Stream,
		Params: r.Params(Flood, category(core.Short)),
	}
	if err := r.Point(s, bench.Result{Ranks: 2, Iters: n}, against.For(r.Plan).Flood(n), work); err != nil {
		return err
	}
	return runner.Emit(s)
}

func (r *rank) streams() error {
	for _, k := range []core.Kind{core.Medium, core.Long} {
		s := &bench.Series{
			Family: "AM", Title: "stream of " + k.String() + " AMs, copied out", Quantity: bench.Stream,
			Params: r.Params(Stream, category(k)),
		}
		for _, size := range r.sizes(k) {
			work := func(n int) error { return r.pour(k, size, n) }
			n, err := r.Iters(max(16, min(r.Count(floods), r.Count(streamBytes)/size)), work)
			if err != nil {
				return err
			}
			point := bench.Result{Size: size, Ranks: 2, Iters: n}
			if err := r.Point(s, point, against.For(r.Plan).Stream(size, n), work); err != nil {
				return err
			}
		}
		if err := runner.Emit(s); err != nil {
			return err
		}
	}
	return nil
}

// window is how many payloads are lent at once.
const window = 64

// bandwidth measures as programs do that want the most of a network: the payload is lent, and used
// where it lands.
func (r *rank) bandwidth() error {
	s := &bench.Series{
		Family: "AM", Title: fmt.Sprintf("Long AMs lent, up to %d at once, and not copied out", window), Quantity: bench.Stream,
		Params: r.Params(Bandwidth, category(core.Long)),
	}
	for _, size := range r.sizes(core.Long) {
		work := func(n int) error { return r.lend(size, n) }
		n, err := r.Iters(max(2*window, min(r.Count(floods), r.Count(bandwidthBytes)/size)), work)
		if err != nil {
			return err
		}
		point := bench.Result{Size: size, Ranks: 2, Iters: n}
		if err := r.Point(s, point, against.For(r.Plan).Bandwidth(size, n), work); err != nil {
			return err
		}
	}
	return runner.Emit(s)
}

// lend sends n Longs to one place, and waits until the last has been handled.
func (r *rank) lend(size, n int) error {
	var lent core.Completion
	m := core.Message{Kind: core.Long, Handler: onLand, Data: r.payload[:size], LC: &lent}
	room := func() bool { return lent.Pending() < window }
	err := r.oneWay(n, func(int) error {
		if !room() {
			if err := r.ep.WaitSilent(room); err != nil {
				return err
			}
		}
		return r.ep.Request(1, m)
	})
	if err != nil {
		return err
	}
	return r.ep.WaitLocal(&lent)
}

// polls times polls that find nothing.
func (r *rank) polls() error {
	s := &bench.Series{Family: "AM", Title: "empty poll", Params: r.Params(Poll), Quantity: bench.Duration, Axis: bench.Ranks}
	point := bench.Result{Ranks: r.ep.Size(), Iters: r.Count(emptyPolls)}
	err := r.Point(s, point, nil, func(n int) error {
		for range n {
			if err := r.ep.Poll(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return runner.Emit(s)
}
