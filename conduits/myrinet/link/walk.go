package link

import "github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"

// Outcome is what becomes of a packet on its way through the switches.
type Outcome uint8

// The outcomes.
const (
	Arrives Outcome = iota // it comes to a host
	NoRoute                // it has no route byte where one is due
	NoPort                 // it asks for a port that there is not, or that has no cable
	Ends                   // it ends within its route: it was cut off on a cable
)

var outcomes = [...]string{"arrives", "no route byte", "no port", "ends"}

// String returns the outcome in words.
func (o Outcome) String() string { return outcomes[o] }

// Walk has a packet of a host go through the switches of a topology, which Check accepts, by its route bytes. It returns the host where it
// comes to, and what of it arrives there, in the same memory. The host has a cable.
func Walk(t *fabric.Topology, host int, p fabric.Packet) (to int, rest fabric.Packet, what Outcome) {
	w := newCables(t).begin(host, p)
	for w.at.input() {
		if what = w.step(); what != Arrives {
			return 0, fabric.Packet{}, what
		}
	}
	return w.at.host(), p.Skip(w.hops), Arrives
}

// place is where the cable at some port leads: the number of an input port at a switch if it is not negative, the complement of a host's number, or
// nowhere.
type place int32

const nowhere place = -1 << 31

// input reports whether a place is at a switch.
func (p place) input() bool { return p >= 0 }

// host returns the host of a place that is at none of the switches.
func (p place) host() int { return int(^p) }

// cables says where each cable of a topology leads.
type cables struct {
	hosts []place // from each host
	ports []place // from each port of each switch; a switch has MaxPorts
}

func newCables(t *fabric.Topology) *cables {
	c := &cables{make([]place, len(t.Hosts)), make([]place, len(t.Switches)*fabric.MaxPorts)}
	for _, places := range [][]place{c.hosts, c.ports} {
		for i := range places {
			places[i] = nowhere
		}
	}
	for _, l := range t.Links {
		for i, e := range l.Ends {
			to := l.Ends[1-i]
			leads := place(to.Index*fabric.MaxPorts + to.Port)
			if to.Host {
				leads = ^place(to.Index)
			}
			if e.Host {
				c.hosts[e.Index] = leads
			} else {
				c.ports[e.Index*fabric.MaxPorts+e.Port] = leads
			}
		}
	}
	return c
}

// walk is a packet on its way.
type walk struct {
	cables *cables
	packet fabric.Packet // as it left its host
	at     place
	hops   int  // switches that it has come through; each has consumed a byte of the packet
	end    int  // bytes of the packet that are on their way, CRC byte included
	wrong  int  // the byte of the packet that has been changed, if any has
	mask   byte // what is changed of it; 0: none is
}

// begin puts a packet on the cable of its host.
func (c *cables) begin(host int, p fabric.Packet) walk {
	return walk{cables: c, packet: p, at: c.hosts[host], end: p.Len()}
}

// step has the switch where the packet is send it on.
func (w *walk) step() Outcome {
	first := w.packet.Skip(w.hops).First(1)
	if len(first) == 0 {
		return NoRoute
	}
	b := first[0]
	if w.wrong == w.hops {
		b ^= w.mask
	}
	delta, ok := fabric.RouteDelta(b)
	if !ok {
		return NoRoute
	}
	ports := int(w.at) &^ (fabric.MaxPorts - 1)
	port := int(w.at) - ports + delta
	if port < 0 || port >= fabric.MaxPorts || w.cables.ports[ports+port] == nowhere {
		return NoPort
	}
	if w.end-w.hops == 1 { // it was cut off behind the route byte
		return Ends
	}
	w.at = w.cables.ports[ports+port]
	w.hops++
	return Arrives
}
