package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/plural"
)

// Bounds of what a survey tells: peers of a rank, ranks one by one, kinds of place otherwise, and
// names of a kind.
const (
	mostPeers  = 4
	mostPlaces = 16
	mostNames  = 4
)

// round makes a time short to read.
func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(time.Second)
	case d < 10*time.Millisecond: // as in virtual time
		return d
	}
	return d.Round(10 * time.Millisecond)
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
			name := fmt.Sprint("rank ", p.Rank)
			if p.Host != "" {
				name += " on " + p.Host
			}
			k.names = append(k.names, name)
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
			fmt.Fprintf(&b, "  rank %d with rank %d: %s and %s sent, %s received\n", p.Rank, t.Peer, plural.Count(t.Requests, "request", "requests"),
				plural.Count(t.Replies, "reply", "replies"), plural.Count(t.Received, "message", "messages"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
