package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Place is where a rank is: what it waits for, or else what is known of it. A rank says it of
// itself, and whoever has started the job puts the places of all ranks together; see Surveyor.
type Place struct {
	Rank     Rank
	Waits    []Wait            // of its contexts
	State    string            // what it does if it waits for nothing, e.g. "has not polled"
	For      time.Duration     // for how long; 0: not known
	Returned bool              // its body has returned
	Several  bool              // it has other contexts, which may do what this one does not
	Entered  map[string]uint64 // how many calls it has made, by Need.Key; nil: not known
	Traffic  []PeerCounts      // with the peers of most messages, the busiest first
}

// Wait is one context's wait.
type Wait struct {
	For   string        // what to call it, e.g. "barrier 3 of world"
	Since time.Duration // how long it has gone on, with nothing that happened
	Need  *Need         // of a call of several ranks; nil: a handler, say, ends the wait
}

// Need is what ends a wait in a call of several ranks: that all members have made the call.
type Need struct {
	Key     string // names a sequence of calls that all its members make in the same order
	Number  uint64 // of the call in that sequence, from 1
	Members []Rank // the job's ranks that make it; nil: all
	Gone    bool   // who does not know the key has made the call, and forgotten
}

// PeerCounts are the messages exchanged with a peer.
type PeerCounts struct {
	Peer Rank
	Counts
}

// Call is a call of several ranks that a context waits in, for the layer above.
type Call interface {
	// Awaits says what to call it, and what it needs. It runs where conditions are evaluated.
	Awaits() (what string, need Need)
}

// WaitCall is WaitFor in a call of several ranks. Reports ask the call what is awaited.
func (c *Context) WaitCall(what string, call Call, cond func() bool) error {
	c.call = call
	err := c.wait(what, cond)
	c.call = nil
	return err
}

// OnLocate has f add to Place.Entered what calls of the layer above the rank has made. f runs where
// conditions are evaluated. It is set once, before the first wait.
func (ep *Endpoint) OnLocate(f func(entered map[string]uint64)) { ep.locate = f }

// locateTime is how long a rank that does not answer is asked where it is: a rank that waits answers
// at once, unless others have its CPU.
const locateTime = 500 * time.Millisecond

// doing is what a rank does that no context waits in.
type doing struct {
	what  string
	since time.Time
	told  time.Duration // how long it had taken when that was last told; only watch uses it

	entered map[string]uint64 // what the rank had entered when it began, and enters nothing else meanwhile; nil: not known
}

// enter notes that the rank does something for which it does not poll, until the function is called; entered is as for
// doing.
func (j *Job) enter(what string, entered map[string]uint64) (leave func()) {
	j.doing.Store(&doing{what: what, since: time.Now(), entered: entered})
	return func() { j.doing.Store(nil) }
}

// wait describes it as the wait for a call that all ranks make.
func (d *doing) wait() Wait {
	return Wait{For: d.what, Since: time.Since(d.since), Need: &Need{Key: d.what, Number: 1}}
}

// debugAlert is how long a wait takes in debug mode before it is looked whether it can ever end.
const debugAlert = 100 * time.Millisecond

// defaultStall is how long a wait takes before it is reported.
const defaultStall = 10 * time.Second

// NoStall as Config.Stall has no wait reported, however long.
const NoStall = time.Duration(-1)

// alert returns how long a wait has taken when it is told, after it was told at that time, 0 if it was not;
// never if it is not. It is told in debug mode, then at Stall, and always when it has taken twice as long.
func (c *Config) alert(told time.Duration) time.Duration {
	next := never
	switch {
	case told > 0:
		next = 2 * told
	case c.Debug:
		next = debugAlert
	}
	if told < c.Stall {
		next = min(next, c.Stall)
	}
	return next
}

// look returns how often it is looked whether the rank polls.
func (c *Config) look() time.Duration {
	if c.Stall < 0 {
		return time.Second
	}
	return min(max(c.Stall/4, 10*time.Millisecond), time.Second)
}

