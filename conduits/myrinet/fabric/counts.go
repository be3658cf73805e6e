package fabric

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Counts says what has become of packets. Those that were damaged are counted where that happened, and again
// where they ended. A packet that was lost, or cut off within its route, is counted once.
type Counts struct {
	Delivered uint64 // came to a NIC with a good CRC
	BadCRC    uint64 // came to a NIC, corrupt or truncated
	Absorbed  uint64 // came to a host without a NIC
	NoRoute   uint64 // had no route byte where one was due
	NoPort    uint64 // asked for a port that there is not, or that has no cable
	Expired   uint64 // waited longer than the time limit, or were stopped for twice as long
	Lost      uint64 // on a cable, by chance or plan
	Cut       uint64 // on a cable, by chance or plan
	Corrupted uint64 // on a cable, by chance or plan
	Failed    uint64 // were where a link or a switch failed
}

func (n *Counts) verdict(v Verdict) {
	if v == Good {
		n.Delivered++
	} else {
		n.BadCRC++
	}
}

// Counts returns what has become of packets so far.
func (f *Fabric) Counts() Counts { return f.counts }

// Traffic is what a channel has done.
type Traffic struct {
	From, To End
	Packets  uint64
	Bytes    int64      // CRC bytes included, and what was planned to be sent of a packet under way
	Busy     vtime.Time // what the bytes take at the link's rate
	Held     vtime.Time // STOP was in force, a packet being there or not
	Waited   vtime.Time // of all packets together, before they were given the channel
	Longest  vtime.Time // that a packet waited so
	Stops    uint64     // STOPs that the buffer at the end has sent
}

// stats is what becomes the Traffic of a channel.
type stats struct {
	packets, stops uint64
	bytes          int64
	waited, held   vtime.Time
	longest        vtime.Time // wait
	heldSince      vtime.Time // if it is held
}

// wait counts the time that a packet has waited.
func (s *stats) wait(d vtime.Time) {
	s.waited += d
	s.longest = max(s.longest, d)
}

// traffic returns what a channel has done until now.
func (c *channel) traffic() Traffic {
	now := c.f.loop.Now()
	c.settle(now)
	c.review(now)
	s := &c.stats
	l := Traffic{From: c.ends[0], To: c.ends[1], Packets: s.packets, Bytes: s.bytes, Busy: vtime.Time(s.bytes) * c.period, Held: s.held, Waited: s.waited, Longest: s.longest, Stops: s.stops}
	if c.held {
		l.Held += now - s.heldSince
	}
	return l
}

// Traffic returns what the channels have done until now: of link i, in the direction from its first end, the one at
// 2*i, and in the other that at 2*i+1.
func (f *Fabric) Traffic() []Traffic {
	all := make([]Traffic, len(f.channels))
	for i, c := range f.channels {
		all[i] = c.traffic()
	}
	return all
}

// Wait is a packet that waits in a switch, with its head.
type Wait struct {
	At    End  // the input port
	For   End  // the output port
	Owner End  // the input port, or the host, whose packet has that output
	Owned bool // false: nobody has it
	Since vtime.Time
}

// Waits returns all packets that wait for an output. In a fabric in which nothing more happens, they are packets of a deadlock,
// or stuck behind one. Packets that have outputs and are stopped are not among them, and may be in a deadlock of their own, which
// InFlight shows.
func (f *Fabric) Waits() (all []Wait) {
	for _, c := range f.channels {
		if c.port != nil || c.first == nil || c.first.state != waiting {
			continue
		}
		out := c.output(c.first)
		w := Wait{At: c.ends[1], For: out.ends[0], Since: c.since}
		if out.busy && out.near != nil {
			w.Owner, w.Owned = out.near.ends[1], true
		}
		all = append(all, w)
	}
	return all
}

// InFlight returns how many packets are in slack buffers, or on the way to one; a packet that reaches through several
// is counted in each.
func (f *Fabric) InFlight() (n int) {
	now := f.loop.Now()
	for _, c := range f.channels {
		c.tidy(now)
		for w := c.first; w != nil; w = w.next {
			if !w.ghost {
				n++
			}
		}
	}
	return n
}
