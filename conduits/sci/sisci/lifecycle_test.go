package sisci

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// modelSegment is what a local segment should be.
type modelSegment struct {
	node                         int
	id                           SegmentID
	pages                        int
	first                        int // page of the arena
	private, empty, source       bool
	prepared, available, removed bool
	queued                       int
	maps                         []*LocalMap
	real                         *LocalSegment
}

// modelConnection is what a remote segment should be.
type modelConnection struct {
	node                  int // the importer
	to                    *modelSegment
	told                  bool // the owner has had the CONNECT event
	asked, forced         bool
	askedTold, forcedTold bool // the importer has had the DISCONNECT event
	over                  bool
	queued                int
	maps                  []modelMap
	sequences             map[*RemoteMap][]*Sequence
	real                  *RemoteSegment
}

// modelMap is a map and where it begins.
type modelMap struct {
	*RemoteMap
	off int
}

// model is both life cycles on two nodes, as simply as they can be told.
type model struct {
	devs        [2]*Device
	pages       [2][]bool // used
	segments    []*modelSegment
	connections []*modelConnection
	queues      [2]*DMAQueue
	gathered    [2][]func() // what clearing the queue undoes
}

func (m *model) live(s *modelSegment) (n int) {
	for _, c := range m.connections {
		if c.to == s && !c.over {
			n++
		}
	}
	return n
}

func (m *model) find(node int, id SegmentID) *modelSegment {
	for _, s := range m.segments {
		if s.node == node && s.id == id && !s.private && !s.removed {
			return s
		}
	}
	return nil
}

func (m *model) shared(node int) (n int) {
	for _, s := range m.segments {
		if s.node == node && !s.private && !s.removed {
			n++
		}
	}
	return n
}

// space finds pages in a row, the first that there are.
func (m *model) space(node, n int) int {
	for at := 0; at+n <= len(m.pages[node]); at++ {
		run := 0
		for run < n && !m.pages[node][at+run] {
			run++
		}
		if run == n {
			return at
		}
	}
	return -1
}

func (m *model) setPages(s *modelSegment, used bool) {
	for i := range s.pages {
		m.pages[s.node][s.first+i] = used
	}
}

// errno returns the first error whose condition holds.
func errno(rules ...any) Errno {
	for i := 0; i < len(rules); i += 2 {
		if rules[i].(bool) {
			return rules[i+1].(Errno)
		}
	}
	return 0
}

// Whatever is called in whatever state, the outcome is that of the model, and in the end
// everything can be taken apart.
func TestLifeCycles(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		rapid.Check(t, func(rt *rapid.T) {
			nw := newNetwork(t, 2, small, inProcess, nil)
			m := &model{}
			for n := range m.devs {
				m.devs[n] = nw.devs[n]
				m.pages[n] = make([]bool, small.Memory/page)
				m.queues[n] = must(m.devs[n].CreateDMAQueue(2))
			}
			rt.Repeat(m.actions())
			m.takeApart(rt)
		})
	})
}

