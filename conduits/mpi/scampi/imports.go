package scampi

import (
	"errors"
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
)

// imports are the peers' channels that this rank has imported.
type imports struct {
	all   []*imported
	clock uint64 // counts the uses
	made  int    // how many were made so far
}

// imported is a peer's channel that can be stored to.
type imported struct {
	peer   *peer
	seg    *sisci.RemoteSegment
	m      *sisci.RemoteMap
	q      *sisci.Sequence // of m
	used   uint64          // the clock at the last use
	pinned bool            // DMA works on it
}

// connectTimeout is none: a segment that can be connected to is there when it is asked for.
const connectTimeout time.Duration = 0

// reach returns the import of the peer's channel, for one transfer. It is valid until the next
// call, or longer if it is pinned.
func (t *transport) reach(p *peer) (*imported, error) {
	t.worked = true
	t.proc.Charge(t.profile.Library.Import)
	t.imports.clock++
	if p.out == nil {
		if err := t.connect(p); err != nil {
			return nil, fmt.Errorf("scampi: import the channel at rank %d: %w", p.rank, err)
		}
	}
	p.out.used = t.imports.clock
	return p.out, nil
}

// connect imports the peer's channel, if need be in place of another one.
func (t *transport) connect(p *peer) error {
	if len(t.imports.all) == t.profile.Library.Imports {
		if err := t.imports.evict(); err != nil {
			return err
		}
	}
	seg, err := t.dev.Connect(node(p.rank), channelID(t.rank), connectTimeout, nil)
	if err != nil {
		return err
	}
	m, err := seg.Map(0, t.layout.size, 0)
	if err != nil {
		return err
	}
	q, err := m.CreateSequence()
	if err != nil {
		return err
	}
	p.out = &imported{peer: p, seg: seg, m: m, q: q}
	t.imports.all = append(t.imports.all, p.out)
	t.imports.made++
	return nil
}

// evict gives up the import that was not used for the longest time.
func (im *imports) evict() error {
	oldest := -1
	for i, x := range im.all {
		if !x.pinned && (oldest < 0 || x.used < im.all[oldest].used) {
			oldest = i
		}
	}
	x, last := im.all[oldest], len(im.all)-1 // one at most is pinned, of two at least
	im.all[oldest], im.all[last] = im.all[last], nil
	im.all = im.all[:last]
	x.peer.out = nil
	return errors.Join(x.q.Remove(), x.m.Unmap(), x.seg.Disconnect())
}

// ensure stores n bytes, which were put into a window at off, until a sequence says that all
// have arrived. After a failure less is stored at a time, which fails less likely.
func (im *imported) ensure(off, n int) error {
	started, end, size := false, off+n, n
	for failed := 0; failed < sisci.Attempts && (started || im.q.Begin()); {
		im.q.Push(off, size)
		status := im.q.Check()
		started = status == sisci.Retriable
		if status != sisci.OK {
			failed++
			size = max(size/2, min(size, align))
			continue
		}
		failed = 0
		if off += size; off == end {
			return nil
		}
		size = min(2*size, end-off)
	}
	return fmt.Errorf("scampi: cannot send to rank %d: its node or the way to it is %v", im.peer.rank, im.q.Status())
}