// lookAfter notes when the rank was seen to have polled, which it had that many times before, and
// tells of what takes long without polls, when Config.alert says, as a ladder does of a wait.
func (j *Job) lookAfter(polls uint32) uint32 {
	if d := j.doing.Load(); d != nil {
		if w := d.wait(); w.Since >= j.cfg.alert(d.told) {
			d.told = w.Since
			j.stalled(w)
		}
	}
	ep := j.ep.Load()
	if ep == nil {
		return polls
	}
	n := atomic.LoadUint32(&ep.polls)
	if n != polls {
		j.polled.Store(int64(time.Since(j.start)))
	}
	return n
}

// stalled tells that a wait takes long. Where nobody can ask all ranks, each tells its own waits.
func (j *Job) stalled(w Wait) {
	st := Stall{j.rank, w.Since, j.cfg.Stall >= 0 && w.Since >= j.cfg.Stall, j.cfg.Debug}
	if s, ok := j.boot.(Surveyor); ok {
		s.Stalled(st)
	} else if st.Report && j.told.CompareAndSwap(false, true) {
		j.cfg.Logger().Warn(fmt.Sprintf("rank %d has waited for %v for %s", j.rank, round(w.Since), w.For))
	}
}

// where says where the rank is, from another goroutine than its own: one that waits is asked.
func (j *Job) where() Place {
	j.asking.Lock()
	defer j.asking.Unlock()
	p := Place{Rank: j.rank, Returned: j.returned.Load()}
	if d := j.doing.Load(); d != nil {
		p.Waits = []Wait{d.wait()}
		if ep := j.ep.Load(); ep == nil || !ep.joined() { // else others may enter something meanwhile
			p.Entered = d.entered
		}
		return p
	}
	ep := j.ep.Load()
	if ep == nil {
		p.State, p.Entered = "has not attached", map[string]uint64{}
		return p
	}
	before := atomic.LoadUint32(&ep.polls)
	if answer := ep.ask(); answer != nil {
		select {
		case p := <-answer:
			return p
		case <-time.After(locateTime):
			ep.asked.Store(nil)
		}
	}
	switch {
	case p.Returned:
		p.State = "has returned"
	case atomic.LoadUint32(&ep.polls) != before:
		p.State = "polls, and waits for nothing for long"
	default:
		p.State, p.For = "has not polled", max(locateTime, time.Since(j.start)-time.Duration(j.polled.Load()))
	}
	return p
}

// ask asks whoever waits where the rank is; nil if the endpoint has been released.
func (ep *Endpoint) ask() <-chan Place {
	answer := make(chan Place, 1)
	ep.job.releasing.Lock()
	defer ep.job.releasing.Unlock()
	if ep.job.freed {
		return nil
	}
	ep.asked.Store(&answer)
	shm.Ring(ep.bell)
	return answer
}

// answer tells who has asked where the rank is. The caller waits, and polls.
func (l *ladder) answer() {
	if answer := l.ep.asked.Swap(nil); answer != nil {
		*answer <- l.ep.place(l.c.waiting(l.what, time.Since(l.since)))
	}
}

// waiting describes a wait of the context.
func (c *Context) waiting(what string, since time.Duration) Wait {
	w := Wait{For: what, Since: since}
	switch {
	case c.call != nil:
		need := Need{}
		w.For, need = c.call.Awaits()
		w.Need = &need
	case what == roomToSend:
		w.For = fmt.Sprintf("%s to rank %d", what, c.op.Dst)
	}
	return w
}

