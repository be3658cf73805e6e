package core

import (
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// watched reports whether something is recorded of the job.
func (c *Config) watched() bool { return c.Stats || c.Events > 0 }

// watch is what is recorded of a rank. A branch of it is on the way of a message where a job is not watched, and little more where
// it is: what a rank sends core counts anyway, by peer, as it does polls; what it receives is counted behind its handler, by more than the
// peer (tallies); and one-sided operations are seen between core and the conduit. Only
// where events are kept there is somebody between core and the conduit for messages too (tracer), and functions that stand in
// the handlers' table in place of those. A counter has one writer at a
// time, and any goroutine may read it.
type watch struct {
	ep     *Endpoint
	powers Powers // of the conduit
	begun  Time   // in virtual time
	base   int64  // live: what nanotime said when the watch began

	peers        sparse.Table[traffic] // by rank
	polls, found atomic.Uint64         // as of the last look at the counters of core, which wrap round
	looking      sync.Mutex            // while somebody looks
	collectives  sync.Map              // by name: *record.Count, written atomically
	mu           sync.Mutex            // of contexts
	contexts     []*Context
	events       *eventRing // nil: none are recorded
	origin, skew int64      // of events: what the clock said at the job's start, see record.Events
}

// traffic is what passed between this rank and another, besides what peer has of it.
type traffic struct {
	received atomic.Pointer[tally] // the latest that was made; it leads to the others
	oneSided [record.OneSidedCategories]record.Count
}

// tally counts the messages received from one rank, of one handler and category. It is written while polling.
type tally struct {
	record.Count
	key    tallyKey
	before *tally // of the same rank; never changed
}

// tallyKey has a rank and what a header says of handler and category.
type tallyKey uint64

// tallyOf returns the key of a message.
func tallyOf(src Rank, h Header) tallyKey { return tallyKey(uint32(src))<<16 | tallyKey(h>>5<<5) }

func (k tallyKey) src() Rank      { return Rank(k >> 16) }
func (k tallyKey) header() Header { return Header(k) }

// tallySlot returns where the latest tallies have that of a message, if at all.
func tallySlot(src Rank, h Header) uint8 { return uint8(h>>8) ^ uint8(src) }

// all calls f with the tallies of a rank and what they have counted.
func (t *traffic) all(f func(*tally, record.Count)) {
	for n := t.received.Load(); n != nil; n = n.before {
		f(n, readCount(&n.Count))
	}
}

// add counts one more, of so many bytes. There is one writer at a time.
func add(c *record.Count, bytes int) {
	shm.Add64(&c.N, 1)
	shm.Add64(&c.Bytes, uint64(bytes))
}

// beWatched prepares an endpoint to be watched.
func (ep *Endpoint) beWatched() {
	w := &watch{ep: ep, begun: ep.job.Now(), base: nanotime()}
	w.peers.Init(ep.job.size)
	if n := ep.job.cfg.Events; n > 0 {
		w.events = newEventRing(n, max(1, ep.job.cfg.EventSample))
		ep.conduit = &tracer{Conduit: ep.conduit, w: w}
		ep.table.wrap = w.traced
	}
	ep.watch, ep.detour = w, true
	ep.tallies = w.newTallies()
	w.enrol(&ep.Context)
	ep.carrier.op.context = ep.carrier
}

// enrol makes a context known.
func (w *watch) enrol(c *Context) {
	c.op.context = c
	w.mu.Lock()
	defer w.mu.Unlock()
	c.watched.lane = len(w.contexts)
	w.contexts = append(w.contexts, c)
}

// open begins, when the endpoint attaches.
func (w *watch) open(boot Bootstrap) error {
	j := w.ep.job
	if j.cfg.Foreign && j.rank == 0 && !j.cfg.Debug {
		j.cfg.Logger().Warn("the job is watched, so its programs in C send and take messages by calls into Go, which takes longer")
	}
	if w.events == nil {
		return nil
	}
	return w.align(boot)
}

// tallies find the tally of a message. They are used while polling.
type tallies struct {
	w      *watch
	latest [256]*tally // those that were used last, by tallySlot
}

// newTallies returns none yet.
func (w *watch) newTallies() *tallies {
	l := &tallies{w: w}
	for i := range l.latest {
		l.latest[i] = &tally{key: ^tallyKey(0)} // which no message has
	}
	return l
}

// find returns the tally of messages of a key that is not among the latest.
func (l *tallies) find(key tallyKey) *tally {
	from := l.w.peers.At(int(key.src()))
	first := from.received.Load()
	n := first
	for n != nil && n.key != key {
		n = n.before
	}
	if n == nil {
		n = &tally{key: key, before: first}
		from.received.Store(n)
	}
	l.latest[tallySlot(key.src(), key.header())] = n
	return n
}

// add counts a message.
func (n *tally) add(bytes int) {
	shm.Add64(&n.N, 1)
	if bytes > 0 {
		shm.Add64(&n.Bytes, uint64(bytes))
	}
}

// categoryOf returns the category of a message, of a header that is well-formed.
func categoryOf(h Header) record.Category { return record.Category(h >> 5 & 7) }

// lookAtPolls notes how many polls there were. It is called more often than the counters wrap round.
func (w *watch) lookAtPolls() {
	w.looking.Lock()
	defer w.looking.Unlock()
	s := w.ep.state
	w.polls.Add(uint64(atomic.LoadUint32(&s.Polls) - uint32(w.polls.Load())))
	w.found.Add(uint64(atomic.LoadUint32(&s.Found) - uint32(w.found.Load())))
}

// stand puts the watch between core and the conduit's one-sided operations.
func (w *watch) stand(p *Powers) {
	w.powers = *p
	if p.Putter != nil {
		p.Putter = w
	}
	if p.Getter != nil {
		p.Getter = w
	}
	if p.Atomics != nil {
		p.Atomics = w
	}
}

// taken counts a one-sided operation that the conduit has taken.
func (w *watch) taken(r Result, k record.Category, peer Rank, bytes int) Result {
	if r == Initiated || r == Completed {
		add(&w.peers.At(int(peer)).oneSided[k-record.MessageCategories], bytes)
	}
	return r
}

// Put implements Putter.
func (w *watch) Put(t *Transfer) Result {
	rank, n := t.Rank, len(t.Mem)
	return w.taken(w.powers.Putter.Put(t), record.Put, rank, n)
}

// MaxPut implements Putter.
func (w *watch) MaxPut() int { return w.powers.Putter.MaxPut() }

// Get implements Getter.
func (w *watch) Get(t *Transfer) Result {
	rank, n := t.Rank, len(t.Mem)
	return w.taken(w.powers.Getter.Get(t), record.Get, rank, n)
}

// MaxGet implements Getter.
func (w *watch) MaxGet() int { return w.powers.Getter.MaxGet() }

// Atomic implements Atomics.
func (w *watch) Atomic(a *Atomic) Result {
	rank, n := a.Rank, a.Type.Size()
	return w.taken(w.powers.Atomics.Atomic(a), record.Atomic, rank, n)
}

// AtomicOps implements Atomics.
func (w *watch) AtomicOps(t ElementType) AtomicOp { return w.powers.Atomics.AtomicOps(t) }

// Watched reports whether something is recorded of the job. A layer above that accesses segments itself then tells of it by
// NoteInPlace, and of collective calls by NoteCollective. A handler may call it, and those two.
func (ep *Endpoint) Watched() bool { return ep.watch != nil }

// NoteInPlace notes, where the job is watched, that the processor of this rank has put, got or updated bytes of a segment. Any
// goroutine may call it.
func (ep *Endpoint) NoteInPlace(k record.Category, peer Rank, bytes int) {
	if w := ep.watch; w != nil {
		c := &w.peers.At(int(peer)).oneSided[k-record.MessageCategories]
		atomic.AddUint64(&c.N, 1)
		atomic.AddUint64(&c.Bytes, uint64(bytes))
	}
}

// NoteCollective notes, where the job is watched, that a collective call of that name has begun, to which this rank contributes
// so many bytes. Where events are kept it returns the call's span, else nil. Any goroutine may call it.
func (ep *Endpoint) NoteCollective(name string, bytes int) *Span {
	w := ep.watch
	if w == nil {
		return nil
	}
	c, ok := w.collectives.Load(name)
	if !ok {
		c, _ = w.collectives.LoadOrStore(strings.Clone(name), new(record.Count))
	}
	n := c.(*record.Count)
	atomic.AddUint64(&n.N, 1)
	atomic.AddUint64(&n.Bytes, uint64(bytes))
	if w.events == nil {
		return nil
	}
	return w.begin(record.Event{Kind: record.CollectiveEvent, Name: w.events.name(name), Bytes: uint64(bytes), Peer: -1})
}

// now reads the clock of the record: live the one that processes of a host share, since the watch began.
func (w *watch) now() Time {
	if p := w.ep.proc; p != nil {
		return p.Now()
	}
	return vtime.FromDuration(time.Duration(nanotime() - w.base))
}

// readCount reads a count that others write.
func readCount(c *record.Count) record.Count {
	return record.Count{N: atomic.LoadUint64(&c.N), Bytes: atomic.LoadUint64(&c.Bytes)}
}

// figures returns what was counted so far. Any goroutine may call it.
func (w *watch) figures() *record.Figures {
	w.lookAtPolls()
	full := w.found.Load()
	f := &record.Figures{Time: w.now() - w.started(), Full: full, Empty: max(full, w.polls.Load()) - full}
	var heard [256]record.Count
	for _, r := range w.ep.group {
		p := record.Peer{Rank: int(r), Received: make([]record.Count, record.MessageCategories), OneSided: make([]record.Count, record.OneSidedCategories)}
		if n := w.ep.peers.Find(int(r)); n != nil {
			p.Requests, p.Replies = atomic.LoadUint64(&n.requests), atomic.LoadUint64(&n.replies)
		}
		if t := w.peers.Find(int(r)); t != nil {
			t.all(func(n *tally, c record.Count) {
				p.Received[categoryOf(n.key.header())].Add(c)
				heard[n.key.header().Handler()].Add(c)
			})
			for k := range t.oneSided {
				p.OneSided[k] = readCount(&t.oneSided[k])
			}
		}
		if p.Some() {
			f.Peers = append(f.Peers, p)
		}
	}
	for i, c := range heard {
		if c.N > 0 {
			f.Handlers = append(f.Handlers, record.Named{Name: w.handlerName(HandlerIndex(i)), Count: c})
		}
	}
	w.collectives.Range(func(name, c any) bool {
		f.Collectives = append(f.Collectives, record.Named{Name: name.(string), Count: readCount(c.(*record.Count))})
		return true
	})
	w.waits(f)
	if w.ep.proc == nil {
		f.Memory = peakMemory()
	}
	f.Sort()
	return f
}

// started returns when the watch began, by its clock.
func (w *watch) started() Time {
	if w.ep.proc != nil {
		return w.begun
	}
	return 0
}

// record returns all that was recorded so far.
func (w *watch) record() *record.Record {
	j := w.ep.job
	r := &record.Record{Rank: int(j.rank), Conduit: j.cfg.Conduit, Virtual: j.proc != nil}
	if j.profile != "" {
		r.Conduit += "/" + j.profile
	}
	if j.cfg.Stats {
		r.Figures = w.figures()
	}
	if w.events != nil {
		r.Events = w.events.take(w.origin, w.skew, w.now())
	}
	return r
}

// handlerName returns what to call a handler: the name that it was registered with, else that of its function, or its index.
func (w *watch) handlerName(x HandlerIndex) string {
	e := w.ep.table.named(x)
	if e.Func == nil {
		return "handler " + itoa(int(x))
	}
	return w.nameOf(&e)
}

// nameOf returns what to call a handler that is registered. Behind those of another language is always the same function.
func (w *watch) nameOf(e *HandlerEntry) string {
	switch {
	case e.Name != "":
		return e.Name
	case w.ep.job.cfg.Foreign:
		return "handler " + itoa(int(e.Index))
	}
	name := runtime.FuncForPC(reflect.ValueOf(e.Func).Pointer()).Name()
	return strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], "-fm")
}

