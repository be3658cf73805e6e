package amfamily

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Args is how many 32-bit words of arguments every message carries, and ArgBytes their bytes.
const (
	Args     = 4
	ArgBytes = 4 * Args
)

// A Message is what a handler is called with.
type Message struct {
	From    int // node; -1 for a client that has no number here, which can be replied to all the same
	Handler int
	Args    [Args]uint32
	Data    []byte // valid until the handler returns
	Long    *Long  // of a message by SendLong or ReplyLong, valid likewise: instead of Handler and Args. Data is nil if it has no such place
}

// A Long is what a message has besides its data if that is for a place of the receiver's memory.
type Long struct {
	Header uint32   // the sender's own word
	Args   []uint32 // MaxLongArgs at most
	Offset uint64   // of the data in what the receiver exposes
	Len    int      // bytes of the data
}

// MaxLongArgs is how many words of arguments a Long has at most.
const MaxLongArgs = 16

// A Handler runs when a message arrives, in the proc of the receiver, and must not wait. The handler of a request
// may reply once (Node.Reply) and use the network in no other way; that of a reply may not use it at all.
type Handler func(n Node, m *Message)

// An Image is the handlers of a program: the same for all of its nodes.
type Image []Handler

// A Node is a process's end of a layer.
type Node interface {
	// ID is the node's number, and Nodes how many there are.
	ID() int
	Nodes() int
	// Proc is the proc that the node runs in: nil before Run.
	Proc() *vtime.Proc
	// Request sends a message to another node. It returns when data is the caller's again; until there is room it serves
	// the network. A handler may not call it.
	Request(to, handler int, args [Args]uint32, data []byte) error
	// Reply sends the one reply to the request m, whose handler calls it.
	Reply(m *Message, handler int, args [Args]uint32, data []byte) error
	// Poll takes what has arrived and runs handlers; it returns how many. Handlers may not call it.
	Poll() (int, error)
	// Counts returns what has happened at the node.
	Counts() Counts

	// Bind gives the node its proc. Run calls it, before anything else is called.
	Bind(p *vtime.Proc)
}

// A Claimer is a node for a layer above that has a wait of its own, as a conduit has. That layer asks for room before it
// sends, and nothing but Poll runs handlers.
type Claimer interface {
	Node
	// Hold makes the node one: it is called once, before anything else but Bind, and then Request is not used. From now on Poll
	// leaves a request where it is until a reply with so many bytes of data has room, so that Reply waits for no other process,
	// and whatever was sent arrives if its receiver polls, whether its sender does or not. It returns why the machine cannot
	// promise that, or nil.
	Hold(reply int) error
	// Claim takes room for a request with at most so many bytes of data to another node, or reports false if there is none at
	// present. It waits for nothing and runs no handler. There is room later only for a node that polls.
	Claim(to, length int) bool
	// Send sends a request for which room was claimed, with the length that Claim was told; its data may be shorter. It waits for no
	// other process, and runs no handler. The data is the caller's again when it returns.
	Send(to, handler int, args [Args]uint32, data []byte, claimed int) error
}

// A Placer is a Claimer whose messages can have their data put at a place of the receiver's memory by the system. Room for the
// reply to a request is room for such a reply too, of whatever length the system allows.
type Placer interface {
	Claimer
	// Expose says which memory of the process others may name places of, from now on; nil: none.
	Expose(memory []byte)
	// ClaimLong is Claim for SendLong.
	ClaimLong(to, args, length int) bool
	// SendLong is Send for a message that runs the handler that the node was made with for those, after its data is in its place. The
	// number of arguments is what ClaimLong was told.
	SendLong(to int, l *Long, data []byte, claimed int) error
	// ReplyLong is Reply likewise.
	ReplyLong(m *Message, l *Long, data []byte) error
}

// A Sleeper is a Node whose process sleeps while it waits, if it is told so, until an interrupt wakes it, instead of polling.
type Sleeper interface {
	Node
	// Sleep says how the process waits from now on.
	Sleep(sleeps bool)
}

// Counts are what has happened at a node since the beginning. A layer without a mechanism leaves its count at 0.
type Counts struct {
	Requests, Replies uint64 // whose handlers have run
	Traps             uint64 // into the kernel, to send or to poll
	Interrupts        uint64
	Copied            uint64 // bytes of messages copied by the processor, at both ends, to and from an adapter too
	Resent            uint64 // requests and replies sent again
	Duplicates        uint64 // requests and replies dropped because they had come before
	Foreign           uint64 // messages of another program that were taken from the network
	Malformed         uint64 // messages dropped because they cannot be of this layer
}

