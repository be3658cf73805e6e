package component_test

import (
	"fmt"
	"log"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Two nodes with a composition for cables that lose one packet in three: a mailbox gets each message, once and in order.
func Example() {
	type composition [component.Reliability | component.Credits]byte
	p, err := component.Load("epos-pci64a")
	if err != nil {
		log.Fatal(err)
	}
	p.Fabric.Error.Lose = machine.Certain / 3
	bed, err := component.NewBed[composition](p, component.Defaults(), 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	in, err := component.NewMailbox(bed.Nodes[1], 7, 8)
	if err != nil {
		log.Fatal(err)
	}
	out, err := component.NewLink(bed.Nodes[0], 7, 1)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		if err := out.Send(1, fmt.Appendf(nil, "message %d over bad cables", i), nil); err != nil {
			log.Fatal(err)
		}
	}
	bed.RunUntil(vtime.Second)
	for m, ok := in.Receive(); ok; m, ok = in.Receive() {
		fmt.Printf("node %d says %q\n", m.From, m.AppendTo(nil))
		m.Release()
	}
	fmt.Println("composition:", bed.Nodes[0].Protocols(), "- sent again:", bed.Nodes[0].Counts().Resent > 0)
	// Output:
	// node 0 says "message 0 over bad cables"
	// node 0 says "message 1 over bad cables"
	// node 0 says "message 2 over bad cables"
	// composition: Reliability+Credits - sent again: true
}
