package coretest

import (
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

// What ranks do while the last one exits.
func whileWaiting(ep *core.Endpoint) error   { return ep.WaitUntil(func() bool { return false }) }
func whileInBarrier(ep *core.Endpoint) error { return ep.Barrier() }
func whileNothing(*core.Endpoint) error      { return nil }

func whilePolling(ep *core.Endpoint) error {
	for {
		if err := ep.Poll(); err != nil {
			return err
		}
		runtime.Gosched()
	}
}

func whileFlooding(ep *core.Endpoint) error {
	for {
		dst := core.Rank(ep.Size() - 1)
		if ep.Rank() == 0 {
			dst = 0
		}
		for _, form := range forms {
			if err := form.send(ep, dst, new(core.Completion), 0); err != nil {
				return err
			}
		}
	}
}

func whileComputing(*core.Endpoint) error {
	for {
		runtime.Gosched()
	}
}

// ready returns when every rank has called it: the last has heard of all others, which go
// on at once.
func ready(t *T) (*core.Endpoint, error) {
	var heard int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { heard++ }, ignore)
	if err != nil {
		return nil, err
	}
	last := core.Rank(t.Size() - 1)
	if t.Rank() != last {
		return ep, ep.RequestShort(last, request)
	}
	return ep, t.Wait(&ep.Context, func() bool { return heard >= int(last) })
}
