package record

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// traceEvent is an event of the trace event format of Chrome, which Perfetto loads. The order of the fields is that of the file.
type traceEvent struct {
	Name string         `json:"name,omitempty"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	TS   json.Number    `json:"ts,omitempty"`
	PID  int            `json:"pid"`
	TID  int            `json:"tid"`
	ID   string         `json:"id,omitempty"`
	BP   string         `json:"bp,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// WriteTrace writes the events of all ranks in the trace event format. A rank is a process there, and a context of a rank a
// thread. A message is a slice where it is committed, one where its handler runs, and a flow from one to the other, if both
// were kept. A wait is a slice. A collective call is an asynchronous event of its process, as it may overlap others.
func WriteTrace(to io.Writer, records []*Record) error {
	w := bufio.NewWriterSize(to, 1<<16)
	t := &traceWriter{w: w, records: records, both: flows(records)}
	t.origin, t.lanes = firstOrigin(records), mostLanes(records)
	fmt.Fprint(w, `{"displayTimeUnit":"ns","traceEvents":[`)
	for _, r := range records {
		if r != nil && r.Events != nil {
			t.rank(r)
		}
	}
	fmt.Fprint(w, "\n],")
	other, err := json.Marshal(t.about())
	if err == nil {
		fmt.Fprintf(w, `"otherData":%s}`+"\n", other)
	}
	return cmp.Or(t.err, err, w.Flush())
}

// traceWriter writes a trace.
type traceWriter struct {
	w       *bufio.Writer
	records []*Record
	both    map[uint64]bool // flows that have both ends
	origin  int64
	lanes   int // at least as many as a rank has contexts
	some    bool
	err     error
}

// flows returns the flows that were kept at both ends.
func flows(records []*Record) map[uint64]bool {
	sent, both := make(map[uint64]bool), make(map[uint64]bool)
	for _, k := range []EventKind{SendEvent, HandlerEvent} {
		for _, r := range records {
			if r == nil || r.Events == nil {
				continue
			}
			for i := range r.Events.List {
				switch v := &r.Events.List[i]; {
				case v.Kind != k:
				case k == SendEvent:
					sent[v.Flow] = true
				case sent[v.Flow]:
					both[v.Flow] = true
				}
			}
		}
	}
	return both
}

// firstOrigin returns when the first rank's times began.
func firstOrigin(records []*Record) (origin int64) {
	first := true
	for _, r := range records {
		if r != nil && r.Events != nil && (first || r.Events.Origin < origin) {
			origin, first = r.Events.Origin, false
		}
	}
	return origin
}

// mostLanes returns how many contexts a rank has at most.
func mostLanes(records []*Record) (n int) {
	for _, r := range records {
		if r != nil && r.Events != nil {
			for i := range r.Events.List {
				n = max(n, r.Events.List[i].Lane+1)
			}
		}
	}
	return n
}

// about returns what is to be known of the trace.
func (t *traceWriter) about() map[string]any {
	dropped, skew, sample := uint64(0), int64(0), uint64(1)
	var unknown []int
	for rank, r := range t.records {
		if r == nil || r.Events == nil {
			unknown = append(unknown, rank)
			continue
		}
		dropped, skew, sample = dropped+r.Events.Dropped, max(skew, r.Events.Error), r.Events.Sample
	}
	about := map[string]any{"dropped_events": dropped, "sample": sample, "clock_error_ns": skew, "ranks": len(t.records)}
	if unknown != nil {
		about["unknown_ranks"] = unknown
	}
	return about
}

// put writes an event.
func (t *traceWriter) put(e *traceEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		t.err = cmp.Or(t.err, err)
		return
	}
	if t.some {
		t.w.WriteByte(',')
	}
	t.some = true
	t.w.WriteByte('\n')
	t.w.Write(b)
}

// ts returns a time of a rank as the format has it: in microseconds.
func (t *traceWriter) ts(e *Events, at vtime.Time) json.Number {
	ns, ps := e.Origin-t.origin+int64(at/vtime.Nanosecond), int64(at%vtime.Nanosecond)
	return json.Number(fmt.Sprintf("%d.%03d%03d", ns/1000, ns%1000, ps))
}