// peakMemory returns the most bytes of memory that the process had, or 0.
func peakMemory() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kb, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	return kb << 10
}

// watchedWaits is what is recorded of a context's waits. The context writes it, any goroutine may read it.
type watchedWaits struct {
	lane      int                         // the context's number
	last      *waitKind                   // of the wait before
	plain     *waitKind                   // the same, if the rank is live and has one goroutine that calls, and no events are kept; else nil
	kinds     atomic.Pointer[[]*waitKind] // replaced, never changed
	idleSince int64                       // since the job's start, in nanoseconds: when the present wait began to yield; 0: it has not
	idled     time.Duration               // of waits that have gone on past their polls at full speed
}

// waitKind is waits of one name.
type waitKind struct {
	what  string
	n     uint64
	plain uint64 // below that n's next one is not timed
	first uint64 // what the first waitsTimed took, idle times excepted
	timed uint64 // of the others some are timed from beginning to end,
	short uint64 // and took so long, idle times excepted
	idle  uint64 // that all have yielded and slept; these are in picoseconds but for this one, in nanoseconds
}

// Of the live waits of a name and a context the first waitsTimed are timed, and then one in waitSample, since two looks at the
// clock take as long as a short wait. What a wait yields and sleeps is always timed: there the wait looks at the clock anyway.
const (
	waitsTimed = 32
	waitSample = 64
)

