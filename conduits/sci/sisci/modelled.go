package sisci

import (
	"encoding/binary"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// window is staging memory for what goes to off of a map. A rank has few open at a time, so
// they are kept by the device and not by its maps, of which there are many.
type window struct {
	m   *RemoteMap
	off int
	mem []byte
}

func (h *host) window(m *RemoteMap, off, n int) []byte {
	b := h.Network.buffer(n)
	h.windows = append(h.windows, window{m, off, b})
	return b
}

// staged returns what was stored for n bytes at off, which lie in an open window.
func (h *host) staged(m *RemoteMap, off, n int) []byte {
	w := &h.windows[h.findWindow(m, off, n)]
	return w.mem[off-w.off:][:n]
}

// findWindow returns the newest open window with the n bytes at off of the map, or -1.
func (h *host) findWindow(m *RemoteMap, off, n int) int {
	for i := len(h.windows) - 1; i >= 0; i-- {
		if w := &h.windows[i]; w.m == m && off >= w.off && off+n <= w.off+len(w.mem) {
			return i
		}
	}
	return -1
}

// close ends the use of the newest window of the map that was opened at off, if there is one.
func (h *host) close(m *RemoteMap, off int) {
	for i := len(h.windows) - 1; i >= 0; i-- {
		if w := &h.windows[i]; w.m == m && w.off == off {
			h.closeWindow(i)
			return
		}
	}
}

func (h *host) closeWindow(i int) {
	h.Network.recycle(h.windows[i].mem)
	h.windows = slices.Delete(h.windows, i, i+1)
}

// unmap ends the use of a map's windows and map entries.
func (h *host) unmap(m *RemoteMap) {
	for i := len(h.windows) - 1; i >= 0; i-- {
		if h.windows[i].m == m {
			h.closeWindow(i)
		}
	}
	h.entries -= h.entriesFor(m.size)
}

// owner is the node that the map's segment belongs to.
func (m *RemoteMap) owner() *host { return m.seg.peer.dir.host }

// entriesFor returns how many of the adapter's map entries a map of size bytes takes.
func (h *host) entriesFor(size int) int {
	page := int(h.profile().Limit.Map)
	return (size + page - 1) / page
}

// takeEntries takes the map entries for size bytes, if there are so many. Live, h is nil, and
// there always are.
func (h *host) takeEntries(size int) bool {
	if h == nil {
		return true
	}
	n := h.entriesFor(size)
	if h.entries+n > h.profile().Limit.Maps {
		return false
	}
	h.entries += n
	return true
}

// store hands b to the adapter as stores to off of the map, watched by q if it is not nil. What
// cannot reach the segment is not sent.
func (m *RemoteMap) store(off int, b []byte, q *Sequence) {
	if m.seg.status() != OK {
		return
	}
	var acct *hardware.Account
	if q != nil {
		acct = &q.acct
	}
	for off += m.at; len(b) > 0; {
		dst := m.seg.local.at(off, len(b))
		m.host.adapter.Store(m.owner().adapter, dst, b[:len(dst)], off, acct, nil)
		b, off = b[len(dst):], off+len(dst)
	}
}

// flag stores the n low bytes of v at off, and wakes told, if it is not nil, when they are
// there.
func (m *RemoteMap) flag(off int, v uint64, n int, told *vtime.Proc) {
	if m.seg.status() != OK {
		return
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	off += m.at
	m.host.adapter.Store(m.owner().adapter, m.seg.local.at(off, n), b[:n], off, nil, told)
}

// modelled carries out a MemCpy that is in order and whose sequence has been started; see transfer.
func (m *RemoteMap) modelled(q *Sequence, b []byte, off int, flags Flags) bool {
	checked := flags&ErrorCheck != 0
	if !checked {
		q = nil
	}
	if flags&BlockRead != 0 {
		return m.load(b, off) && (!checked || q.Check() == OK)
	}
	m.store(off, b, q)
	return !checked || q.Check() == OK
}

// load reads len(b) bytes at off, and reports whether they came.
func (m *RemoteMap) load(b []byte, off int) bool {
	if m.seg.status() != OK {
		return false
	}
	for off += m.at; len(b) > 0; {
		src := m.seg.local.at(off, len(b))
		if m.host.adapter.LoadBlocks(m.owner().adapter, b[:len(src)], src, off) != hardware.Delivered {
			return false
		}
		b, off = b[len(src):], off+len(src)
	}
	return true
}

// start is Start under a model.
func (q *Sequence) start() {
	h := q.m.host
	h.Proc.Charge(h.profile().Host.Sequence)
	if q.status = q.m.seg.status(); q.status == OK {
		q.status = statusOf(h.adapter.Start(&q.acct))
	}
}

// check is Check under a model: it waits until every store has been answered.
func (q *Sequence) check() Status {
	h := q.m.host
	h.Proc.Charge(h.profile().Host.Sequence)
	return q.conclude(h.adapter.Check(&q.acct))
}

// conclude is the answer of a check that has found an outcome.
func (q *Sequence) conclude(o hardware.Outcome) Status {
	q.status = statusOf(o)
	if q.lost != OK {
		q.status, q.lost = q.lost, OK
	}
	if st := q.m.seg.status(); st != OK {
		q.status = st
	}
	return q.status
}

// tryCheck is TryCheck under a model.
func (q *Sequence) tryCheck() (Status, bool) {
	h := q.m.host
	h.Proc.Charge(h.profile().Host.Sequence)
	o, ok := h.adapter.TryCheck(&q.acct)
	if !ok {
		return q.status, false
	}
	return q.conclude(o), true
}

// statusOf returns the answer that the library gives of an outcome.
func statusOf(o hardware.Outcome) Status {
	switch o {
	case hardware.Delivered:
		return OK
	case hardware.Busy:
		return Retriable
	case hardware.Unknown:
		return Pending
	}
	return NotRetriable
}

// trigger sends the interrupt. It arrives unless a link fails on the way.
func (h *host) trigger(r *RemoteInterrupt) error {
	to := r.peer.dir.host
	if h.adapter.Interrupt(to.adapter, to, uint64(r.number), uint64(r.state)) != hardware.Delivered {
		return ErrNoRemoteLinkAccess.at("trigger interrupt %d of node %d", r.number, r.peer.Node)
	}
	return nil
}

// Fire implements vtime.Target: an interrupt has come.
func (h *host) Fire(number, state uint64) {
	if e := &h.dir.interrupts[number]; e.state == uint32(state) {
		e.pending = 1
		h.dir.notify(&h.dir.alarms)
	}
}

// engine is a queue of the modelled DMA engine.
type engine struct {
	q         *DMAQueue
	queue     *hardware.Queue
	transfers []hardware.Transfer
	callback  func(DMAState)
	done      func(hardware.Outcome) // called by an event when the engine has stopped
}

func newEngine(q *DMAQueue) *engine {
	e := &engine{q: q, queue: q.dev.host.adapter.NewQueue()}
	e.done = e.stopped
	return e
}

// wait waits until the engine has stopped, as long as that takes.
func (e *engine) wait() DMAState {
	p := e.q.dev.host.Proc
	p.SetWaiting("a DMA queue")
	p.Sync()
	for e.q.State() == DMAPosted {
		p.Park(0)
	}
	p.SetWaiting("")
	return e.q.State()
}

// post starts the engine on the queue's transfers.
func (e *engine) post(callback func(DMAState)) {
	e.callback, e.transfers = callback, e.transfers[:0]
	for i := range e.q.entries {
		t := &e.q.entries[i]
		e.transfers = append(e.transfers, hardware.Transfer{
			Peer: t.remote.peer.dir.host.adapter, Dst: t.dst, Src: t.src, Off: t.to, Read: t.read,
		})
	}
	if err := e.queue.Post(e.transfers, e.done); err != nil {
		panic(err) // Enqueue has checked them
	}
}

// stopped notes how the engine has stopped.
func (e *engine) stopped(o hardware.Outcome) {
	state := DMAError
	switch o {
	case hardware.Delivered:
		state = DMADone
	case hardware.Aborted:
		state = DMAAborted
	}
	e.q.end(state, e.callback)
}
