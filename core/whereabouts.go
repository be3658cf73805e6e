package core

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Place is where a rank is: what it waits for, or else what is known of it. A rank says it of
// itself, and whoever has started the job puts the places of all ranks together; see Surveyor.
type Place struct {
	Rank     Rank
	Host     string            // its name, if the ranks of the job are on several; set by who asks
	Waits    []Wait            // of its contexts
	State    string            // what it does if it waits for nothing, e.g. "has not polled"
	For      time.Duration     // for how long; 0: not known
	Returned bool              // its body has returned
	Several  bool              // it has other contexts, which may do what this one does not
	Entered  map[string]uint64 // how many calls it has made, by Need.Key; nil: not known
	Traffic  []PeerCounts      // with the peers of most messages, the busiest first
	Load     *Load             // how much it has done; nil: not known
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
	if ep.watch != nil {
		ep.watch.lookAtPolls()
	}
	n := atomic.LoadUint32(&ep.state.Polls)
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

// where says where the rank is and how much it has done, from another goroutine than its own.
func (j *Job) where() Place {
	p := j.place()
	p.Load = j.load()
	return p
}

// place says where the rank is: one that waits is asked.
func (j *Job) place() Place {
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
	before := atomic.LoadUint32(&ep.state.Polls)
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
	case atomic.LoadUint32(&ep.state.Polls) != before:
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
	case c.peers:
		w.For = fmt.Sprintf("%s at rank %d", what, c.peer)
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
func (ep *Endpoint) joined() bool { return !ep.single && atomic.LoadUint32(&ep.state.Over) != 0 }

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

// Describe says what the rank does and for how long, as far as that is known: in the words of reports.
func (p *Place) Describe() string {
	what, since := p.does(), p.since()
	switch {
	case since < time.Millisecond:
		return what
	case len(p.Waits) > 0:
		return fmt.Sprintf("%s since %v", what, round(since))
	}
	return fmt.Sprintf("%s for %v", what, round(since))
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
