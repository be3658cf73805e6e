package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// EventKind says what an event is.
type EventKind uint8

// The kinds.
const (
	SendEvent       EventKind = iota // a message is committed; Flow names it
	HandlerEvent                     // the handler of a message runs; Flow names that
	WaitEvent                        // a wait
	CollectiveEvent                  // a collective call, from its begin until the program knows that it is complete; Flow numbers those of the rank
	eventKinds
)

// Event is something that a rank did.
type Event struct {
	Kind       EventKind
	Lane       int        // which of the rank's contexts, from 0
	Start, Dur vtime.Time // since the rank's Origin
	Name       int        // of Events.Names
	Peer       int        // of a message; else -1
	Category   Category   // of a message
	Bytes      uint64
	Flow       uint64 // the same at both ends of a message, and of no other message for a long time
}

// Events are what a rank did, as far as it was kept: the latest events, in the order in which they ended.
type Events struct {
	Names   []string
	List    []Event
	Dropped uint64 // earlier ones, for which there was no room
	Sample  uint64 // of messages and waits, every so manieth is there
	Origin  int64  // when the rank's times began, in nanoseconds of the clock of rank 0's host; 0 in virtual time
	Error   int64  // by how many nanoseconds Origin may be off; 0: the clocks are one
}

// eventBytes is the length of an encoded event.
const eventBytes = 44

// wireEvents is the form of Events in JSON: events take less room there.
type wireEvents struct {
	Names           []string
	List            []byte
	Dropped, Sample uint64
	Origin, Error   int64
}

// MarshalJSON implements json.Marshaler.
func (e *Events) MarshalJSON() ([]byte, error) {
	w := wireEvents{e.Names, make([]byte, 0, eventBytes*len(e.List)), e.Dropped, e.Sample, e.Origin, e.Error}
	le := binary.LittleEndian
	for i := range e.List {
		v := &e.List[i]
		b := append(w.List, byte(v.Kind), byte(v.Category))
		b = le.AppendUint16(b, uint16(v.Lane))
		b = le.AppendUint32(b, uint32(v.Name))
		b = le.AppendUint32(b, uint32(int32(v.Peer)))
		b = le.AppendUint64(le.AppendUint64(b, uint64(v.Start)), uint64(v.Dur))
		w.List = le.AppendUint64(le.AppendUint64(b, v.Bytes), v.Flow)
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Events) UnmarshalJSON(text []byte) error {
	var w wireEvents
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	if len(w.List)%eventBytes != 0 {
		return fmt.Errorf("%d bytes of events of %d", len(w.List), eventBytes)
	}
	*e = Events{Names: w.Names, Dropped: w.Dropped, Sample: w.Sample, Origin: w.Origin, Error: w.Error}
	le := binary.LittleEndian
	for b := w.List; len(b) > 0; b = b[eventBytes:] {
		e.List = append(e.List, Event{
			Kind: EventKind(b[0]), Category: Category(b[1]), Lane: int(le.Uint16(b[2:])), Name: int(le.Uint32(b[4:])),
			Peer: int(int32(le.Uint32(b[8:]))), Start: vtime.Time(le.Uint64(b[12:])), Dur: vtime.Time(le.Uint64(b[20:])),
			Bytes: le.Uint64(b[28:]), Flow: le.Uint64(b[36:]),
		})
	}
	return nil
}

// check refuses events that cannot be.
func (e *Events) check(n int) error {
	for i := range e.List {
		switch v := &e.List[i]; {
		case v.Kind >= eventKinds || v.Name < 0 || v.Name >= len(e.Names) || v.Peer < -1 || v.Peer >= n:
			return fmt.Errorf("event %d cannot be", i)
		case v.Start < 0 || v.Dur < 0 || v.Start.Plus(v.Dur) != v.Start+v.Dur:
			return errors.New("events of no time")
		}
	}
	return nil
}
