package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/vis"
)

// onScatter handles a Medium [number]: its pieces go to this rank's segment.
func (ep *Endpoint) onScatter(t *core.Token, args []uint32, data []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if err := vis.Scatter(ep.Segment(), data); err != nil {
		ep.malformed(t, "%v", err)
		return
	}
	ep.reply(t, handlerDone, args[0])
}

// onGather handles a Medium [number]: the pieces that it names are wanted.
func (ep *Endpoint) onGather(t *core.Token, args []uint32, request []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	size, err := vis.Gather(nil, ep.Segment(), request)
	var answer []byte
	if err == nil {
		answer, err = t.Prepare(core.Offer{Kind: core.Medium, Least: size, Most: size, NArgs: 1})
	}
	if err == nil {
		_, err = vis.Gather(answer, ep.Segment(), request)
	}
	if err == nil {
		err = t.Commit(handlerGathered, size, args[0])
	}
	if err != nil {
		ep.malformed(t, "%v", err)
	}
}

// onGathered handles a Medium [number]: pieces of a get have come.
func (ep *Endpoint) onGathered(t *core.Token, args []uint32, data []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	op := ep.answered(t, args[0])
	if op == nil {
		return
	}
	if err := vis.Scatter(op.dst, data); err != nil {
		ep.malformed(t, "%v", err)
		return
	}
	ep.finish(op, 1)
}