// kind returns where waits of a name are recorded.
func (x *watchedWaits) kind(what string) *waitKind {
	if k := x.last; k != nil && k.what == what {
		return k
	}
	var all []*waitKind
	if p := x.kinds.Load(); p != nil {
		all = *p
	}
	for _, k := range all {
		if k.what == what {
			x.last = k
			return k
		}
	}
	k := &waitKind{what: what}
	more := append(all[:len(all):len(all)], k)
	x.kinds.Store(&more)
	x.last = k
	return k
}

// waitDetour is the wait of a rank that is modelled or watched. Most waits of the latter have the name of the one before, and are not timed:
// then it counts.
func (c *Context) waitDetour(what string, cond func() bool) error {
	k := c.watched.plain
	if k == nil || k.n >= k.plain || unsafe.StringData(k.what) != unsafe.StringData(what) || len(k.what) != len(what) {
		return c.waitOther(what, cond)
	}
	shm.Add64(&k.n, 1)
	_, err := c.waitSingle(what, cond)
	if c.watched.idled > 0 {
		c.idleTime()
	}
	return err
}

// waitOther is waitDetour of waits for which it is not enough to be counted.
func (c *Context) waitOther(what string, cond func() bool) error {
	w := c.ep.watch
	if w == nil {
		return c.waitModelled(what, cond)
	}
	k := c.watched.kind(what)
	shm.Add64(&k.n, 1)
	c.watched.plain = nil
	if w.events != nil || c.ep.proc != nil || k.n <= waitsTimed || k.n%waitSample == 0 || c.ep.joined() {
		err := c.waitTimed(w, k, cond)
		c.watched.next(w, k)
		return err
	}
	c.watched.next(w, k)
	err := c.waitPlain(what, cond)
	c.idleTime()
	return err
}

