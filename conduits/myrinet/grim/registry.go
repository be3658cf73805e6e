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

// errList says that the server's list does not fit into a message.
var errList = errors.New("grim: the server has too many handlers, or too long names, for a message")

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
}

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
	return e.ask(names, done)
}

// Lookup returns the number of a handler by this endpoint's own list.
func (e *Endpoint) Lookup(name string) (HandlerID, bool) {
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
		r.number(names)
		list := r.list()
		r.take(list)
		done(nil)
		return nil
	}
	if err := e.Send(r.server, requestHandler, [4]uint32{r.asked}, names); err != nil {
		return err
	}
	r.waiting[r.asked] = done
	r.asked++
	return nil
}

// serve is the server's handler. A list that has no room in a message is answered by none, and a mark.
func serve(e *Endpoint, m *Message) {
	r := &e.names
	if r.server != e.id || !r.number(m.Payload) {
		e.counts.BadRequest++
		return
	}
	list, failed := r.list(), uint32(0)
	if len(list) > e.MostPayload() {
		list, failed = nil, 1
	}
	if err := e.Send(m.Source, listHandler, [4]uint32{m.Args[0], failed}, list); err != nil {
		e.counts.BadRequest++ // an endpoint that asks has a route to here, and there is none back; or the queue is full, and nothing may overflow
	}
}

// learn takes the server's list.
func learn(e *Endpoint, m *Message) {
	r := &e.names
	done := r.waiting[m.Args[0]]
	if m.Source != r.server || done == nil || !r.take(m.Payload) {
		e.counts.BadRequest++
		return
	}
	delete(r.waiting, m.Args[0])
	if m.Args[1] != 0 {
		done(errList)
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

// number gives numbers to names that have none, and reports false, having given none, if the names are malformed. If there would be more
// than numbers it gives none either: the list of so many does not fit into a message, which those who ask are told.
func (r *registry) number(names []byte) bool {
	var fresh []string
	for rest := names; len(rest) > 0; {
		name, next, ok := cutName(rest)
		if !ok {
			return false
		}
		if rest = next; r.ids[name] == 0 {
			fresh = append(fresh, name)
		}
	}
	if len(r.names)+len(fresh) > 1<<16-int(firstHandler) {
		return true
	}
	for _, name := range fresh {
		if r.ids[name] != 0 {
			continue // it is among the names twice
		}
		r.ids[name] = firstHandler + HandlerID(len(r.names))
		r.names = append(r.names, name)
	}
	return true
}

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
		if len(list) < 2 {
			return false
		}
		id := HandlerID(binary.BigEndian.Uint16(list))
		name, rest, ok := cutName(list[2:])
		if !ok || id < firstHandler {
			return false
		}
		r.ids[name] = id
		if f := r.local[name]; f != nil {
			r.known[id] = f
		}
		list = rest
	}
	return true
}
