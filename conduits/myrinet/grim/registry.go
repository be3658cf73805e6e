package grim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// HandlerID is what a handler has in the whole cluster: see [Endpoint.Synchronize].
type HandlerID uint16

// Handler is called for a message by an event of the loop. It may send, and call all other methods of the endpoint.
type Handler func(*Endpoint, *Message)

// The handlers that every endpoint has, and the first number that the server gives to others.
const (
	requestHandler HandlerID = iota
	listHandler
	firstHandler HandlerID = 16
)

// ErrNoHandler says that no endpoint has registered a handler of that name.
var ErrNoHandler = errors.New("grim: no endpoint has registered a handler of that name")

// errNames says that the server has no numbers left.
var errNames = errors.New("grim: the server has no number left for a handler: there can be 65,520")

// maxName bounds the name of a handler, in bytes.
const maxName = 255

// registry is an endpoint's database of handlers, and on the server that of the cluster.
type registry struct {
	server EndpointID
	local  map[string]Handler
	ids    map[string]HandlerID
	known  map[HandlerID]Handler
	names  []string // of the server: that of firstHandler, and so on

	asked   uint32
	waiting map[uint32]func(error)

	roll *roll // nil: the program has not announced names
	told int   // of the server: requests that it has answered
}

// Marks in the second argument of requests and lists.
const (
	failed uint32 = 1 << iota // there are no numbers left
	more                      // of the same request, or list, comes in the next message
)

func (r *registry) start(e *Endpoint) {
	r.local, r.ids, r.waiting = map[string]Handler{}, map[string]HandlerID{}, map[uint32]func(error){}
	r.known = map[HandlerID]Handler{requestHandler: serve, listHandler: learn}
}

func (r *registry) handler(id HandlerID) Handler { return r.known[id] }

// SetServer says which endpoint keeps the cluster's list of handlers: endpoint 0, unless it is called. All endpoints name the same.
func (e *Endpoint) SetServer(id EndpointID) { e.names.server = id }

// Register names a handler of this endpoint. Messages for it come when the server has been told: see Synchronize.
func (e *Endpoint) Register(name string, f Handler) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("grim: a handler's name has 1 to %d bytes, not %d", maxName, len(name))
	case f == nil:
		return fmt.Errorf("grim: handler %q is nil", name)
	case e.names.local[name] != nil:
		return fmt.Errorf("grim: endpoint %d has a handler %q already", e.id, name)
	}
	e.names.local[name] = f
	return nil
}

// Synchronize sends the names of this endpoint's handlers to the server, which numbers those that it does not know, and answers
// with its whole list. done is called when that has come, on the server itself before Synchronize returns. Equal names have equal
// numbers everywhere.
func (e *Endpoint) Synchronize(done func(error)) error {
	var names []byte
	for _, name := range slices.Sorted(maps.Keys(e.names.local)) {
		names = appendName(names, name)
	}
	if r := e.names.roll; r != nil {
		for _, name := range r.names {
			names = appendName(names, name)
		}
	}
	return e.ask(names, done)
}

// Lookup returns the number of a handler by this endpoint's own list.
func (e *Endpoint) Lookup(name string) (HandlerID, bool) {
	if r := e.names.roll; r != nil {
		if i, ok := slices.BinarySearch(r.names, name); ok {
			return r.ids[i], r.ids[i] != 0
		}
	}
	id, ok := e.names.ids[name]
	return id, ok
}

// Find is Lookup, and asks the server for its list if the name is not in this endpoint's. done is told the number, or ErrNoHandler.
func (e *Endpoint) Find(name string, done func(HandlerID, error)) error {
	if id, ok := e.Lookup(name); ok {
		done(id, nil)
		return nil
	}
	return e.ask(nil, func(err error) {
		id, ok := e.Lookup(name)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %q", ErrNoHandler, name)
		}
		done(id, err)
	})
}

// ask tells the server names, and has its list sent.
func (e *Endpoint) ask(names []byte, done func(error)) error {
	r := &e.names
	if r.server == e.id {
		_, full := r.number(names)
		r.take(r.list())
		if full {
			done(errNames)
		} else {
			done(nil)
		}
		return nil
	}
	if err := e.sendParts(r.server, requestHandler, r.asked, 0, names, 0); err != nil {
		return err
	}
	r.waiting[r.asked] = done
	r.asked++
	return nil
}