func draw[T any](t *rapid.T, from []T, what string) T {
	if len(from) == 0 {
		t.Skip("there is none")
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

func (m *model) actions() map[string]func(*rapid.T) {
	node := func(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "node") }
	segment := func(t *rapid.T) *modelSegment { return draw(t, m.segments, "segment") }
	connection := func(t *rapid.T) *modelConnection { return draw(t, m.connections, "connection") }
	return map[string]func(*rapid.T){
		"create":      func(t *rapid.T) { m.create(t, node(t)) },
		"prepare":     func(t *rapid.T) { m.prepare(t, segment(t)) },
		"map local":   func(t *rapid.T) { m.mapLocal(t, segment(t)) },
		"unmap local": func(t *rapid.T) { m.unmapLocal(t, segment(t)) },
		"available":   func(t *rapid.T) { m.setAvailable(t, segment(t)) },
		"unavailable": func(t *rapid.T) { m.setUnavailable(t, segment(t)) },
		"remove":      func(t *rapid.T) { m.remove(t, segment(t)) },
		"event local": func(t *rapid.T) { m.eventLocal(t, segment(t)) },
		"connect":     func(t *rapid.T) { m.connect(t, node(t), node(t)) },
		"map":         func(t *rapid.T) { m.mapRemote(t, connection(t)) },
		"store":       func(t *rapid.T) { m.store(t, connection(t)) },
		"sequence":    func(t *rapid.T) { m.sequence(t, connection(t)) },
		"unsequence":  func(t *rapid.T) { m.unsequence(t, connection(t)) },
		"unmap":       func(t *rapid.T) { m.unmapRemote(t, connection(t)) },
		"disconnect":  func(t *rapid.T) { m.disconnect(t, connection(t)) },
		"event":       func(t *rapid.T) { m.eventRemote(t, connection(t)) },
		"enqueue":     func(t *rapid.T) { m.enqueue(t, node(t)) },
		"clear queue": func(t *rapid.T) { m.clearQueue(t, node(t)) },
		"close": func(t *rapid.T) { // the queues are open, so it is always refused
			is(t, m.devs[node(t)].Close(), ErrBusy)
		},
	}
}

func (m *model) create(t *rapid.T, node int) {
	s := &modelSegment{
		node: node, id: SegmentID(rapid.IntRange(0, 3).Draw(t, "id")), pages: rapid.IntRange(0, 3).Draw(t, "pages"),
		private: rapid.IntRange(0, 3).Draw(t, "private") == 0, empty: rapid.IntRange(0, 5).Draw(t, "empty") == 0,
	}
	size, flags := s.pages*page, Flags(0)
	if s.private {
		flags |= Private
	}
	if s.empty {
		flags, s.pages = flags|Empty, 0
	}
	s.first = m.space(node, s.pages)
	want := errno(
		size == 0, ErrSizeAlignment,
		!s.private && m.find(node, s.id) != nil, ErrSegmentidUsed,
		!s.private && m.shared(node) == small.Segments, ErrNoSpace,
		s.first < 0, ErrNoSpace,
	)
	var err error
	s.real, err = m.devs[node].CreateSegment(s.id, size, flags, nil)
	is(t, err, want)
	if want == 0 {
		m.setPages(s, true)
		m.segments = append(m.segments, s)
	}
}

func (m *model) prepare(t *rapid.T, s *modelSegment) {
	source := rapid.IntRange(0, 4).Draw(t, "source only") == 0
	flags := Flags(0)
	if source {
		flags = DMASourceOnly
	}
	want := errno(s.removed, ErrNotInitialized, s.prepared, ErrIllegalOperation)
	is(t, s.real.Prepare(flags), want)
	if want == 0 {
		s.prepared, s.source = true, source
	}
}

func (m *model) mapLocal(t *rapid.T, s *modelSegment) {
	off, size := rapid.IntRange(0, 2).Draw(t, "page")*page, rapid.IntRange(0, 2).Draw(t, "pages")*page
	lm, err := s.real.Map(off, size, rapid.SampledFrom([]Flags{0, ReadOnly}).Draw(t, "flags"))
	want := errno(
		s.removed, ErrNotInitialized,
		!s.prepared, ErrSegmentNotPrepared,
		s.empty, ErrIllegalOperation,
		size == 0, ErrSizeAlignment,
		off+size > s.pages*page, ErrOutOfRange,
	)
	is(t, err, want)
	if want == 0 {
		s.maps = append(s.maps, lm)
		if len(lm.Bytes()) != size {
			t.Fatalf("mapped %d bytes of %d", len(lm.Bytes()), size)
		}
	}
}

func (m *model) unmapLocal(t *rapid.T, s *modelSegment) {
	if len(s.maps) == 0 {
		t.Skip("not mapped")
	}
	ok(t, s.maps[0].Unmap())
	is(t, s.maps[0].Unmap(), ErrIllegalOperation)
	s.maps = s.maps[1:]
}

func (m *model) setAvailable(t *rapid.T, s *modelSegment) {
	want := errno(
		s.removed, ErrNotInitialized,
		!s.prepared, ErrSegmentNotPrepared,
		s.private || s.source || s.empty || s.available, ErrIllegalOperation,
	)
	is(t, s.real.SetAvailable(), want)
	s.available = s.available || want == 0
}

func (m *model) setUnavailable(t *rapid.T, s *modelSegment) {
	flags := rapid.SampledFrom([]Flags{0, Notify, ForceDisconnect, Notify | ForceDisconnect}).Draw(t, "flags")
	want := errno(s.removed, ErrNotInitialized, !s.available, ErrIllegalOperation)
	is(t, s.real.SetUnavailable(flags), want)
	if want != 0 {
		return
	}
	s.available = false
	for _, c := range m.connections {
		if c.to == s && !c.over {
			c.asked = c.asked || flags&Notify != 0
			c.forced = c.forced || flags&ForceDisconnect != 0
		}
	}
}

func (m *model) remove(t *rapid.T, s *modelSegment) {
	want := errno(
		s.removed, ErrNotInitialized,
		len(s.maps) > 0 || s.queued > 0 || s.available || m.live(s) > 0, ErrBusy,
	)
	is(t, s.real.Remove(), want)
	if want == 0 {
		s.removed = true
		m.setPages(s, false)
		for _, c := range m.connections {
			if c.to == s {
				c.told = false
			}
		}
	}
}

// eventLocal takes an event and finds the connection that it may be about.
func (m *model) eventLocal(t *rapid.T, s *modelSegment) {
	type due struct {
		LocalEvent
		c *modelConnection
	}
	var all []due
	for _, c := range m.connections {
		if c.to == s && c.told == c.over {
			reason := EventConnect
			if c.over {
				reason = EventDisconnect
			}
			all = append(all, due{LocalEvent{reason, NodeID(c.node)}, c})
		}
	}
	ev, err := s.real.WaitEvent(0)
	is(t, err, errno(s.private, ErrIllegalOperation, s.removed, ErrCancelled, len(all) == 0, ErrTimeout))
	if err != nil {
		return
	}
	for _, d := range all {
		// several connections can be due the same event; the directory says whose it was
		w := shm.Load64(d.c.real.conn)
		if now := w&^flagMask == d.c.real.key && w&told != 0; d.LocalEvent == ev && now != d.c.told {
			d.c.told = !d.c.told
			return
		}
	}
	t.Fatalf("event %v; due were %v", ev, all)
}

func (m *model) connect(t *rapid.T, from, to int) {
	id := SegmentID(rapid.IntRange(0, 3).Draw(t, "id"))
	s := m.find(to, id)
	used := 0 // words of the connection table: also those whose end the owner has not asked for
	for _, c := range m.connections {
		if c.to.node == to && (!c.over || c.told) {
			used++
		}
	}
	want := errno(
		s == nil, ErrNoSuchSegment,
		s != nil && !s.available, ErrConnectionRefused,
		used == small.Connections, ErrNoSpace,
	)
	r, err := m.devs[from].Connect(NodeID(to), id, 0, nil)
	is(t, err, want)
	if want == 0 {
		m.connections = append(m.connections, &modelConnection{
			node: from, to: s, real: r, sequences: map[*RemoteMap][]*Sequence{},
		})
	}
}

func (m *model) mapRemote(t *rapid.T, c *modelConnection) {
	off, size := rapid.IntRange(0, 2).Draw(t, "page")*page, rapid.IntRange(0, 2).Draw(t, "pages")*page
	rm, err := c.real.Map(off, size, 0)
	want := errno(
		c.over || c.forced, ErrNotConnected,
		size == 0, ErrSizeAlignment,
		off+size > c.to.pages*page, ErrOutOfRange,
	)
	is(t, err, want)
	if want == 0 {
		c.maps = append(c.maps, modelMap{rm, off})
	}
}

// store checks that a store arrives in the owner's memory.
func (m *model) store(t *rapid.T, c *modelConnection) {
	rm := draw(t, c.maps, "map")
	v := rapid.Byte().Draw(t, "value")
	at := rapid.IntRange(0, rm.Size()-1).Draw(t, "offset")
	ok(t, rm.MemCpy(nil, []byte{v}, at, 0))
	if got := c.to.real.part(rm.off+at, 1)[0]; got != v {
		t.Fatalf("stored %d, the owner has %d", v, got)
	}
}

func (m *model) sequence(t *rapid.T, c *modelConnection) {
	rm := draw(t, c.maps, "map")
	q, err := rm.CreateSequence()
	ok(t, err)
	want := OK
	if c.forced {
		want = NotRetriable
	}
	if q.Start() != want || q.Check() != want || q.Status() != want {
		t.Fatalf("sequence answers %v and %v, want %v", q.Start(), q.Check(), want)
	}
	c.sequences[rm.RemoteMap] = append(c.sequences[rm.RemoteMap], q)
}

func (m *model) unsequence(t *rapid.T, c *modelConnection) {
	rm := draw(t, c.maps, "map")
	qs := c.sequences[rm.RemoteMap]
	q := draw(t, qs, "sequence")
	ok(t, q.Remove())
	is(t, q.Remove(), ErrIllegalOperation)
	for i := range qs {
		if qs[i] == q {
			c.sequences[rm.RemoteMap] = append(qs[:i:i], qs[i+1:]...)
		}
	}
}

func (m *model) unmapRemote(t *rapid.T, c *modelConnection) {
	if len(c.maps) == 0 {
		t.Skip("not mapped")
	}
	rm := c.maps[0]
	want := errno(len(c.sequences[rm.RemoteMap]) > 0, ErrBusy)
	is(t, rm.Unmap(), want)
	if want == 0 {
		c.maps = c.maps[1:]
	}
}

func (m *model) disconnect(t *rapid.T, c *modelConnection) {
	want := errno(c.over, ErrNotConnected, len(c.maps) > 0 || c.queued > 0, ErrBusy)
	is(t, c.real.Disconnect(), want)
	c.over = c.over || want == 0
}

func (m *model) eventRemote(t *rapid.T, c *modelConnection) {
	ev, err := c.real.WaitEvent(0)
	due := c.asked && !c.askedTold || c.forced && !c.forcedTold
	is(t, err, errno(c.over, ErrCancelled, !due, ErrTimeout))
	if err == nil {
		if ev.Reason != EventDisconnect {
			t.Fatalf("event %v", ev)
		}
		c.askedTold, c.forcedTold = c.asked, c.forced
	}
}

func (m *model) enqueue(t *rapid.T, node int) {
	q := m.queues[node]
	var mine []*modelSegment
	for _, s := range m.segments {
		if s.node == node {
			mine = append(mine, s)
		}
	}
	var ours []*modelConnection
	for _, c := range m.connections {
		if c.node == node {
			ours = append(ours, c)
		}
	}
	s, c := draw(t, mine, "segment"), draw(t, ours, "connection")
	from := rapid.IntRange(0, 3).Draw(t, "from") * page / 2
	to := rapid.IntRange(0, 3).Draw(t, "to") * page / 2
	flags := rapid.SampledFrom([]Flags{0, DMARead}).Draw(t, "flags")
	want := errno(
		len(m.gathered[node]) == 2, ErrMaxEntries,
		s.removed || !s.prepared, ErrSegmentNotPrepared,
		c.over, ErrSegmentNotConnected,
		s.source && flags != 0, ErrIllegalOperation,
		from+page > s.pages*page || to+page > c.to.pages*page, ErrOutOfRange,
	)
	is(t, q.Enqueue(s.real, from, c.real, to, page, flags), want)
	if want == 0 {
		s.queued++
		c.queued++
		m.gathered[node] = append(m.gathered[node], func() { s.queued--; c.queued-- })
	}
}

func (m *model) clearQueue(t *rapid.T, node int) {
	ok(t, m.queues[node].Reset())
	for _, undo := range m.gathered[node] {
		undo()
	}
	m.gathered[node] = nil
}

// takeApart ends everything in the right order; then the devices can be closed.
func (m *model) takeApart(t *rapid.T) {
	for n := range m.queues {
		m.clearQueue(t, n)
		ok(t, m.queues[n].Remove())
	}
	for _, c := range m.connections {
		for _, rm := range c.maps {
			for _, q := range c.sequences[rm.RemoteMap] {
				ok(t, q.Remove())
			}
			ok(t, rm.Unmap())
		}
		if !c.over {
			ok(t, c.real.Disconnect())
		}
	}
	for _, s := range m.segments {
		for _, lm := range s.maps {
			ok(t, lm.Unmap())
		}
		if s.available {
			ok(t, s.real.SetUnavailable(0))
		}
		if !s.removed {
			ok(t, s.real.Remove())
		}
	}
	for _, d := range m.devs {
		if n := d.free.largest(); n != small.Memory {
			t.Fatalf("%d of %d bytes are free", n, small.Memory)
		}
		for _, w := range d.self.dir.connections[0] {
			if w != 0 {
				t.Fatalf("a connection is left: %#x", w)
			}
		}
		ok(t, d.Close())
	}
}
