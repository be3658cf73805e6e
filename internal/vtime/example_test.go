package vtime_test

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// inbox is where messages for a rank arrive.
type inbox struct {
	rank     *vtime.Proc
	messages uint64
}

// Fire is the arrival of a message.
func (in *inbox) Fire(_, _ uint64) {
	in.messages++
	in.rank.Arrive()
}

// receive waits for the n-th message; a look at the inbox takes 20 ns.
func (in *inbox) receive(n uint64) {
	p := in.rank
	for {
		seen, start := p.Arrivals, p.Now()
		p.Sync()
		found := in.messages >= n
		p.Charge(20 * vtime.Nanosecond)
		if found {
			return
		}
		if p.Arrivals == seen {
			p.Park(p.Now() - start)
		}
	}
}

// Two ranks, 1.5 µs apart, exchange a message and its answer.
func Example() {
	const latency = 1500 * vtime.Nanosecond
	k := vtime.New(1)
	var ping, pong inbox
	ping.rank = k.Spawn("ping", func(p *vtime.Proc) {
		k.At(p.Now()+latency, &pong, 0, 0)
		ping.receive(1)
		fmt.Println("answered after", p.Now())
	})
	pong.rank = k.Spawn("pong", func(p *vtime.Proc) {
		pong.receive(1)
		fmt.Println("received after", p.Now())
		k.At(p.Now()+latency, &ping, 0, 0)
		p.SetWaiting("a second message")
		pong.receive(2)
	})
	fmt.Println(k.Run())
	// Output:
	// received after 1.52µs
	// answered after 3.04µs
	// vtime: deadlock at 3.04µs: nothing is left to happen, but procs wait (1):
	//   pong waits for a second message since 1.54µs
}