// End is what the nodes of all layers have: who they are, and the rules for calls. A layer embeds it.
type End struct {
	Count Counts

	id, nodes int
	most      int // bytes of data
	proc      *vtime.Proc
	image     Image
	serving   *Message // the request whose handler runs and has not replied
	handling  bool     // a handler runs
}

// NewEnd returns the end of node id of so many, whose messages have most bytes of data.
func NewEnd(id, nodes, most int, image Image) End {
	return End{id: id, nodes: nodes, most: most, image: image}
}

// ID implements Node.
func (e *End) ID() int { return e.id }

// Nodes implements Node.
func (e *End) Nodes() int { return e.nodes }

// Proc implements Node.
func (e *End) Proc() *vtime.Proc { return e.proc }

// Counts implements Node.
func (e *End) Counts() Counts { return e.Count }

// Bind implements Node.
func (e *End) Bind(p *vtime.Proc) { e.proc = p }

// The rules for calls, as errors.
var (
	ErrHandler = errors.New("a handler may send nothing but the one reply to the request that it was called for")
	ErrPoll    = errors.New("a handler may not poll")
)

// CheckRequest returns why a request may not be sent, or nil.
func (e *End) CheckRequest(to, handler, length int) error {
	if e.handling {
		return fmt.Errorf("node %d: %w", e.id, ErrHandler)
	}
	return e.check(to, handler, length)
}

// CheckReply returns why m may not be replied to so, or nil: then it counts as replied to.
func (e *End) CheckReply(m *Message, handler, length int) error {
	if m == nil || e.serving != m {
		return fmt.Errorf("node %d: %w", e.id, ErrHandler)
	}
	if err := e.checkMessage(handler, length); err != nil {
		return err
	}
	e.serving = nil
	return nil
}

// CheckPoll returns ErrPoll in a handler.
func (e *End) CheckPoll() error {
	if e.handling {
		return fmt.Errorf("node %d: %w", e.id, ErrPoll)
	}
	return nil
}

func (e *End) check(to, handler, length int) error {
	if to < 0 || to >= e.nodes || to == e.id {
		return fmt.Errorf("node %d: no other node %d; there are %d", e.id, to, e.nodes)
	}
	return e.checkMessage(handler, length)
}

func (e *End) checkMessage(handler, length int) error {
	switch {
	case !e.Known(handler):
		return fmt.Errorf("node %d: no handler %d; the image has %d", e.id, handler, len(e.image))
	case length > e.most:
		return fmt.Errorf("node %d: %d bytes of data, but a message has %d at most", e.id, length, e.most)
	}
	return nil
}

// Known tells whether the image has a handler.
func (e *End) Known(handler int) bool { return handler >= 0 && handler < len(e.image) }

// Serve runs the handler of a request, which must be known, and tells whether it has replied. A handler of a reply may
// run in between: while a reply waits to be sent.
func (e *End) Serve(n Node, m *Message) (replied bool) {
	e.Count.Requests++
	e.handling, e.serving = true, m
	e.image[m.Handler](n, m)
	replied = e.serving == nil
	e.handling, e.serving = false, nil
	return replied
}

// Settle runs the handler of a reply, which must be known.
func (e *End) Settle(n Node, m *Message) {
	e.Count.Replies++
	handling, serving := e.handling, e.serving
	e.handling, e.serving = true, nil
	e.image[m.Handler](n, m)
	e.handling, e.serving = handling, serving
}

// Wait polls until done, which looks at what handlers of the node change, or at what an event changes that then calls
// Arrive. op says in a report of a deadlock what is waited for.
func Wait(n Node, op string, done func() bool) error {
	p := n.Proc()
	for {
		seen := p.Arrivals
		if done() {
			return nil
		}
		begin := p.Now()
		if got, err := n.Poll(); err != nil {
			return err
		} else if got > 0 || p.Arrivals != seen {
			continue
		}
		p.SetWaiting(op)
		p.Park(p.Now() - begin)
	}
}

// Run runs body as the process of every node, until all have returned; a node whose body has returned serves the others
// meanwhile. The first error of a body ends the run. The kernel must not have run before.
func Run[N Node](k *vtime.Kernel, nodes []N, body func(N) error) error {
	left := len(nodes)
	procs := make([]*vtime.Proc, len(nodes))
	for i, n := range nodes {
		procs[i] = k.Spawn(fmt.Sprintf("node %d", n.ID()), func(p *vtime.Proc) {
			err := body(n)
			if err == nil {
				p.Sync()
				left--
				for _, other := range procs {
					other.Arrive()
				}
				err = Wait(n, "the others to end", func() bool { return left == 0 })
			}
			if err != nil {
				k.Unwind(err)
			}
		})
		n.Bind(procs[i])
	}
	return k.Run()
}
