package amfamily

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A Build makes the nodes of a program on a machine, to be measured.
type Build func(k *vtime.Kernel, nodes int, image Image) ([]Node, error)

// Nodes returns nodes of one layer as those of any.
func Nodes[N Node](nodes []N) (all []Node) {
	for _, n := range nodes {
		all = append(all, n)
	}
	return all
}

// Measured is what a measurement has come to.
type Measured struct {
	Time   vtime.Time // of one message, or of one round trip
	Counts [2]Counts  // of both nodes, of the whole run
	Sent   int        // requests of the whole run
}

// payload returns the data of a message whose payload, arguments included, has so many bytes.
func payload(size int) []byte { return make([]byte, max(0, size-ArgBytes)) }

// pause is what passes between two round trips at most. Round trips without pauses fall into step with a token, or with
// the polls of the other node, and all of them then wait for it as long as the first.
const pause = 100 * vtime.Microsecond

// RoundTrip measures the mean round trip between two nodes of a message, and of a reply, of so many bytes of payload. The
// arguments are part of a payload, so that it has ArgBytes at least. A first round trip does not count,
// nor do pauses of random length before each.
func RoundTrip(build Build, seed uint64, size, trips int) (*Measured, error) {
	if size < 0 || trips < 1 {
		return nil, fmt.Errorf("amfamily: %d round trips of %d bytes", trips, size)
	}
	const echo, back = 0, 1
	data, came := payload(size), 0
	image := Image{
		echo: func(n Node, m *Message) {
			if err := n.Reply(m, back, m.Args, m.Data); err != nil {
				panic(err)
			}
		},
		back: func(Node, *Message) { came++ },
	}
	return run(build, seed, image, func(n Node, m *Measured) error {
		if n.ID() != 0 {
			return nil
		}
		pauses := n.Proc().Kernel().Rand("amfamily.pauses")
		for i := range trips + 1 {
			n.Proc().Charge(vtime.Time(pauses.Int64N(int64(pause))))
			begin := n.Proc().Now()
			m.Sent++
			if err := n.Request(1, echo, [Args]uint32{uint32(i)}, data); err != nil {
				return err
			}
			if err := Wait(n, "a reply", func() bool { return came == i+1 }); err != nil {
				return err
			}
			if i > 0 {
				m.Time += (n.Proc().Now() - begin) / vtime.Time(trips)
			}
		}
		return nil
	})
}

// Stream measures the mean time from the arrival of one message at a node to that of the next: node 0 sends node 1
// messages of so many bytes of data as fast as the layer takes them, and their handlers do not reply. Messages before and
// after those do not count, as buffers fill and empty then.
func Stream(build Build, seed uint64, size, messages int) (*Measured, error) {
	const warm, cool = 16, 64
	if size < 0 || messages < 1 {
		return nil, fmt.Errorf("amfamily: a stream of %d messages of %d bytes", messages, size)
	}
	came := 0
	var first, last vtime.Time
	image := Image{func(n Node, _ *Message) {
		switch came++; came {
		case warm:
			first = n.Proc().Now()
		case warm + messages:
			last = n.Proc().Now()
		}
	}}
	data := make([]byte, size)
	m, err := run(build, seed, image, func(n Node, m *Measured) error {
		if n.ID() == 1 {
			return Wait(n, "the stream", func() bool { return came == warm+messages+cool })
		}
		for range warm + messages + cool {
			m.Sent++
			if err := n.Request(1, 0, [Args]uint32{}, data); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		m.Time = (last - first) / vtime.Time(messages)
	}
	return m, err
}

// run runs body on two nodes.
func run(build Build, seed uint64, image Image, body func(Node, *Measured) error) (*Measured, error) {
	k, m := vtime.New(seed), new(Measured)
	nodes, err := build(k, 2, image)
	if err == nil {
		err = Run(k, nodes, func(n Node) error { return body(n, m) })
	}
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		m.Counts[i] = n.Counts()
	}
	return m, nil
}

// Rate returns the MB/s of a stream of messages with so many bytes each.
func (m *Measured) Rate(size int) float64 {
	return float64(size) / (float64(m.Time) / float64(vtime.Microsecond))
}
