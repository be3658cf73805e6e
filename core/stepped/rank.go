package stepped

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// Rank is a rank's side: what core.JoinStepped wants. One goroutine at a time uses it, but for Abort and Exit, which any may call.
type Rank struct {
	link *link
	ways Ways
	rank core.Rank
	all  []core.Rank

	now      core.Time // that the model has told last
	charged  core.Time // since
	arrivals uint64
	waiting  string
	explain  func(op string) core.Place
	over     error // why no call is answered any more

	conduits uint64
	port     *core.Port // where messages go; nil before a conduit attaches
	segment  []byte
	flights  map[uint64]*flight // operations under way, and payloads that the model still has, by number
	flown    uint64
}

// Ways are how a rank leaves.
type Ways struct {
	// Over is called on the goroutine that waits for an answer, when the job is over in place of that. It does not return.
	Over func(status int)
	// Exit ends the rank's process. It does not return.
	Exit func(status int)
}

// Connect joins the job whose model is at the other end of the socket, and returns when it is this rank's turn for the first time. The
// socket stays the caller's, who closes it when the rank has left. wait, if not nil, waits until the socket is readable.
func Connect(socket int, ways Ways, wait func()) (*Rank, error) {
	r := &Rank{link: newLink(socket, wait), ways: ways, flights: make(map[uint64]*flight)}
	in, err := r.call(callJoin, nil)
	if err != nil {
		return nil, err
	}
	r.rank = core.Rank(in.Uint32())
	r.all = make([]core.Rank, in.Uint32())
	for i := range r.all {
		r.all[i] = core.Rank(i)
	}
	return r, in.End()
}

// call has the model carry something out and returns what it answers, or the error that it answers. Before the answer the model may
// call the rank.
func (r *Rank) call(w word, more func([]byte) []byte) (*wire.Reader, error) {
	if r.over != nil {
		return nil, r.over
	}
	r.say(w, more)
	for {
		body, err := r.link.receive()
		if err != nil {
			r.end(&core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("the process of the model is lost: %v", err)})
		}
		in := wire.NewReader(body)
		w := word(in.Uint8())
		if w == over {
			r.end(&core.ExitError{Status: int(in.Uint32()), Reason: in.Text()})
		}
		r.heed(in)
		switch w {
		case answer:
			if in.Uint8() == 0 {
				return nil, errors.New(in.Text())
			}
			return in, nil
		case runHandler, runLong:
			replied := r.dispatch(w, in)
			r.say(handled, func(b []byte) []byte { return flag(b, replied) })
		case askPlace:
			p, err := json.Marshal(r.explain(in.Text()))
			if err != nil {
				panic(err) // nothing in it can fail
			}
			r.say(placed, func(b []byte) []byte { return append(b, p...) })
		}
	}
}

// must is call for what has no error but a breach of the protocol.
func (r *Rank) must(w word, more func([]byte) []byte) *wire.Reader {
	in, err := r.call(w, more)
	if err != nil && r.over == nil {
		panic(fmt.Sprintf("stepped: rank %d: %v", r.rank, err))
	}
	if err != nil {
		return wire.NewReader(nil)
	}
	return in
}

// say sends what the rank has to say, with the time that it has charged.
func (r *Rank) say(w word, more func([]byte) []byte) {
	b := wire.AppendUint64([]byte{byte(w)}, uint64(r.charged))
	r.charged = 0
	if more != nil {
		b = more(b)
	}
	_ = r.link.send(b, -1) // if the model is gone, so is its answer
}

// heed takes note of what comes with each frame.
func (r *Rank) heed(in *wire.Reader) {
	r.now, r.arrivals = core.Time(in.Uint64()), in.Uint64()
	for range in.Uint32() {
		r.completed(in.Uint64(), in.Uint8() != 0, in.Bytes())
	}
}

// end has the rank leave, as the job is over.
func (r *Rank) end(x *core.ExitError) {
	r.over = x
	r.ways.Over(max(1, x.Status))
	panic("stepped: Ways.Over has returned")
}

// Rank implements core.Bootstrap.
func (r *Rank) Rank() core.Rank { return r.rank }

// Size implements core.Bootstrap.
func (r *Rank) Size() int { return len(r.all) }

// Local implements core.Bootstrap: the ranks of a model are on one host, unless the conduit says otherwise.
func (r *Rank) Local() []core.Rank { return r.all }

// Host implements core.Bootstrap.
func (r *Rank) Host(core.Rank) int { return 0 }

// Exchange implements core.Bootstrap.
func (r *Rank) Exchange(b []byte) ([][]byte, error) {
	in, err := r.call(callExchange, func(f []byte) []byte { return wire.AppendBytes(f, b) })
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(r.all))
	for i := range all {
		all[i] = in.Bytes()
	}
	return all, in.End()
}

// Barrier implements core.Bootstrap.
func (r *Rank) Barrier() error {
	_, err := r.call(callBarrier, nil)
	return err
}

// Abort implements core.Bootstrap.
func (r *Rank) Abort(status int, reason string) {
	b := wire.AppendText(wire.AppendUint32([]byte{byte(abort)}, uint32(status)), reason)
	_ = r.link.send(b, -1) // else the job is over
}

// Done implements core.Bootstrap. In virtual time nobody asks: the job's end is told in place of an answer.
func (r *Rank) Done() <-chan error { return nil }

// Close implements core.Bootstrap.
func (r *Rank) Close() error {
	_, err := r.call(callLeave, nil)
	return err
}

// Record implements core.Recorder.
func (r *Rank) Record(b []byte) bool {
	in := r.must(callRecord, func(f []byte) []byte { return wire.AppendBytes(f, b) })
	return in.Uint8() != 0
}

// Exit implements core.Exiter.
func (r *Rank) Exit(status int) { r.ways.Exit(status) }

// Now implements core.Process.
func (r *Rank) Now() core.Time { return r.now + r.charged }

// Charge implements core.Process. The model refuses what leads beyond virtual time.
func (r *Rank) Charge(d core.Time) { r.charged += d }

// Park implements core.Process.
func (r *Rank) Park(period core.Time) {
	r.must(callPark, func(b []byte) []byte { return wire.AppendText(wire.AppendUint64(b, uint64(period)), r.waiting) })
}

// SetWaiting implements core.Process.
func (r *Rank) SetWaiting(op string) { r.waiting = op }

// Explain implements core.Process.
func (r *Rank) Explain(f func(op string) core.Place) { r.explain = f }

// Arrived implements core.Process.
func (r *Rank) Arrived() uint64 { return r.arrivals }

// LastSetUp implements core.Process.
func (r *Rank) LastSetUp() core.Time { return core.Time(r.must(callSetUp, nil).Uint64()) }

// Disturb implements core.Process.
func (r *Rank) Disturb(what string) {
	r.must(callDisturb, func(b []byte) []byte { return wire.AppendText(b, what) })
}

// NewConduit implements core.Stepped.
func (r *Rank) NewConduit() core.Conduit {
	r.conduits++
	return &conduit{r: r, number: r.conduits}
}
