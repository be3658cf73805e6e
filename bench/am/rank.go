package am

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
)

const verb = "am"

const (
	onPing   core.HandlerIndex = core.ClientHandlers + iota // reply as you were sent
	onPong                                                  // count an answer
	onSink                                                  // count one of a stream, answer the last
	onExpect                                                // so many are to come
	onArrive                                                // count one of an exchange
	onLand                                                  // as onSink, without a look at the payload
	onAsk                                                   // reply with the argument
	onTell                                                  // count an answer for the context that the argument names
)

// rank is the state of one rank.
type rank struct {
	runner.Rank
	ep      *core.Endpoint
	answers int    // that came back here
	sunk    int    // of the stream
	expect  int    // its length
	arrived int    // of exchanges
	told    []lane // answers for each context
	payload []byte // what is sent
	private []byte // where a stream is copied to
}

// RankMain returns unless this process was started as a rank of this benchmark.
func RankMain() { runner.RankMain(verb, runRank) }

func runRank(p *runner.Plan, job *core.Job) error {
	r := &rank{Rank: runner.Rank{Plan: p, Job: job}}
	if slices.ContainsFunc(p.Ops, func(op string) bool { return slices.Contains([]string{PingPong, Stream, Bandwidth, LogGP}, op) }) {
		r.payload, r.private = runner.Buffer(runner.MaxSize), runner.Buffer(runner.MaxSize)
	}
	r.Do = r.exchanges
	if err := r.Pin(); err != nil {
		return err
	}
	var err error
	r.ep, err = job.Attach(core.AttachSpec{Handlers: r.Handlers(
		core.HandlerEntry{Index: onPing, Func: r.onPing},
		core.HandlerEntry{Index: onPong, Func: func(*core.Token, []uint32, []byte) { r.answers++ }},
		core.HandlerEntry{Index: onSink, Func: r.onSink},
		core.HandlerEntry{Index: onExpect, Func: func(t *core.Token, args []uint32, _ []byte) {
			r.sunk, r.expect = 0, int(args[0])
			t.ReplyShort(onPong)
		}},
		core.HandlerEntry{Index: onLand, Func: func(t *core.Token, _ []uint32, _ []byte) { r.count(t) }},
		core.HandlerEntry{Index: onAsk, Func: func(t *core.Token, args []uint32, _ []byte) { t.ReplyShort(onTell, args...) }},
		core.HandlerEntry{Index: onTell, Func: func(_ *core.Token, args []uint32, _ []byte) { r.told[args[0]].answers++ }},
		core.HandlerEntry{Index: onArrive, Func: func(*core.Token, []uint32, []byte) { r.arrived++ }},
	)})
	if err != nil {
		return err
	}
	return r.Run(r.ep, r.measure)
}

// measure is rank 0's part.
func (r *rank) measure() error {
	for _, op := range r.Ops {
		var err error
		switch op {
		case PingPong:
			err = r.pingPongs()
		case Flood:
			err = r.flood()
		case Stream:
			err = r.streams()
		case Bandwidth:
			err = r.bandwidth()
		case LogGP:
			err = r.logGP()
		case Poll:
			err = r.polls()
		case Startup:
			err = r.started()
		case Exchange:
			err = r.measureExchange()
		case Contexts:
			err = r.measureContexts()
		}
		if err != nil {
			return fmt.Errorf("am: %s: %w", op, err)
		}
	}
	return nil
}

func (r *rank) onPing(t *core.Token, _ []uint32, data []byte) {
	switch t.Kind() {
	case core.Short:
		t.ReplyShort(onPong)
	case core.Medium:
		t.ReplyMedium(onPong, data)
	case core.Long:
		t.ReplyLong(onPong, data, 0)
	}
}

func (r *rank) onSink(t *core.Token, _ []uint32, data []byte) {
	copy(r.private, data)
	r.count(t)
}

// count counts one of a stream and answers the last.
func (r *rank) count(t *core.Token) {
	if r.sunk++; r.sunk == r.expect {
		t.ReplyShort(onPong)
	}
}