// place says where the rank is, of which the caller is in a wait.
func (ep *Endpoint) place(own Wait) Place {
	j := ep.job
	p := Place{
		Rank: j.rank, Waits: []Wait{own}, Returned: j.returned.Load(),
		Several: ep.several || ep.joined(),
		Entered: ep.entered(),
	}
	if p.Returned {
		p.Entered[returnKey] = 1
	}
	ep.progress.mu.Lock()
	for c := ep.progress.first; c != nil; c = c.next {
		p.Waits = append(p.Waits, c.waiting(c.what, time.Since(c.since)))
	}
	ep.progress.mu.Unlock()
	ep.sending.Lock()
	defer ep.sending.Unlock()
	for _, r := range ep.group {
		if n := ep.Counts(r); n != (Counts{}) {
			p.Traffic = append(p.Traffic, PeerCounts{r, n})
		}
	}
	slices.SortStableFunc(p.Traffic, func(a, b PeerCounts) int { return cmp.Compare(b.sum(), a.sum()) })
	p.Traffic = p.Traffic[:min(len(p.Traffic), mostPeers)]
	return p
}

// joined reports whether the rank has another context than the default one in Many mode.
func (ep *Endpoint) joined() bool { return !ep.single && atomic.LoadUint32(&ep.bias.over) != 0 }

// entered returns how many calls the rank has made, by Need.Key. It is called where conditions are evaluated.
func (ep *Endpoint) entered() map[string]uint64 {
	made := map[string]uint64{attachCall: 1, barrierKey: atomic.LoadUint64(&ep.barrier.entered)}
	if ep.later == nil {
		made[segmentCall] = 1
	}
	if ep.locate != nil {
		ep.locate(made)
	}
	return made
}

func (c Counts) sum() uint64 { return c.Requests + c.Replies + c.Received }

// Keys of core's own calls.
const (
	attachCall  = "Attach"
	segmentCall = "AttachSegment"
	barrierKey  = "core barrier"
	returnKey   = "return"
)

// Awaits implements Call.
func (b *barrier) Awaits() (string, Need) {
	return fmt.Sprintf("barrier %d of the Core API", b.entered), Need{Key: barrierKey, Number: b.entered, Members: b.group}
}

// meeting is the barrier with which a call of another name begins, as a Call.
type meeting struct {
	*barrier
	call string
}

// Awaits implements Call.
func (m *meeting) Awaits() (string, Need) {
	_, need := m.barrier.Awaits()
	return m.call, need
}

// leaving is the final barrier as a Call: it needs that all members have returned.
type leaving barrier

// Awaits implements Call.
func (b *leaving) Awaits() (string, Need) {
	return finalWhat + " (it has returned)", Need{Key: returnKey, Number: 1, Members: b.group}
}

// Bounds of what a survey tells: peers of a rank, ranks one by one, kinds of place otherwise, and
// names of a kind.
const (
	mostPeers  = 4
	mostPlaces = 16
	mostNames  = 4
)

// round makes a time short to read.
func round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Millisecond)
}

// longest returns the wait that has gone on for longest, nil if there is none.
func (p *Place) longest() (w *Wait) {
	for i := range p.Waits {
		if w == nil || p.Waits[i].Since > w.Since {
			w = &p.Waits[i]
		}
	}
	return w
}

// does says what the rank does.
func (p *Place) does() string {
	w := p.longest()
	switch {
	case p.Returned:
		return "has returned"
	case w == nil && p.State == "":
		return "has joined the job"
	case w == nil:
		return p.State
	case len(p.Waits) > 1:
		return fmt.Sprintf("waits for %s, and in %d other goroutines", w.For, len(p.Waits)-1)
	}
	return "waits for " + w.For
}

// since says for how long it does that, 0 if that is not known.
func (p *Place) since() time.Duration {
	switch w := p.longest(); {
	case p.Returned:
		return 0
	case w != nil:
		return w.Since
	}
	return p.For
}

// String says it in a line.
func (p *Place) String() string { return fmt.Sprintf("rank %d %s", p.Rank, p.does()) }

// lacks reports whether a rank is known not to have made the call that is needed.
func (n *Need) lacks(p *Place) bool {
	if n.Members != nil && !slices.Contains(n.Members, p.Rank) || p.Entered == nil {
		return false
	}
	made, known := p.Entered[n.Key]
	return made < n.Number && (known || !n.Gone)
}

