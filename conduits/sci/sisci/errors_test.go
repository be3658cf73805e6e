package sisci

import (
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// bench is two nodes: node 1 exports segment 7 of two pages, to which node 0 is connected.
type bench struct {
	*network
	a, b   *Device
	seg    *LocalSegment  // of b, not mapped
	remote *RemoteSegment // of a, not mapped
	priv   *LocalSegment  // of a, private, prepared, one page
	queue  *DMAQueue      // of a, two entries
}

func newBench(t testing.TB, nw *network) *bench {
	w := &bench{network: nw, a: nw.devs[0], b: nw.devs[1]}
	w.seg = must(w.b.CreateSegment(7, 2*page, 0, nil))
	ok(t, w.seg.Prepare(0))
	ok(t, w.seg.SetAvailable())
	w.remote = must(w.a.Connect(1, 7, 0, nil))
	w.priv = must(w.a.CreateSegment(0, page, Private, nil))
	ok(t, w.priv.Prepare(0))
	w.queue = must(w.a.CreateDMAQueue(2))
	return w
}

func second[T any](_ T, err error) error { return err }

// Every call, every error that is particular to it.
func TestEveryError(t *testing.T) {
	created := func(w *bench) *LocalSegment { return must(w.a.CreateSegment(20, page, 0, nil)) }
	mapped := func(w *bench) *RemoteMap { return must(w.remote.Map(0, page, 0)) }
	enqueue := func(w *bench, from, to, size int) error { return w.queue.Enqueue(w.priv, from, w.remote, to, size, 0) }
	for _, tc := range []struct {
		name string
		want Errno
		call func(w *bench) error
	}{
		{"create", 0, func(w *bench) error { return second(w.a.CreateSegment(20, 1, 0, nil)) }},
		{"create: flag", ErrIllegalFlag, func(w *bench) error { return second(w.a.CreateSegment(20, 1, ReadOnly, nil)) }},
		{"create: id used", ErrSegmentidUsed, func(w *bench) error { return second(w.b.CreateSegment(7, 1, 0, nil)) }},
		{"create: id used elsewhere", 0, func(w *bench) error { return second(w.a.CreateSegment(7, 1, 0, nil)) }},
		{"create: private ids are none", 0, func(w *bench) error { return second(w.b.CreateSegment(7, 1, Private, nil)) }},
		{"create: size 0", ErrSizeAlignment, func(w *bench) error { return second(w.a.CreateSegment(20, 0, 0, nil)) }},
		{"create: size < 0", ErrSizeAlignment, func(w *bench) error { return second(w.a.CreateSegment(20, -8, 0, nil)) }},
		{"create: memory is full", ErrNoSpace, func(w *bench) error { return second(w.b.CreateSegment(20, 4*page+1, 0, nil)) }},
		{"create: absurd size", ErrNoSpace, func(w *bench) error { return second(w.b.CreateSegment(20, math.MaxInt, 0, nil)) }},
		{"create: empty needs none", 0, func(w *bench) error { return second(w.b.CreateSegment(20, 100*page, Empty, nil)) }},
		{"create: directory is full", ErrNoSpace, func(w *bench) error {
			for i := range small.Segments {
				must(w.a.CreateSegment(SegmentID(20+i), 1, 0, nil))
			}
			return second(w.a.CreateSegment(30, 1, 0, nil))
		}},

		{"prepare: flag", ErrIllegalFlag, func(w *bench) error { return created(w).Prepare(Private) }},
		{"prepare: twice", ErrIllegalOperation, func(w *bench) error { return w.seg.Prepare(0) }},

		{"map local: not prepared", ErrSegmentNotPrepared, func(w *bench) error { return second(created(w).Map(0, page, 0)) }},
		{"map local: flag", ErrIllegalFlag, func(w *bench) error { return second(w.seg.Map(0, page, Notify)) }},
		{"map local: empty", ErrIllegalOperation, func(w *bench) error {
			s := must(w.a.CreateSegment(20, page, Empty, nil))
			must(0, s.Prepare(0))
			return second(s.Map(0, page, 0))
		}},
		{"map local: size 0", ErrSizeAlignment, func(w *bench) error { return second(w.seg.Map(0, 0, 0)) }},
		{"map local: offset", ErrOffsetAlignment, func(w *bench) error { return second(w.seg.Map(8, 8, 0)) }},
		{"map local: offset < 0", ErrOutOfRange, func(w *bench) error { return second(w.seg.Map(-page, 8, 0)) }},
		{"map local: behind the end", ErrOutOfRange, func(w *bench) error { return second(w.seg.Map(page, page+1, 0)) }},
		{"map local: overflow", ErrOutOfRange, func(w *bench) error { return second(w.seg.Map(page, math.MaxInt, 0)) }},
		{"map local: to the end", 0, func(w *bench) error { return second(w.seg.Map(page, page, ReadOnly)) }},
		{"unmap local: twice", ErrIllegalOperation, func(w *bench) error {
			m := must(w.seg.Map(0, page, 0))
			must(0, m.Unmap())
			return m.Unmap()
		}},

		{"available: not prepared", ErrSegmentNotPrepared, func(w *bench) error { return created(w).SetAvailable() }},
		{"available: private", ErrIllegalOperation, func(w *bench) error { return w.priv.SetAvailable() }},
		{"available: source only", ErrIllegalOperation, func(w *bench) error {
			s := created(w)
			must(0, s.Prepare(DMASourceOnly))
			return s.SetAvailable()
		}},
		{"available: empty", ErrIllegalOperation, func(w *bench) error {
			s := must(w.a.CreateSegment(20, page, Empty, nil))
			must(0, s.Prepare(0))
			return s.SetAvailable()
		}},
		{"available: twice", ErrIllegalOperation, func(w *bench) error { return w.seg.SetAvailable() }},
		{"unavailable: flag", ErrIllegalFlag, func(w *bench) error { return w.seg.SetUnavailable(Empty) }},
		{"unavailable: not available", ErrIllegalOperation, func(w *bench) error { return w.priv.SetUnavailable(0) }},

		{"remove: available", ErrBusy, func(w *bench) error { return w.seg.Remove() }},
		{"remove: connected", ErrBusy, func(w *bench) error {
			must(0, w.seg.SetUnavailable(0))
			return w.seg.Remove()
		}},
		{"remove: disconnected by force, still mapped there", ErrBusy, func(w *bench) error {
			must(0, w.seg.SetUnavailable(ForceDisconnect))
			return w.seg.Remove()
		}},
		{"remove: mapped", ErrBusy, func(w *bench) error {
			must(w.priv.Map(0, page, 0))
			return w.priv.Remove()
		}},
		{"remove: queued", ErrBusy, func(w *bench) error {
			must(0, enqueue(w, 0, 0, 8))
			return w.priv.Remove()
		}},
		{"remove", 0, func(w *bench) error {
			must(0, w.seg.SetUnavailable(0))
			must(0, w.remote.Disconnect())
			return w.seg.Remove()
		}},
		{"removed: every call", ErrNotInitialized, func(w *bench) error {
			m := must(w.priv.Map(0, page, 0))
			must(0, m.Unmap())
			must(0, w.priv.Remove())
			for _, err := range []error{
				w.priv.Prepare(0), second(w.priv.Map(0, page, 0)), w.priv.SetAvailable(),
				w.priv.SetUnavailable(0), m.Unmap(),
			} {
				if e := same(err, ErrNotInitialized); e != nil {
					return e
				}
			}
			return w.priv.Remove()
		}},

		{"connect: no such node", ErrNoSuchNodeid, func(w *bench) error { return second(w.a.Connect(9, 7, 0, nil)) }},
		{"connect: no such segment", ErrNoSuchSegment, func(w *bench) error { return second(w.a.Connect(1, 8, 0, nil)) }},
		{"connect: never exported", ErrConnectionRefused, func(w *bench) error {
			must(w.b.CreateSegment(8, 1, 0, nil))
			return second(w.a.Connect(1, 8, 0, nil))
		}},
		{"connect: private", ErrNoSuchSegment, func(w *bench) error {
			must(w.b.CreateSegment(8, 1, Private, nil))
			return second(w.a.Connect(1, 8, 0, nil))
		}},
		{"connect: unavailable", ErrConnectionRefused, func(w *bench) error {
			must(0, w.seg.SetUnavailable(0))
			return second(w.a.Connect(1, 7, 0, nil))
		}},
		{"connect: removed", ErrNoSuchSegment, func(w *bench) error {
			must(0, w.seg.SetUnavailable(0))
			must(0, w.remote.Disconnect())
			must(0, w.seg.Remove())
			return second(w.a.Connect(1, 7, 0, nil))
		}},
		{"connect: timeout", ErrTimeout, func(w *bench) error { return second(w.a.Connect(1, 8, 1, nil)) }},
		{"connect: table is full", ErrNoSpace, func(w *bench) error {
			for range small.Connections - 1 {
				must(w.a.Connect(1, 7, 0, nil))
			}
			return second(w.b.Connect(1, 7, 0, nil))
		}},
		{"connect: own link", ErrNoLinkAccess, func(w *bench) error {
			must(0, w.a.SetLink(0, false))
			return second(w.a.Connect(1, 7, long, nil))
		}},
		{"connect: remote link", ErrNoRemoteLinkAccess, func(w *bench) error {
			must(0, w.a.SetLink(1, false))
			return second(w.a.Connect(1, 7, long, nil))
		}},
		{"connect: link is back", 0, func(w *bench) error {
			must(0, w.a.SetLink(0, false))
			must(0, w.a.SetLink(1, false))
			must(0, w.a.SetLink(0, true))
			must(0, w.a.SetLink(1, true))
			return second(w.a.Connect(1, 7, 0, nil))
		}},
		{"connect: node is lost", ErrNoRemoteLinkAccess, func(w *bench) error {
			must(0, w.a.NodeLost(1))
			must(0, w.a.SetLink(1, true))
			return second(w.a.Connect(1, 7, long, nil))
		}},
		{"connect: to itself", 0, func(w *bench) error { return second(w.b.Connect(1, 7, 0, nil)) }},
		{"link: no such node", ErrNoSuchNodeid, func(w *bench) error { return w.a.SetLink(9, true) }},
		{"lost: no such node", ErrNoSuchNodeid, func(w *bench) error { return w.a.NodeLost(9) }},

		{"map remote: flag", ErrIllegalFlag, func(w *bench) error { return second(w.remote.Map(0, page, Private)) }},
		{"map remote: size 0", ErrSizeAlignment, func(w *bench) error { return second(w.remote.Map(0, 0, 0)) }},
		{"map remote: offset", ErrOffsetAlignment, func(w *bench) error { return second(w.remote.Map(8, 8, 0)) }},
		{"map remote: behind the end", ErrOutOfRange, func(w *bench) error { return second(w.remote.Map(page, page+1, 0)) }},
		{"map remote: offset < 0", ErrOutOfRange, func(w *bench) error { return second(w.remote.Map(-page, page, 0)) }},
		{"map remote: to the end", 0, func(w *bench) error { return second(w.remote.Map(page, page, 0)) }},
		{"map remote: forced out", ErrNotConnected, func(w *bench) error {
			must(0, w.seg.SetUnavailable(ForceDisconnect))
			return second(w.remote.Map(0, page, 0))
		}},
		{"map remote: asked to go", 0, func(w *bench) error {
			must(0, w.seg.SetUnavailable(Notify))
			return second(w.remote.Map(0, page, 0))
		}},
		{"map remote: disconnected", ErrNotConnected, func(w *bench) error {
			must(0, w.remote.Disconnect())
			return second(w.remote.Map(0, page, 0))
		}},
		{"unmap remote: twice", ErrIllegalOperation, func(w *bench) error {
			m := mapped(w)
			must(0, m.Unmap())
			return m.Unmap()
		}},
		{"unmap remote: sequence", ErrBusy, func(w *bench) error {
			m := mapped(w)
			must(m.CreateSequence())
			return m.Unmap()
		}},
		{"unmap remote: disconnected", ErrNotConnected, func(w *bench) error {
			m := mapped(w)
			must(0, m.Unmap())
			must(0, w.remote.Disconnect())
			return m.Unmap()
		}},
		{"disconnect: mapped", ErrBusy, func(w *bench) error {
			mapped(w)
			return w.remote.Disconnect()
		}},
		{"disconnect: queued", ErrBusy, func(w *bench) error {
			must(0, enqueue(w, 0, 0, 8))
			return w.remote.Disconnect()
		}},
		{"disconnect: twice", ErrNotConnected, func(w *bench) error {
			must(0, w.remote.Disconnect())
			return w.remote.Disconnect()
		}},

		{"sequence: unmapped", ErrIllegalOperation, func(w *bench) error {
			m := mapped(w)
			must(0, m.Unmap())
			return second(m.CreateSequence())
		}},
		{"sequence: removed twice", ErrIllegalOperation, func(w *bench) error {
			q := must(mapped(w).CreateSequence())
			must(0, q.Remove())
			return q.Remove()
		}},
		{"memcpy: flag", ErrIllegalFlag, func(w *bench) error { return mapped(w).MemCpy(nil, nil, 0, Notify) }},
		{"memcpy: behind the end", ErrOutOfRange, func(w *bench) error { return mapped(w).MemCpy(nil, make([]byte, 2), page-1, 0) }},
		{"memcpy: offset < 0", ErrOutOfRange, func(w *bench) error { return mapped(w).MemCpy(nil, make([]byte, 2), -1, 0) }},
		{"memcpy: to the end", 0, func(w *bench) error { return mapped(w).MemCpy(nil, make([]byte, 2), page-2, BlockRead) }},
		{"memcpy: unmapped", ErrOutOfRange, func(w *bench) error {
			m := mapped(w)
			must(0, m.Unmap())
			return m.MemCpy(nil, make([]byte, 1), 0, 0)
		}},
		{"memcpy: another map's sequence", ErrIllegalParameter, func(w *bench) error {
			return mapped(w).MemCpy(must(mapped(w).CreateSequence()), nil, 0, 0)
		}},
		{"memcpy: check without a sequence", ErrIllegalParameter, func(w *bench) error {
			return mapped(w).MemCpy(nil, nil, 0, ErrorCheck)
		}},
		{"memcpy: read-only", ErrIllegalOperation, func(w *bench) error {
			return must(w.remote.Map(0, page, ReadOnly)).MemCpy(nil, []byte{1}, 0, 0)
		}},
		{"memcpy: from read-only", 0, func(w *bench) error {
			return must(w.remote.Map(0, page, ReadOnly)).MemCpy(nil, []byte{1}, 0, BlockRead)
		}},
		{"memcpy: forced out", ErrTransferFailed, func(w *bench) error {
			m := mapped(w)
			q := must(m.CreateSequence())
			must(0, w.seg.SetUnavailable(ForceDisconnect))
			return m.MemCpy(q, []byte{1}, 0, ErrorCheck)
		}},

		{"dma: queue of none", ErrIllegalParameter, func(w *bench) error { return second(w.a.CreateDMAQueue(0)) }},
		{"dma: flag", ErrIllegalFlag, func(w *bench) error { return w.queue.Enqueue(w.priv, 0, w.remote, 0, 8, Private) }},
		{"dma: too many", ErrMaxEntries, func(w *bench) error {
			must(0, enqueue(w, 0, 0, 8))
			must(0, enqueue(w, 0, 0, 8))
			return enqueue(w, 0, 0, 8)
		}},
		{"dma: size", ErrSizeAlignment, func(w *bench) error { return enqueue(w, 0, 0, 12) }},
		{"dma: size 0", ErrSizeAlignment, func(w *bench) error { return enqueue(w, 0, 0, 0) }},
		{"dma: local offset", ErrOffsetAlignment, func(w *bench) error { return enqueue(w, 4, 0, 8) }},
		{"dma: remote offset", ErrOffsetAlignment, func(w *bench) error { return enqueue(w, 0, 4, 8) }},
		{"dma: local range", ErrOutOfRange, func(w *bench) error { return enqueue(w, page-8, 0, 16) }},
		{"dma: remote range", ErrOutOfRange, func(w *bench) error { return enqueue(w, 0, 2*page-8, 16) }},
		{"dma: offset < 0", ErrOutOfRange, func(w *bench) error { return enqueue(w, 0, -8, 8) }},
		{"dma: overflow", ErrOutOfRange, func(w *bench) error { return enqueue(w, 8, 8, math.MaxInt&^7) }},
		{"dma: empty segment", ErrOutOfRange, func(w *bench) error {
			s := must(w.a.CreateSegment(20, page, Empty, nil))
			must(0, s.Prepare(0))
			return w.queue.Enqueue(s, 0, w.remote, 0, 8, 0)
		}},
		{"dma: not prepared", ErrSegmentNotPrepared, func(w *bench) error { return w.queue.Enqueue(created(w), 0, w.remote, 0, 8, 0) }},
		{"dma: removed", ErrSegmentNotPrepared, func(w *bench) error {
			must(0, w.priv.Remove())
			return enqueue(w, 0, 0, 8)
		}},
		{"dma: disconnected", ErrSegmentNotConnected, func(w *bench) error {
			must(0, w.remote.Disconnect())
			return enqueue(w, 0, 0, 8)
		}},
		{"dma: another node's segment", ErrIllegalParameter, func(w *bench) error { return w.queue.Enqueue(w.seg, 0, w.remote, 0, 8, 0) }},
		{"dma: read to a source", ErrIllegalOperation, func(w *bench) error {
			s := created(w)
			must(0, s.Prepare(DMASourceOnly))
			return w.queue.Enqueue(s, 0, w.remote, 0, 8, DMARead)
		}},
		{"dma: post nothing", ErrIllegalOperation, func(w *bench) error { return w.queue.Post(nil) }},
		{"dma: wait for nothing", ErrIllegalOperation, func(w *bench) error { return second(w.queue.Wait(0)) }},
		{"dma: abort nothing", ErrIllegalOperation, func(w *bench) error { return w.queue.Abort() }},
		{"dma: enqueue when done", ErrIllegalOperation, func(w *bench) error {
			must(0, enqueue(w, 0, 0, 8))
			must(0, w.queue.Post(nil))
			return enqueue(w, 0, 0, 8)
		}},
		{"dma: removed queue", ErrNotInitialized, func(w *bench) error {
			must(0, w.queue.Remove())
			for _, err := range []error{enqueue(w, 0, 0, 8), w.queue.Post(nil), w.queue.Abort(), w.queue.Reset(), second(w.queue.Wait(0))} {
				if e := same(err, ErrNotInitialized); e != nil {
					return e
				}
			}
			return w.queue.Remove()
		}},

		{"interrupt: number used", ErrIntnoUsed, func(w *bench) error {
			must(w.a.CreateInterrupt(1, true))
			return second(w.a.CreateInterrupt(1, true))
		}},
		{"interrupt: number too large", ErrIllegalParameter, func(w *bench) error { return second(w.a.CreateInterrupt(2, true)) }},
		{"interrupt: number < 0", ErrIllegalParameter, func(w *bench) error { return second(w.a.CreateInterrupt(-1, true)) }},
		{"interrupt: none is free", ErrNoSpace, func(w *bench) error {
			for range small.Interrupts {
				must(w.a.CreateInterrupt(0, false))
			}
			return second(w.a.CreateInterrupt(0, false))
		}},
		{"interrupt: removed twice", ErrIllegalOperation, func(w *bench) error {
			i := must(w.a.CreateInterrupt(0, false))
			must(0, i.Remove())
			return i.Remove()
		}},
		{"interrupt: wait when removed", ErrCancelled, func(w *bench) error {
			i := must(w.a.CreateInterrupt(0, false))
			must(0, i.Remove())
			return i.Wait(long)
		}},
		{"interrupt: wait", ErrTimeout, func(w *bench) error { return must(w.a.CreateInterrupt(0, false)).Wait(1) }},
		{"interrupt: no such number", ErrNoSuchIntno, func(w *bench) error { return second(w.a.ConnectInterrupt(1, 0, 0)) }},
		{"interrupt: absurd number", ErrNoSuchIntno, func(w *bench) error { return second(w.a.ConnectInterrupt(1, -1, 0)) }},
		{"interrupt: no such node", ErrNoSuchNodeid, func(w *bench) error { return second(w.a.ConnectInterrupt(9, 0, 0)) }},
		{"interrupt: connect timeout", ErrTimeout, func(w *bench) error { return second(w.a.ConnectInterrupt(1, 0, 1)) }},
		{"interrupt: connect without link", ErrNoRemoteLinkAccess, func(w *bench) error {
			must(0, w.a.SetLink(1, false))
			return second(w.a.ConnectInterrupt(1, 0, long))
		}},
		{"interrupt: trigger without link", ErrNoLinkAccess, func(w *bench) error {
			must(w.b.CreateInterrupt(0, true))
			r := must(w.a.ConnectInterrupt(1, 0, 0))
			must(0, w.a.SetLink(0, false))
			return r.Trigger()
		}},
		{"interrupt: trigger when removed", ErrNotConnected, func(w *bench) error {
			i := must(w.b.CreateInterrupt(0, true))
			r := must(w.a.ConnectInterrupt(1, 0, 0))
			must(0, i.Remove())
			must(w.b.CreateInterrupt(0, true)) // the same number, but another interrupt
			return r.Trigger()
		}},
		{"interrupt: trigger when disconnected", ErrNotConnected, func(w *bench) error {
			must(w.b.CreateInterrupt(0, true))
			r := must(w.a.ConnectInterrupt(1, 0, 0))
			must(0, r.Disconnect())
			return r.Trigger()
		}},
		{"interrupt: disconnected twice", ErrIllegalOperation, func(w *bench) error {
			must(w.b.CreateInterrupt(0, true))
			r := must(w.a.ConnectInterrupt(1, 0, 0))
			must(0, r.Disconnect())
			return r.Disconnect()
		}},

		{"event local: timeout", ErrTimeout, func(w *bench) error {
			must(w.seg.WaitEvent(0))
			return second(w.seg.WaitEvent(1))
		}},
		{"event local: private", ErrIllegalOperation, func(w *bench) error { return second(w.priv.WaitEvent(long)) }},
		{"event local: callback", ErrIllegalOperation, func(w *bench) error {
			return second(must(w.a.CreateSegment(20, 1, 0, func(LocalEvent) Action { return Continue })).WaitEvent(long))
		}},
		{"event local: removed", ErrCancelled, func(w *bench) error {
			s := created(w)
			must(0, s.Remove())
			return second(s.WaitEvent(long))
		}},
		{"event remote: timeout", ErrTimeout, func(w *bench) error { return second(w.remote.WaitEvent(1)) }},
		{"event remote: callback", ErrIllegalOperation, func(w *bench) error {
			return second(must(w.a.Connect(1, 7, 0, func(RemoteEvent) Action { return Continue })).WaitEvent(long))
		}},
		{"event remote: disconnected", ErrCancelled, func(w *bench) error {
			must(0, w.remote.Disconnect())
			return second(w.remote.WaitEvent(long))
		}},
		{"event remote: after the last", ErrIllegalOperation, func(w *bench) error {
			must(0, w.a.NodeLost(1))
			if ev := must(w.remote.WaitEvent(0)); ev.Reason != EventLost {
				return ErrSystem
			}
			return second(w.remote.WaitEvent(long))
		}},

		{"query", ErrIllegalQuery, func(w *bench) error { return second(w.a.Query(99)) }},
		{"probe: no such node", ErrNoSuchNodeid, func(w *bench) error { return w.a.Probe(9) }},
		{"probe: reachable", 0, func(w *bench) error { return w.a.Probe(1) }},
		{"probe: own link", ErrNoLinkAccess, func(w *bench) error {
			must(0, w.a.SetLink(0, false))
			return w.a.Probe(1)
		}},
		{"probe: remote link", ErrNoRemoteLinkAccess, func(w *bench) error {
			must(0, w.a.SetLink(1, false))
			return w.a.Probe(1)
		}},
		{"probe: not open", ErrNodeNotResponding, func(w *bench) error {
			must(0, w.b.Terminate())
			return w.a.Probe(1)
		}},

		{"close: resources", ErrBusy, func(w *bench) error { return w.a.Close() }},
		{"close", 0, func(w *bench) error {
			must(0, w.remote.Disconnect())
			must(0, w.priv.Remove())
			must(0, w.queue.Remove())
			return w.a.Close()
		}},
		{"closed: every call", ErrNotInitialized, func(w *bench) error {
			must(0, w.a.Terminate())
			for _, err := range []error{
				second(w.a.CreateSegment(1, 1, 0, nil)), second(w.a.Connect(1, 7, long, nil)),
				second(w.a.CreateDMAQueue(1)), second(w.a.CreateInterrupt(0, true)),
				second(w.a.ConnectInterrupt(1, 0, long)), second(w.a.Query(QueryNodeID)),
				w.a.Probe(1), w.a.NodeLost(1), w.a.SetLink(1, true), w.priv.Remove(), w.queue.Reset(),
			} {
				if e := same(err, ErrNotInitialized); e != nil {
					return e
				}
			}
			return w.a.Close()
		}},
		{"terminated: no device can follow", ErrBusy, func(w *bench) error {
			must(0, w.a.Terminate())
			return second(w.open(0))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachPlacement(t, func(t *testing.T, inProcess bool) {
				is(t, tc.call(newBench(t, newNetwork(t, 2, small, inProcess, nil))), tc.want)
			})
			t.Run("modelled", func(t *testing.T) {
				modelled(t, 2, small, func(nw *network) { is(t, tc.call(newBench(t, nw)), tc.want) })
			})
		})
	}
}

func TestOpenErrors(t *testing.T) {
	arena := func(node NodeID, l Layout) *shm.Region {
		r := must(NewArena(node, l, shm.Shared))
		t.Cleanup(func() { r.Close() })
		return r
	}
	foreign := must(shm.NewRegion(page, shm.Shared))
	t.Cleanup(func() { foreign.Close() })
	tiny := must(shm.NewRegion(headerSize-1, shm.Shared))
	t.Cleanup(func() { tiny.Close() })
	// an arena whose directory claims what it does not have
	liar := arena(1, small)
	shm.Store32(&headerOf(liar.Bytes()).connections, 1<<20)
	absurd := arena(1, small)
	shm.Store64(&headerOf(absurd.Bytes()).memory, 1<<63)
	good := arena(1, small)

	for _, tc := range []struct {
		name string
		want Errno
		cfg  Config
	}{
		{"no arena", ErrIllegalParameter, Config{}},
		{"another's arena", ErrIllegalNodeid, Config{Node: 1, Arena: arena(0, small)}},
		{"no directory", ErrInconsistentVersions, Config{Arena: foreign}},
		{"no room for a directory", ErrInconsistentVersions, Config{Arena: tiny}},
		{"peer without directory", ErrInconsistentVersions, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, FD: foreign.FD()}}}},
		{"peers mixed up", ErrIllegalNodeid, Config{Arena: arena(0, small), Peers: []Peer{{Node: 2, FD: good.FD()}}}},
		{"peer twice", ErrIllegalNodeid, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, FD: good.FD()}, {Node: 1, FD: good.FD()}}}},
		{"itself as a peer", ErrIllegalNodeid, Config{Node: 1, Arena: good, Peers: []Peer{{Node: 1, FD: good.FD()}}}},
		{"no descriptor", ErrSystem, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, FD: -1}}}},
		{"peer is shorter than it says", ErrSystem, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, FD: liar.FD()}}}},
		{"peer in process is shorter than it says", ErrSystem, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, Arena: liar}}}},
		{"peer says absurd things", ErrSystem, Config{Arena: arena(0, small), Peers: []Peer{{Node: 1, FD: absurd.FD()}}}},
	} {
		_, err := Open(tc.cfg)
		if e := same(err, tc.want); e != nil {
			t.Errorf("%s: %v", tc.name, e)
		}
	}

	d := must(Open(Config{Node: 1, Arena: good}))
	_, err := Open(Config{Node: 1, Arena: good})
	is(t, err, ErrBusy)
	ok(t, d.Close())
	d, err = Open(Config{Node: 1, Arena: good})
	ok(t, err)
	ok(t, d.Close())
	is(t, d.Close(), ErrNotInitialized)
	ok(t, d.Terminate())

	for _, l := range []Layout{{Memory: -1}, {Memory: math.MaxInt}, {Segments: -1}, {Connections: maxTable + 1}, {Interrupts: math.MaxInt}} {
		_, err := NewArena(0, l, shm.Shared)
		if e := same(err, ErrIllegalParameter); e != nil {
			t.Errorf("%+v: %v", l, e)
		}
	}
}

// What a damaged directory says about a segment is not believed.
func TestDamagedDirectory(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		for _, at := range [][2]uint64{
			{0, 8}, {uint64(page), 1 << 40}, {1 << 62, 8}, {uint64(small.Size()), 8}, {uint64(small.Size() - page), uint64(page) + 1},
			{^uint64(0), 8}, {uint64(small.directorySize()), 0}, {uint64(small.directorySize()), 1 << 63},
		} {
			w := newBench(t, newNetwork(t, 2, small, inProcess, nil))
			e := &w.b.self.dir.segments[w.seg.slot]
			shm.Store64(&e.off, at[0])
			shm.Store64(&e.size, at[1])
			is(t, second(w.a.Connect(1, 7, 0, nil)), ErrSystem)
			if n := w.b.self.dir.connected(w.seg.slot); n != 1 {
				t.Errorf("%d connections are left", n)
			}
		}
	})
}
