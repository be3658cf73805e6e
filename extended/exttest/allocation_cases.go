package exttest

import (
	"errors"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var allocationCases = []coretest.Case{{
	Name:  "allocation/small",
	Rule:  "puts, gets, value puts and gets, and memsets of any form, and regions, allocate nothing",
	Ranks: []int{1, 2}, Needs: coretest.Plain, Config: awake, Body: allocationSmall,
}, {
	Name:  "allocation/large",
	Rule:  "puts and gets of several messages allocate nothing, also where their payloads are lent",
	Ranks: []int{1, 2}, Needs: coretest.Plain, Config: awake, Body: allocationLarge,
}}

// awake has a case run with waits that do not sleep: going to sleep may allocate.
func awake(cfg *core.Config) { cfg.Sleep = time.Minute }

// call is an operation with a name, initiated and synchronised.
type call struct {
	name string
	once func() error
}

// allocating has rank 0 count what the calls allocate, while the others serve it.
func allocating(t *coretest.T, ep *extended.Endpoint, calls []call) error {
	var err error
	for _, x := range calls {
		if t.Rank() != 0 {
			break
		}
		once := func() { err = errors.Join(err, x.once()) } // nil of nils allocates nothing
		for range 20 {
			once() // fills pools
		}
		if n := testing.AllocsPerRun(100, once); n > 0 {
			t.Errorf("%s allocates %v times", x.name, n)
		}
	}
	return errorsOf(t, errors.Join(err, ep.Barrier()))
}

// wait synchronises an explicit operation.
func wait(c *extended.Context, ev extended.Event, err error) error {
	if err != nil {
		return err
	}
	return c.Wait(ev)
}

// waitNBI synchronises an implicit operation.
func waitNBI(c *extended.Context, err error) error {
	if err != nil {
		return err
	}
	return c.WaitNBI(extended.All)
}

// transfers are puts and gets of buf in every form.
func transfers(c *extended.Context, next core.Rank, buf []byte) []call {
	return []call{
		{"Put", func() error { return c.Put(next, 64, buf) }},
		{"PutNB", func() error { ev, err := c.PutNB(next, 64, buf, extended.LCNow); return wait(c, ev, err) }},
		{"PutNB with LCDefer", func() error { ev, err := c.PutNB(next, 64, buf, extended.LCDefer); return wait(c, ev, err) }},
		{"PutNB with LCLeaf", func() error {
			ev, err := c.PutNB(next, 64, buf, extended.LCLeaf)
			if err := wait(c, c.Endpoint().Leaf(ev), err); err != nil {
				return err
			}
			return c.Wait(ev)
		}},
		{"PutNBI", func() error { return waitNBI(c, c.PutNBI(next, 64, buf, extended.LCDefer)) }},
		{"Get", func() error { return c.Get(buf, next, 64) }},
		{"GetNB", func() error { ev, err := c.GetNB(buf, next, 64); return wait(c, ev, err) }},
		{"GetNBI", func() error { return waitNBI(c, c.GetNBI(buf, next, 64)) }},
	}
}

func allocationSmall(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	return allocating(t, ep, append(transfers(c, next, make([]byte, 8)),
		call{"PutValue", func() error { return c.PutValue(next, 64, 7, 8) }},
		call{"PutValueNB", func() error { ev, err := c.PutValueNB(next, 64, 7, 8); return wait(c, ev, err) }},
		call{"PutValueNBI", func() error { return waitNBI(c, c.PutValueNBI(next, 64, 7, 8)) }},
		call{"GetValue", func() error { _, err := c.GetValue(next, 64, 8); return err }},
		call{"GetValueNB", func() error {
			ev, err := c.GetValueNB(next, 64, 8)
			if err == nil {
				_, err = c.WaitValue(ev)
			}
			return err
		}},
		call{"Memset", func() error { return c.Memset(next, 64, 7, 100) }},
		call{"MemsetNB", func() error { ev, err := c.MemsetNB(next, 64, 7, 100); return wait(c, ev, err) }},
		call{"MemsetNBI", func() error { return waitNBI(c, c.MemsetNBI(next, 64, 7, 100)) }},
		call{"a region", func() error {
			if err := c.BeginRegion(); err != nil {
				return err
			}
			if err := c.PutValueNBI(next, 64, 7, 8); err != nil {
				return err
			}
			ev, err := c.EndRegion()
			return wait(c, ev, err)
		}},
	))
}

func allocationLarge(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	return allocating(t, ep, transfers(&ep.Context, t.Next(), make([]byte, 150000)))
}
