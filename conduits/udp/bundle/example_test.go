package bundle_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/bundle"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// greetings is the tag of those who greet each other.
const greetings am2.Tag = 4711

// program is the end of a program that others can greet.
type program struct {
	bundle   *bundle.Bundle
	endpoint *am2.Endpoint
	heard    int
}

// begin opens a bundle with one endpoint.
func begin(keyFile string) *program {
	key, err := seal.ReadKey(keyFile)
	if err != nil {
		log.Fatal(err)
	}
	p := new(program)
	if p.bundle, err = bundle.Open(bundle.DefaultOptions(key)); err != nil {
		log.Fatal(err)
	}
	if p.endpoint, err = p.bundle.NewEndpoint(0, greetings, 1, p); err != nil {
		log.Fatal(err)
	}
	return p
}

// Arrived greets back whoever has sent a request.
func (p *program) Arrived(m *am2.Message) (replied bool) {
	fmt.Printf("%s, %d\n", m.Data, m.Args[0])
	p.heard++
	if m.Reply {
		return false
	}
	answer := "hello, client"
	op := am2.Op{Kind: am2.Medium, NArgs: 1, Len: len(answer)}
	if r := p.endpoint.ReserveReply(&op); r != am2.Reserved {
		log.Fatal(r)
	}
	op.Args[0] = m.Args[0] + 1
	copy(op.Data, answer)
	p.endpoint.CommitReply(&op)
	return true
}

func (p *program) Place(*am2.Message) []byte                  { return nil } // no Longs here
func (p *program) Returned(_ *am2.Message, reason am2.Reason) { log.Fatal(reason) }
func (p *program) Lost(_ *am2.Message, reason am2.Reason)     { log.Fatal(reason) }

// Two programs have a key file, and one has been told the other's name. They would be two
// processes; here they take turns in one.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keyFile := filepath.Join(dir, "key")
	if err := seal.WriteKey(keyFile); err != nil { // once, for all programs
		log.Fatal(err)
	}

	server, client := begin(keyFile), begin(keyFile)
	text := server.bundle.Name(0).String() // such as 127.0.0.1:41022#0.3137225187

	name, err := am2.ParseName(text)
	if err != nil {
		log.Fatal(err)
	}
	if err := client.endpoint.Map(0, name, greetings); err != nil {
		log.Fatal(err)
	}
	hello := "hello, server"
	op := am2.Op{Index: 0, Kind: am2.Medium, NArgs: 1, Len: len(hello)}
	if r := client.endpoint.Reserve(&op); r != am2.Reserved {
		log.Fatal(r)
	}
	op.Args[0] = 1
	copy(op.Data, hello)
	client.endpoint.Commit(&op)

	for server.heard == 0 {
		server.bundle.Wait(am2.Never)
		server.bundle.Poll(16)
	}
	for client.heard == 0 {
		client.bundle.Wait(am2.Never)
		client.bundle.Poll(16)
	}
	if err := client.bundle.Close(); err != nil {
		log.Fatal(err)
	}
	if err := server.bundle.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// hello, server, 1
	// hello, client, 2
}