// silent reports whether a rank that is to make the call has not said where it is, and is not in the call.
func (n *Need) silent(p *Place) bool {
	in := func(w Wait) bool { return w.Need != nil && w.Need.Key == n.Key && w.Need.Number >= n.Number }
	return p.Entered == nil && (n.Members == nil || slices.Contains(n.Members, p.Rank)) && !slices.ContainsFunc(p.Waits, in)
}

// Survey is what is made of the places of all ranks, in the order in which they are asked. The zero
// value is ready.
type Survey struct {
	last []Place       // of the time before
	at   time.Time     // of the last report
	told time.Duration // how long the wait had taken
	what string        // and what was said
	does []string      // by rank, what they did
}

// Stall is what a rank tells whose wait takes long.
type Stall struct {
	Rank   Rank
	Waited time.Duration
	Report bool // it takes longer than Config.Stall
	Debug  bool // what can never end is to end the job
}

// Wanted reports whether the places of all ranks are to be found because of a stall.
func (s *Survey) Wanted(st Stall) bool { return st.Debug || s.late(st) }

// late reports whether a wait has taken long enough to be reported.
func (s *Survey) late(st Stall) bool { return st.Report && st.Waited >= 2*s.told }

// Judge says what a stall comes to, given the places of all ranks, all found after those of the
// judgement before: a report; and in debug mode why the job can never go on. Either is "" if there is
// none. A wait is reported once, whichever of the ranks in it asks, unless a rank does something else
// since. After a report only a wait that takes twice as long is reported: so a program that waits for a slow
// rank now and then says so a few times, and one that hangs later says that too.
func (s *Survey) Judge(st Stall, places []Place) (report, deadlock string) {
	before := s.last
	s.last = places
	if st.Debug && len(before) == len(places) {
		deadlock = deadlockOf(before, places)
	}
	if deadlock != "" || !s.late(st) {
		return "", deadlock
	}
	p := tellWhose(st.Rank, places)
	w := p.longest()
	if w == nil {
		return "", ""
	}
	what, does := w.describe(places), make([]string, len(places))
	for i := range places {
		does[i] = places[i].does()
	}
	if what == attachCall || what == segmentCall || (what == s.what || slices.Equal(does, s.does)) && time.Since(s.at) < w.Since {
		return "", "" // all attach, which may take its time; or it is the wait that was told, or in its table
	}
	s.at, s.told, s.what, s.does = time.Now(), st.Waited, what, does
	return fmt.Sprintf("rank %d has waited for %v for %s; where the ranks are (AQUEDUCT_STALL sets the time, off reports nothing):\n%s",
		p.Rank, round(w.Since), what, Table(places)), ""
}

// tellWhose returns whose wait to tell of: that of the rank, but if it has returned rather one of those for
// which it waits.
func tellWhose(rank Rank, places []Place) *Place {
	if places[rank].Returned {
		for i := range places {
			if p := &places[i]; !p.Returned && p.longest() != nil {
				return p
			}
		}
	}
	return &places[rank]
}

// describe tells what is waited for, which members lack, and where the first of them is.
func (w *Wait) describe(places []Place) string {
	if w.Need == nil {
		return w.For
	}
	switch missing := w.Need.blame(places); {
	case missing != "":
		return w.For + ", " + missing
	case w.For == attachCall, w.For == segmentCall:
		return w.For
	}
	return w.For + ", which all its members have reached"
}