// rank writes the events of a rank.
func (t *traceWriter) rank(r *Record) {
	name := fmt.Sprint("rank ", r.Rank)
	if r.Host != "" {
		name += " on " + r.Host
	}
	pid := r.Rank + 1 // 0 would be the idle process of a system
	t.put(&traceEvent{Name: "process_name", Ph: "M", PID: pid, Args: map[string]any{"name": name}})
	t.put(&traceEvent{Name: "process_sort_index", Ph: "M", PID: pid, Args: map[string]any{"sort_index": r.Rank}})
	lanes := make(map[int][]*Event)
	for i := range r.Events.List {
		v := &r.Events.List[i]
		if list := lanes[v.Lane]; v.Kind == CollectiveEvent {
			lanes[v.Lane] = list // whose thread has a name
		} else {
			lanes[v.Lane] = append(list, v)
		}
	}
	var order []int
	for lane := range lanes {
		order = append(order, lane)
	}
	slices.Sort(order)
	for _, lane := range order {
		tid := pid*t.lanes + lane // Perfetto wants threads to be unique in the trace
		t.put(&traceEvent{Name: "thread_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": fmt.Sprint("context ", lane)}})
		t.lane(r.Events, lanes[lane], pid, tid)
	}
	t.collectives(r.Events, pid)
}

// collectives writes the collective calls of a rank.
func (t *traceWriter) collectives(e *Events, pid int) {
	for i := range e.List {
		v := &e.List[i]
		if v.Kind != CollectiveEvent {
			continue
		}
		id := fmt.Sprintf("0x%x", uint64(pid)<<40|v.Flow) // of one rank and call
		about := traceEvent{Name: e.Names[v.Name], Cat: "collective", PID: pid, TID: pid * t.lanes, ID: id}
		begin, end := about, about
		begin.Ph, begin.TS, begin.Args = "b", t.ts(e, v.Start), map[string]any{"bytes": v.Bytes}
		end.Ph, end.TS = "e", t.ts(e, v.Start+v.Dur)
		t.put(&begin)
		t.put(&end)
	}
}

// lane writes the events of a context: they are nested, since what a call does lies in the call. The list has them in the order of
// their ends.
func (t *traceWriter) lane(e *Events, list []*Event, pid, tid int) {
	order := make(map[*Event]int, len(list))
	for i, v := range list {
		order[v] = i
	}
	slices.SortFunc(list, func(a, b *Event) int { // of those that begin together, what ends last is around the others
		late := cmp.Compare(order[b], order[a])
		if a.Dur == 0 {
			late = -late // what takes no time, as in virtual time, is one after the other
		}
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur), late)
	})
	var open []*Event
	closeTo := func(at vtime.Time, all bool) {
		for n := len(open); n > 0; n = len(open) {
			v := open[n-1]
			end := v.Start + v.Dur
			if end > at && !all {
				return
			}
			t.put(&traceEvent{Ph: "E", TS: t.ts(e, end), PID: pid, TID: tid})
			open = open[:n-1]
		}
	}
	for _, v := range list {
		closeTo(v.Start, false)
		t.event(e, v, pid, tid)
		open = append(open, v)
	}
	closeTo(0, true)
}

// event writes the beginning of an event, and its end of a flow.
func (t *traceWriter) event(e *Events, v *Event, pid, tid int) {
	ts, name := t.ts(e, v.Start), e.Names[v.Name]
	switch v.Kind {
	case WaitEvent:
		t.put(&traceEvent{Name: name, Cat: "wait", Ph: "B", TS: ts, PID: pid, TID: tid})
	default:
		cat, peer, ph, bp := "send", "to", "s", ""
		if v.Kind == HandlerEvent {
			cat, peer, ph, bp = "handler", "from", "f", "e"
		}
		t.put(&traceEvent{Name: name, Cat: cat, Ph: "B", TS: ts, PID: pid, TID: tid,
			Args: map[string]any{peer: v.Peer, "category": v.Category.String(), "bytes": v.Bytes}})
		if t.both[v.Flow] {
			t.put(&traceEvent{Name: "message", Cat: "message", Ph: ph, TS: ts, PID: pid, TID: tid, ID: fmt.Sprintf("0x%x", v.Flow), BP: bp})
		}
	}
}