// next says what the next wait may be.
func (x *watchedWaits) next(w *watch, k *waitKind) {
	if w.events == nil && w.ep.proc == nil && w.ep.single && k.n >= waitsTimed {
		k.plain, x.plain = k.n|(waitSample-1), k
	}
}

// idleTime notes what the wait that has ended has yielded and slept.
func (c *Context) idleTime() {
	shm.Add64(&c.watched.last.idle, uint64(c.watched.idled))
	c.watched.idled = 0
	atomic.StoreInt64(&c.watched.idleSince, 0)
}

// waitTimed is a wait that is timed from beginning to end.
func (c *Context) waitTimed(w *watch, k *waitKind, cond func() bool) error {
	what := k.what
	begun := w.now()
	err := c.waitPlain(what, cond)
	took := w.now() - begun
	idled := vtime.FromDuration(c.watched.idled)
	if c.ep.proc != nil || idled > took {
		idled = 0
	}
	shm.Add64(&k.idle, uint64(idled.Duration()))
	if k.n <= waitsTimed {
		shm.Add64(&k.first, uint64(took-idled))
	} else {
		shm.Add64(&k.timed, 1)
		shm.Add64(&k.short, uint64(took-idled))
	}
	c.watched.idled = 0
	atomic.StoreInt64(&c.watched.idleSince, 0)
	if e := w.events; e != nil && k.n%e.sample == 0 {
		e.add(record.Event{Kind: record.WaitEvent, Start: begun, Dur: took, Lane: c.watched.lane, Name: e.name(what), Peer: -1})
	}
	return err
}

// waitPlain is the wait of a rank that is not watched.
func (c *Context) waitPlain(what string, cond func() bool) error {
	switch {
	case c.ep.proc != nil:
		return c.waitModelled(what, cond)
	case c.ep.single:
		_, err := c.waitSingle(what, cond)
		return err
	}
	return c.waitLive(what, cond)
}

// account notes that the wait has been idle for a time since it began to yield.
func (l *ladder) account(idle time.Duration) {
	x := &l.c.watched
	if x.idled == 0 {
		atomic.StoreInt64(&x.idleSince, int64(time.Since(l.ep.job.start)-idle))
	}
	x.idled += idle - l.counted
	l.counted = idle
}

// waits adds the waits of all contexts to the figures. Waits that were not timed are taken for as long as those that were.
func (w *watch) waits(f *record.Figures) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := make(map[string]int)
	for _, c := range w.contexts {
		kinds := c.watched.kinds.Load()
		if kinds == nil {
			continue
		}
		for _, k := range *kinds {
			i, ok := at[k.what]
			if !ok {
				i = len(f.Waits)
				at[k.what] = i
				f.Waits = append(f.Waits, record.Wait{Name: k.what})
			}
			n, timed := atomic.LoadUint64(&k.n), atomic.LoadUint64(&k.timed)
			short := Time(atomic.LoadUint64(&k.short))
			if others := n - min(n, waitsTimed); timed > 0 && timed < others {
				short = Time(float64(short) / float64(timed) * float64(others))
			}
			short += Time(atomic.LoadUint64(&k.first))
			v := &f.Waits[i]
			v.N += n
			v.Time += short + vtime.FromDuration(time.Duration(atomic.LoadUint64(&k.idle)))
			if isRoom(k.what) {
				f.Stalls += n
			}
		}
	}
}

// isRoom reports whether waits of a name are for room to send.
func isRoom(what string) bool {
	for _, name := range roomFor {
		if what == name {
			return true
		}
	}
	return what == roomToSend
}
