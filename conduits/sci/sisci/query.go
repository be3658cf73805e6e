package sisci

import "github.com/aqueduct-go/aqueduct/internal/shm"

// Query names a property of the node.
type Query uint8

// The properties.
const (
	QueryNodeID             Query = 1 + iota // the node's number
	QueryDMASizeAlignment                    // bytes
	QueryDMAOffsetAlignment                  // bytes
	QueryMaxSegment                          // bytes of the largest segment that can be made now
	QueryLink                                // 1 if the node's own link works
)

// Query returns a property.
//
// Errors: ErrIllegalQuery.
func (d *Device) Query(q Query) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch q {
	case QueryNodeID:
		return int(d.self.Node), nil
	case QueryDMASizeAlignment, QueryDMAOffsetAlignment:
		return DMAAlignment, nil
	case QueryMaxSegment:
		return d.free.largest(), nil
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
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.peer(node, "probe node")
	if err != nil {
		return err
	}
	if e := p.access(); e != 0 {
		return e.at("probe node %d", node)
	}
	if shm.Load32(&p.dir.open) == 0 {
		return ErrNodeNotResponding.at("probe node %d", node)
	}
	return nil
}