// sendParts sends names, or a list, in as many messages as they need. Each entry is in one message. An entry has skip bytes before its name.
func (e *Endpoint) sendParts(to EndpointID, handler HandlerID, asked, mark uint32, text []byte, skip int) error {
	most := min(e.MostPayload(), int(e.host.profile.GRIM.Receive)-HeaderSize)
	for {
		n := 0
		for rest := text; len(rest) > 0; {
			size := skip + 2 + int(binary.BigEndian.Uint16(rest[skip:]))
			if n+size > most {
				break
			}
			n += size
			rest = text[n:]
		}
		if n == 0 && len(text) > 0 {
			return fmt.Errorf("%w: a handler's name does not fit into a message of up to %d B (grim.queue)", ErrTooLarge, most)
		}
		flags := mark
		if n < len(text) {
			flags |= more
		}
		if err := e.Send(to, handler, [4]uint32{asked, flags}, text[:n]); err != nil {
			return err
		}
		if text = text[n:]; len(text) == 0 {
			return nil
		}
	}
}

// serve is the server's handler.
func serve(e *Endpoint, m *Message) {
	r := &e.names
	ok, full := false, false
	if r.server == e.id {
		ok, full = r.number(m.Payload)
	}
	if !ok {
		e.counts.BadRequest++
		return
	}
	if m.Args[1]&more != 0 && !full {
		return // the rest of the request is on its way
	}
	list, mark := r.list(), uint32(0)
	if full {
		list, mark = nil, failed
	}
	if m.Args[1]&more == 0 {
		r.told++
	}
	if err := e.sendParts(m.Source, listHandler, m.Args[0], mark, list, idSize); err != nil {
		e.counts.BadRequest++ // an endpoint that asks has a route to here, and there is none back; or the queue is full, and nothing may overflow
	}
}

// learn takes the server's list, or a part of it.
func learn(e *Endpoint, m *Message) {
	r := &e.names
	done := r.waiting[m.Args[0]]
	if m.Source != r.server || done == nil || !r.take(m.Payload) {
		e.counts.BadRequest++
		return
	}
	if m.Args[1]&more != 0 {
		return
	}
	delete(r.waiting, m.Args[0])
	if m.Args[1]&failed != 0 {
		done(errNames)
	} else {
		done(nil)
	}
}

// appendName appends a name as requests have it: length in 16 bits, bytes.
func appendName(to []byte, name string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(name))), name...)
}

// cutName takes a name from the beginning; it reports false if there is none.
func cutName(b []byte) (name string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if n == 0 || n > maxName || n > len(b)-2 {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}

// number gives numbers to names that have none. It gives none if names are malformed, which it reports by false, or if there are fewer numbers
// left than names that have none.
func (r *registry) number(names []byte) (ok, full bool) {
	var fresh []string
	for rest := names; len(rest) > 0; {
		name, next, ok := cutName(rest)
		if !ok {
			return false, false
		}
		if rest = next; r.ids[name] == 0 {
			fresh = append(fresh, name)
		}
	}
	if len(r.names)+len(fresh) > 1<<16-int(firstHandler) {
		return true, true
	}
	for _, name := range fresh {
		if r.ids[name] != 0 {
			continue // it is among the names twice
		}
		r.ids[name] = firstHandler + HandlerID(len(r.names))
		r.names = append(r.names, name)
	}
	return true, false
}

// idSize is what a number has in a list.
const idSize = 2

// list returns all names with their numbers as the server sends them: number in 16 bits, name.
func (r *registry) list() (b []byte) {
	for i, name := range r.names {
		b = appendName(binary.BigEndian.AppendUint16(b, uint16(firstHandler)+uint16(i)), name)
	}
	return b
}

// take takes a list, and reports false, having taken part of it at most, if it is malformed.
func (r *registry) take(list []byte) bool {
	for len(list) > 0 {
		if len(list) < idSize {
			return false
		}
		id := HandlerID(binary.BigEndian.Uint16(list))
		name, rest, ok := cutName(list[idSize:])
		if !ok || id < firstHandler {
			return false
		}
		list = rest
		if r.roll != nil && r.roll.note(name, id) {
			continue
		}
		r.ids[name] = id
		if f := r.local[name]; f != nil {
			r.known[id] = f
		}
	}
	return true
}
