package grim_test

import (
	"fmt"
	"log"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Two hosts at a switch. The receiver has room for two messages at a time, and takes its time over each: the others are refused, and sent
// again until they are taken.
func Example() {
	p, err := grim.Load("grim-lanai9")
	if err != nil {
		log.Fatal(err)
	}
	p.GRIM.Receive = 100
	cluster, err := grim.NewStar(p, grim.Image{}, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	ends, err := cluster.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{
		"print": func(e *grim.Endpoint, m *grim.Message) {
			fmt.Printf("message %d from endpoint %d: %s\n", m.Args[0], m.Source, m.Payload)
			e.Compute(20 * vtime.Microsecond)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	from, to := ends[0][0], ends[1][0]
	print, _ := from.Lookup("print")
	for i := range 4 {
		if err := from.Send(to.ID(), print, [4]uint32{uint32(i)}, []byte("in order, and once")); err != nil {
			log.Fatal(err)
		}
	}
	if err := cluster.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("refused:", cluster.Hosts[1].Counts().Refused > 0)
	// Output:
	// message 0 from endpoint 0: in order, and once
	// message 1 from endpoint 0: in order, and once
	// message 2 from endpoint 0: in order, and once
	// message 3 from endpoint 0: in order, and once
	// refused: true
}

// A host registers memory, and the program of another one writes it, though nobody polls there. The key would travel in a message.
func ExampleEndpoint_Write() {
	p, err := grim.Load("grim-lanai9")
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := grim.NewStar(p, grim.Image{}, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	ends, err := cluster.OpenAll(1, grim.EndpointOptions{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	from, to := ends[0][0], ends[1][0]
	to.Attend(false)
	memory, err := to.RegisterMemory([]byte("................"), grim.Pinned)
	if err != nil {
		log.Fatal(err)
	}
	for _, offset := range []uint64{4, 12} {
		at := grim.Remote{Key: memory.Key(), Offset: offset}
		if err := from.Write(to.ID(), at, []byte("written"), grim.RMOptions{Done: func(err error) { fmt.Printf("%s: %v\n", memory.Bytes(), err) }}); err != nil {
			log.Fatal(err)
		}
	}
	if err := cluster.Run(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ....written.....: <nil>
	// ....written.....: grim: the memory is not registered
}
