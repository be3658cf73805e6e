package sisci

import "github.com/aqueduct-go/aqueduct/internal/shm"

// Query names a property of the node.
type Query uint8

// The properties.
const (
	QueryNodeID             Query = 1 + iota // the node's number
	QueryDMASizeAlignment                    // bytes
	QueryDMAOffsetAlignment                  // bytes
	QueryDMAMTU                              // bytes of the largest transfer
	QueryMaxSegment                          // bytes of the largest segment that can be made now
	QueryDMASuggested                        // bytes from which DMA is faster than stores, as the driver sees it
	QueryLink                                // 1 if the node's own link works
)

// Query returns a property.
//
// Errors: ErrIllegalQuery; ErrNotInitialized.
func (d *Device) Query(q Query) (int, error) {
	d.step(callShort)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return 0, d.errClosed("query")
	}
	switch q {
	case QueryNodeID:
		return int(d.self.Node), nil
	case QueryDMASizeAlignment, QueryDMAOffsetAlignment:
		return d.dmaAlignment(), nil
	case QueryDMAMTU:
		return d.dmaMost(), nil
	case QueryDMASuggested:
		if d.host != nil {
			return int(d.host.profile().DMA.Suggested), nil
		}
		return 0, nil // live both are copies
	case QueryMaxSegment:
		most := d.free.largest()
		if d.host != nil {
			most = min(most, int(d.host.profile().Limit.Segment))
		}
		return most, nil
	case QueryLink:
		if d.self.state.Load()&localDown == 0 {
			return 1, nil
		}
		return 0, nil
	}
	return 0, ErrIllegalQuery.at("query %d", q)
}

// Probe reports whether a node can be reached.
//
// Errors: ErrNoSuchNodeid; ErrNoLinkAccess; ErrNoRemoteLinkAccess; ErrNodeNotResponding if
// no device is open on it.
func (d *Device) Probe(node NodeID) error {
	d.step(callConnect)
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.peer(node, "probe node")
	if err != nil {
		return err
	}
	if e := p.access(); e != 0 {
		return e.at("probe node %d", node)
	}
	if shm.Load32(&p.dir.device) != arenaOpen {
		return ErrNodeNotResponding.at("probe node %d", node)
	}
	return nil
}
