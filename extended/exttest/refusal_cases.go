package exttest

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var refusalCases = []coretest.Case{{
	Name:  "refusal/handler",
	Rule:  "communication that is refused in a handler leaves nothing to be synchronised",
	Ranks: []int{1, 2}, Config: lenient, Body: refusalHandler,
}, {
	Name:  "refusal/prepared",
	Rule:  "communication that is refused between Prepare and Commit leaves nothing to be synchronised",
	Ranks: []int{1, 2}, Config: lenient, Body: refusalPrepared,
}, {
	Name:  "refusal/debug",
	Rule:  "in debug mode what is not allowed in a handler is refused there, also where memory is reached directly",
	Ranks: []int{1, 2}, Config: strict, Body: refusalDebug,
	Want: func(o *coretest.Outcome) error {
		if o.Err == nil {
			return errors.New("the job ended well")
		}
		return o.Says("called from the handler")
	},
}}

// strict has a case run with debug checks.
func strict(cfg *core.Config) { cfg.Debug = true }

// refusable is a call that is not allowed in a handler.
type refusable struct {
	name string
	call func(*extended.Context) error
}

// refusables are the calls that are not allowed in a handler, for rank to, where d is.
func refusables(d *extended.Domain, to core.Rank) []refusable {
	b, extent, chunk := make([]byte, 8), []extended.Extent{{Len: 8}}, extended.Chunks{Offs: []uint64{0}, Len: 8}
	at := extended.Section{}
	return append(refusableAtomics(d, to), []refusable{
		{"Put", func(c *extended.Context) error { return c.Put(to, 0, b) }},
		{"PutNB", func(c *extended.Context) error { return second(c.PutNB(to, 0, b, extended.LCNow)) }},
		{"PutNBI", func(c *extended.Context) error { return c.PutNBI(to, 0, b, extended.LCNow) }},
		{"Get", func(c *extended.Context) error { return c.Get(b, to, 0) }},
		{"GetNB", func(c *extended.Context) error { return second(c.GetNB(b, to, 0)) }},
		{"GetNBI", func(c *extended.Context) error { return c.GetNBI(b, to, 0) }},
		{"PutValue", func(c *extended.Context) error { return c.PutValue(to, 0, 1, 8) }},
		{"PutValueNB", func(c *extended.Context) error { return second(c.PutValueNB(to, 0, 1, 8)) }},
		{"PutValueNBI", func(c *extended.Context) error { return c.PutValueNBI(to, 0, 1, 8) }},
		{"GetValue", func(c *extended.Context) error { return second(c.GetValue(to, 0, 8)) }},
		{"GetValueNB", func(c *extended.Context) error { return second(c.GetValueNB(to, 0, 8)) }},
		{"Memset", func(c *extended.Context) error { return c.Memset(to, 0, 1, 8) }},
		{"MemsetNB", func(c *extended.Context) error { return second(c.MemsetNB(to, 0, 1, 8)) }},
		{"MemsetNBI", func(c *extended.Context) error { return c.MemsetNBI(to, 0, 1, 8) }},
		{"PutVector", func(c *extended.Context) error { return c.PutVector(to, extent, b, extent) }},
		{"PutIndexedNB", func(c *extended.Context) error {
			return second(c.PutIndexedNB(to, chunk, b, chunk, extended.LCNow))
		}},
		{"PutStridedNBI", func(c *extended.Context) error { return c.PutStridedNBI(to, at, b, at, 8, nil, extended.LCNow) }},
		{"GetVectorNBI", func(c *extended.Context) error { return c.GetVectorNBI(b, extent, to, extent) }},
		{"SplitPut", func(c *extended.Context) error { return c.SplitPut(to, 0, b, 8) }},
		{"SplitGet", func(c *extended.Context) error { return c.SplitGet(0, to, 0, 8, 8) }},
		{"Wait", func(c *extended.Context) error { return c.Wait(0) }},
		{"WaitAll", func(c *extended.Context) error { return c.WaitAll(nil) }},
		{"WaitSome", func(c *extended.Context) error { return c.WaitSome(nil) }},
		{"Test", func(c *extended.Context) error { return second(c.Test(0)) }},
		{"TestAll", func(c *extended.Context) error { return second(c.TestAll(nil)) }},
		{"TestSome", func(c *extended.Context) error { return second(c.TestSome(nil)) }},
		{"TestNBI", func(c *extended.Context) error { return second(c.TestNBI(extended.All)) }},
		{"WaitNBI", func(c *extended.Context) error { return c.WaitNBI(extended.All) }},
		{"WaitValue", func(c *extended.Context) error { return second(c.WaitValue(extended.ValueEvent{})) }},
		{"EndRegion", func(c *extended.Context) error { return second(c.EndRegion()) }},
		{"BeginRegion", func(c *extended.Context) error { return c.BeginRegion() }},
	}...)
}

