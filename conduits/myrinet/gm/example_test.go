package gm_test

import (
	"fmt"
	"log"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Two hosts at a switch, whose cables lose one packet in three: messages arrive all the same, once and in order.
func Example() {
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		log.Fatal(err)
	}
	p.Fabric.Error.Lose = machine.Certain / 3
	pair, err := gm.NewPair(p, gm.Image{}, 1)
	if err != nil {
		log.Fatal(err)
	}

	// Host 1 receives at port 4, into two buffers for messages of up to 2^5 bytes.
	const class = 5
	var in *gm.Port
	in, err = pair.Hosts[1].Open(4, func(m *gm.Message) {
		fmt.Printf("node %d port %d says %q\n", m.From, m.FromPort, m.Data)
		if err := in.Provide(m.Memory, m.Offset, class, gm.Low); err != nil { // again
			log.Fatal(err)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	room := pair.Hosts[1].Register(make([]byte, 2<<class))
	for i := range 2 {
		if err := in.Provide(room, i<<class, class, gm.Low); err != nil {
			log.Fatal(err)
		}
	}

	// Host 0 sends three messages from port 2, of 17 to 32 bytes: of that size class.
	out, err := pair.Hosts[0].Open(2, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		text := fmt.Appendf(nil, "message %d over bad cables", i)
		memory := pair.Hosts[0].Register(text)
		if err := out.Send(memory, 0, len(text), gm.Low, pair.Hosts[1].ID(), in.Number(), func(err error) {
			fmt.Printf("message %d: %v\n", i, err)
		}); err != nil {
			log.Fatal(err)
		}
	}
	pair.RunUntil(vtime.Second)
	fmt.Println("sent again:", pair.Hosts[0].Counts().Resent > 0)
	// Output:
	// node 0 port 2 says "message 0 over bad cables"
	// node 0 port 2 says "message 1 over bad cables"
	// message 0: <nil>
	// message 1: <nil>
	// node 0 port 2 says "message 2 over bad cables"
	// message 2: <nil>
	// sent again: true
}
