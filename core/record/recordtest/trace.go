// Package recordtest checks what jobs record, for tests.
package recordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Trace is what CheckTrace has found.
type Trace struct {
	Slices, Flows int
	Names         map[string]int // slices and asynchronous events, by category and name, as in "wait Barrier"
	Lasting       int            // asynchronous events that take time
	Dropped       uint64
}

// event is one of the trace event format, with every field that may be there.
type event struct {
	Name, Cat, Ph string
	TS            json.Number
	PID, TID      *int
	ID, BP        string
	Args          map[string]any
}

// thread names a thread of a trace.
type thread struct{ pid, tid int }

// CheckTrace reads a trace strictly by the rules of the trace event format: a name for every process and thread before its
// events, times that never go back in a thread, slices that begin and end in pairs and lie in each other, flows that begin and end
// once, each in a slice, and do not end before they begin, and asynchronous events that begin and end once.
func CheckTrace(text []byte) (*Trace, error) {
	var file struct {
		DisplayTimeUnit string
		TraceEvents     []json.RawMessage
		OtherData       struct {
			Dropped uint64 `json:"dropped_events"`
			Sample  uint64 `json:"sample"`
			Error   int64  `json:"clock_error_ns"`
			Ranks   int    `json:"ranks"`
			Unknown []int  `json:"unknown_ranks"`
		}
	}
	if err := strictly(text, &file); err != nil {
		return nil, err
	}
	t := &Trace{Names: make(map[string]int), Dropped: file.OtherData.Dropped}
	processes, threads := make(map[int]bool), make(map[thread]bool)
	open, last := make(map[thread]int), make(map[thread]float64)
	begun, ended, asynchronous := make(map[string]float64), make(map[string]float64), make(map[string]float64)
	for i, text := range file.TraceEvents {
		var e event
		if err := strictly(text, &e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		wrong := func(what string) error { return fmt.Errorf("event %d, %s: %s", i, text, what) }
		if e.PID == nil || e.TID == nil {
			return nil, wrong("no process or thread")
		}
		at := thread{*e.PID, *e.TID}
		if e.Ph == "M" {
			switch e.Name {
			case "process_name":
				processes[at.pid] = true
			case "thread_name":
				threads[at] = true
			}
			continue
		}
		ts, err := strconv.ParseFloat(string(e.TS), 64)
		switch {
		case err != nil || ts < 0:
			return nil, wrong("no time")
		case !processes[at.pid] || !threads[at]:
			return nil, wrong("its process or thread has no name")
		case e.Ph == "b" || e.Ph == "e": // they lie beside the thread
		case ts < last[at]:
			return nil, wrong("time goes back in the thread")
		default:
			last[at] = ts
		}
		switch e.Ph {
		case "B":
			if e.Name == "" || e.Cat == "" {
				return nil, wrong("no name or category")
			}
			open[at]++
			t.Slices++
			t.Names[e.Cat+" "+e.Name]++
		case "E":
			if open[at]--; open[at] < 0 {
				return nil, wrong("it ends nothing")
			}
		case "b":
			if _, twice := asynchronous[e.ID]; twice || e.ID == "" || e.Name == "" || e.Cat == "" {
				return nil, wrong("an asynchronous event twice, or without id, name or category")
			}
			asynchronous[e.ID] = ts
			t.Names[e.Cat+" "+e.Name]++
		case "e":
			from, ok := asynchronous[e.ID]
			if !ok || math.IsNaN(from) || ts < from {
				return nil, wrong("an asynchronous event that has not begun, or ends before or twice")
			}
			if ts > from {
				t.Lasting++
			}
			asynchronous[e.ID] = math.NaN() // it has ended
		case "s", "f":
			flows := begun
			if e.Ph == "f" {
				flows = ended
			}
			if _, twice := flows[e.ID]; twice || e.ID == "" || open[at] == 0 || e.Ph == "f" && e.BP != "e" {
				return nil, wrong("a flow twice, without an id, outside of a slice, or not bound to the slice around its end")
			}
			flows[e.ID] = ts
		default:
			return nil, wrong("no such phase")
		}
	}
	for at, n := range open {
		if n != 0 {
			return nil, fmt.Errorf("%d slices of thread %v have no end", n, at)
		}
	}
	for id, from := range asynchronous {
		if !math.IsNaN(from) {
			return nil, fmt.Errorf("asynchronous event %s has no end", id)
		}
	}
	for id, ts := range ended {
		if from, ok := begun[id]; !ok || from > ts+float64(file.OtherData.Error)/500 { // both clocks may be off
			return nil, fmt.Errorf("flow %s ends at %f and begins at %f", id, ts, from)
		}
	}
	if t.Flows = len(begun); len(ended) != t.Flows {
		return nil, fmt.Errorf("%d flows begin and %d end", t.Flows, len(ended))
	}
	return t, nil
}

// strictly decodes one value of JSON, whose fields are all known.
func strictly(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows")
	}
	return nil
}
