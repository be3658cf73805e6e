package paper

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A grimNode is an endpoint of GRIM as a node of the Active Message family. GRIM knows no requests and replies: each handler has two
// names, one for either.
type grimNode struct {
	amfamily.End
	end      *grim.Endpoint
	nodes    []*grimNode
	handlers [2][]grim.HandlerID // for requests, and for replies
	came     []grimCame
}

// grimCame is a message that waits for its handler.
type grimCame struct {
	amfamily.Message
	reply bool
}

// buildGRIM returns what makes a program on hosts at a switch, an endpoint on each, for measurements.
func buildGRIM(p *grim.Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		topo, err := (fabric.Shape{Hosts: nodes}).Line(1)
		if err != nil {
			return nil, err
		}
		f, err := fabric.New(&k.Loop, topo, &p.Fabric)
		if err != nil {
			return nil, err
		}
		var all []*grimNode
		for i := range nodes {
			h, err := grim.NewHost(f, p, grim.Image{}, i)
			if err != nil {
				return nil, err
			}
			for to := range nodes {
				if err := h.SetRoute(to, []byte{fabric.RouteByte(to - i)}); err != nil {
					return nil, err
				}
			}
			n := &grimNode{End: amfamily.NewEnd(i, nodes, grim.MaxPayload, image)}
			if n.end, err = h.Open(0, grim.EndpointOptions{}); err == nil {
				err = n.register(len(image))
			}
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		for _, n := range all {
			n.nodes = all
		}
		return amfamily.Nodes(all), nil
	}
}

// register gives the image's handlers their names. Each endpoint is its own server: their lists are equal.
func (n *grimNode) register(handlers int) (err error) {
	n.end.SetServer(n.end.ID())
	name := func(kind, i int) string { return fmt.Sprint([]string{"request ", "reply "}[kind], i) }
	for kind := range n.handlers {
		for i := range handlers {
			if err := n.end.Register(name(kind, i), func(_ *grim.Endpoint, m *grim.Message) { n.come(kind == 1, i, m) }); err != nil {
				return err
			}
		}
	}
	if e := n.end.Synchronize(func(got error) { err = got }); e != nil {
		return e
	}
	for kind := range n.handlers {
		for i := range handlers {
			id, _ := n.end.Lookup(name(kind, i))
			n.handlers[kind] = append(n.handlers[kind], id)
		}
	}
	return err
}

// come is GRIM's handler: the message waits until the process polls, which it does all the time.
func (n *grimNode) come(reply bool, handler int, m *grim.Message) {
	for from, other := range n.nodes {
		if other.end.ID() == m.Source {
			n.came = append(n.came, grimCame{amfamily.Message{From: from, Handler: handler, Args: m.Args, Data: append([]byte(nil), m.Payload...)}, reply})
		}
	}
	n.Proc().Arrive()
}

// send sends a message, and lets the processor's time for it pass.
func (n *grimNode) send(kind, to, handler int, args [amfamily.Args]uint32, data []byte) error {
	p := n.Proc()
	p.Sync()
	if err := n.end.Send(n.nodes[to].end.ID(), n.handlers[kind][handler], args, data); err != nil {
		return err
	}
	n.work()
	return nil
}

// work lets the time pass that the endpoint's processor has been given to do.
func (n *grimNode) work() {
	p := n.Proc()
	p.Charge(n.end.Free() - p.Now())
	p.Sync()
}

// Request implements amfamily.Node. What finds the channel's queue full waits in the overflow queue.
func (n *grimNode) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := n.CheckRequest(to, handler, len(data)); err != nil {
		return err
	}
	return n.send(0, to, handler, args, data)
}

// Reply implements amfamily.Node.
func (n *grimNode) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := n.CheckReply(m, handler, len(data)); err != nil {
		return err
	}
	return n.send(1, m.From, handler, args, data)
}

// Poll implements amfamily.Node.
func (n *grimNode) Poll() (served int, err error) {
	if err := n.CheckPoll(); err != nil {
		return 0, err
	}
	n.Proc().Sync()
	for len(n.came) > 0 {
		m := n.came[0]
		n.came = n.came[1:]
		n.work()
		if m.reply {
			n.Settle(n, &m.Message)
		} else {
			n.Serve(n, &m.Message)
		}
		served++
	}
	return served, nil
}