// refusableAtomics are those of them that are a Domain's. They are refused also where memory is reached directly.
func refusableAtomics(d *extended.Domain, to core.Rank) []refusable {
	b, r := make([]byte, 8), int(to)
	return []refusable{
		{"Do", func(c *extended.Context) error { return second(d.Do(c, r, 0, extended.FAdd, 1, 0)) }},
		{"DoNB", func(c *extended.Context) error { return second(d.DoNB(c, b, r, 0, extended.FAdd, 1, 0)) }},
		{"DoNBI, fetching", func(c *extended.Context) error { return d.DoNBI(c, b, r, 0, extended.FAdd, 1, 0) }},
		{"DoNBI", func(c *extended.Context) error { return d.DoNBI(c, nil, r, 0, extended.Set, 1, 0) }},
	}
}

// second returns the error of a call that has a result too.
func second[T any](_ T, err error) error { return err }

// refused makes all calls, where memory is reached directly only those that are refused there too.
func refused(t *coretest.T, c *extended.Context, d *extended.Domain) {
	calls := refusables(d, t.Next())
	if c.Endpoint().Local(t.Next()) != nil && !c.Endpoint().Core().Job().Config().Debug {
		calls = refusableAtomics(d, t.Next())
	}
	for _, x := range calls {
		err := x.call(c)
		if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("%s gives %v", x.name, err)
		}
	}
}

// refusing attaches with a handler that does f, once run has sent the next rank a message.
func refusing(t *coretest.T, f func(*extended.Context, *extended.Domain)) (c *extended.Context, d *extended.Domain, run func() error, err error) {
	ran := 0
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { f(c, d); ran++ })
	if err != nil {
		return nil, nil, nil, err
	}
	c = &ep.Context
	if d, err = extended.NewDomain(c, ep.World(), extended.Uint64, extended.FAdd|extended.Set); err == nil {
		err = ep.Barrier() // then the handler has them, wherever it runs
	}
	return c, d, func() error {
		return errors.Join(c.RequestShort(t.Next(), core.ClientHandlers), t.Wait(c.Context, func() bool { return ran > 0 }))
	}, err
}

// nothingLeft checks that nothing is to be synchronised, and that all goes on.
func nothingLeft(t *coretest.T, c *extended.Context) error {
	quiet, err := c.TestNBI(extended.All)
	if err == nil && !quiet {
		t.Errorf("operations that were refused are to be synchronised")
		return t.Err()
	}
	return errorsOf(t, errors.Join(err, c.PutNBI(t.Next(), 0, make([]byte, 64), extended.LCNow), c.WaitNBI(extended.All), c.Endpoint().Barrier()))
}

func refusalHandler(t *coretest.T) error {
	c, _, run, err := refusing(t, func(c *extended.Context, d *extended.Domain) { refused(t, c, d) })
	if err == nil {
		err = run()
	}
	if err != nil {
		return err
	}
	return nothingLeft(t, c)
}

func refusalPrepared(t *coretest.T) error {
	c, d, run, err := refusing(t, func(*extended.Context, *extended.Domain) {})
	if err != nil {
		return err
	}
	if _, err := c.Prepare(t.Next(), core.Offer{Kind: core.Medium, Least: 8, Most: 8}); err != nil {
		return err
	}
	refused(t, c, d)
	if err := errors.Join(c.Commit(core.ClientHandlers, 8), run()); err != nil {
		return err
	}
	return nothingLeft(t, c)
}

func refusalDebug(t *coretest.T) error {
	_, _, run, err := refusing(t, func(c *extended.Context, d *extended.Domain) { refused(t, c, d) })
	if err == nil {
		err = run()
	}
	return err
}