// blame names the members that have not made a call, and says where the first of them is; "" if
// there are none.
func (n *Need) blame(places []Place) string {
	var missing, silent []string
	var first *Place
	for i := range places {
		p := &places[i]
		switch {
		case n.lacks(p):
			missing = append(missing, fmt.Sprint("rank ", p.Rank))
			if len(missing) == 1 {
				first = p
			}
		case n.silent(p):
			silent = append(silent, fmt.Sprint("rank ", p.Rank))
			if len(silent) == 1 && len(missing) == 0 {
				first = p
			}
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("which %s not reached: %s", some(missing, "has", "have"), first)
	case len(silent) > 0:
		return fmt.Sprintf("of which %s nothing: %s", some(silent, "says", "say"), first)
	}
	return ""
}

// some joins names, a few of many, with a verb.
func some(names []string, one, several string) string {
	verb := one
	if len(names) > 1 {
		verb = several
	}
	text := strings.Join(names[:min(len(names), mostNames)], ", ")
	if more := len(names) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " " + verb
}

// deadlockOf says why some ranks can never go on, or "". Each of these was in the same call of several
// ranks when it was asked twice, has no other contexts, and lacks another of these. The second round
// of questions began when the first one was over; so there was a moment at which each was in its call,
// and none had made what another lacks. From then on nobody can.
func deadlockOf(before, now []Place) string {
	stuck := make(map[Rank]*Need)
	for i := range now {
		p := &now[i]
		if len(p.Waits) == 1 && p.Waits[0].Need != nil && !p.Several && before[i].Entered != nil {
			n, b := p.Waits[0].Need, before[i].Waits
			if len(b) == 1 && b[0].Need != nil && b[0].Need.Key == n.Key && b[0].Need.Number == n.Number {
				stuck[p.Rank] = n
			}
		}
	}
	lack := func(n *Need) *Place {
		for i := range now {
			if stuck[now[i].Rank] != nil && n.lacks(&now[i]) {
				return &now[i]
			}
		}
		return nil
	}
	for again := true; again; {
		again = false
		for r, n := range stuck {
			if lack(n) == nil {
				delete(stuck, r)
				again = true
			}
		}
	}
	var text []string
	told := make(map[string]bool)
	for _, r := range slices.Sorted(maps.Keys(stuck)) {
		p := &now[r]
		if call := p.Waits[0].For; len(text) < mostPlaces && !p.Returned && !told[call] {
			told[call] = true
			other := lack(stuck[r])
			text = append(text, fmt.Sprintf("rank %d waits for %s, which rank %d has not reached: it %s", r, call, other.Rank, other.does()))
		}
	}
	if len(text) == 0 {
		return ""
	}
	return "core: deadlock: " + strings.Join(text, "; ")
}

// Table tells where ranks are, a line for each, or for each place if they are many, and then the
// messages by peer.
func Table(places []Place) string {
	type kind struct {
		names       []string
		n           int
		what, word  string
		first, last time.Duration
	}
	var kinds []*kind
	known := make(map[string]*kind)
	for i := range places {
		p := &places[i]
		what, since := p.does(), p.since()
		k := known[what]
		if k == nil || len(places) <= mostPlaces {
			k = &kind{what: what, word: "for", first: since, last: since}
			if len(p.Waits) > 0 {
				k.word = "since"
			}
			known[what] = k
			kinds = append(kinds, k)
		}
		if k.n++; k.n <= mostNames {
			k.names = append(k.names, fmt.Sprint("rank ", p.Rank))
		}
		k.first, k.last = min(k.first, since), max(k.last, since)
	}
	var b strings.Builder
	for i, k := range kinds {
		if i == mostPlaces {
			fmt.Fprintf(&b, "  and %d other places\n", len(kinds)-i)
			break
		}
		fmt.Fprintf(&b, "  %s", strings.Join(k.names, ", "))
		if more := k.n - len(k.names); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		if k.n > 1 {
			b.WriteString(":")
		}
		fmt.Fprintf(&b, " %s", k.what)
		if k.last > 0 {
			fmt.Fprintf(&b, " %s %v", k.word, round(k.last))
		}
		if round(k.first) != round(k.last) {
			fmt.Fprintf(&b, " to %v", round(k.first))
		}
		b.WriteString("\n")
	}
	for i := range places[:min(len(places), mostPlaces)] {
		p := &places[i]
		for _, t := range p.Traffic {
			fmt.Fprintf(&b, "  rank %d with rank %d: %d requests and %d replies sent, %d messages received\n",
				p.Rank, t.Peer, t.Requests, t.Replies, t.Received)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
