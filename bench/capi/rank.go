package capi

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

const verb = "capi"

// The handlers of client/client.c.
const (
	onPing core.HandlerIndex = 200 + iota
	onPong
	onSink
	onOrder
)

// RankMain returns unless this process was started as a rank of the program in Go.
func RankMain() { runner.RankMain(verb, runRank) }

// rank is client/client.c in Go.
type rank struct {
	*extended.Endpoint
	op                      string
	answers, expected, came int
	ordered, over           bool
	word                    [8]byte
}

func runRank(p *runner.Plan, job *core.Job) error {
	if err := (&runner.Rank{Plan: p, Job: job}).Pin(); err != nil {
		return err
	}
	r := &rank{op: p.Ops[0]}
	var err error
	r.Endpoint, err = extended.Attach(job, core.AttachSpec{Segment: "65536", Handlers: []core.HandlerEntry{
		{Index: onPing, Func: func(t *core.Token, _ []uint32, _ []byte) {
			r.came++
			t.ReplyShort(onPong)
		}},
		{Index: onPong, Func: func(*core.Token, []uint32, []byte) { r.answers++ }},
		{Index: onSink, Func: func(t *core.Token, _ []uint32, _ []byte) {
			if r.came++; r.came == r.expected {
				t.ReplyShort(onPong)
			}
		}},
		{Index: onOrder, Func: func(t *core.Token, args []uint32, _ []byte) {
			r.expected, r.came, r.ordered, r.over = int(args[0]), 0, true, args[0] == 0
			t.ReplyShort(onPong)
		}},
	}})
	if err == nil {
		err = r.barrier()
	}
	if err != nil {
		return err
	}
	if job.Rank() == 0 {
		return r.lead()
	}
	return r.follow()
}

func (r *rank) barrier() error { return r.World().Barrier(&r.Endpoint.Context) }

// lead answers the orders on standard input.
func (r *rank) lead() error {
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var n int
		if _, err := fmt.Sscanf(in.Text(), "run %d", &n); err != nil || n < 1 {
			return fmt.Errorf("bad order %q", in.Text())
		}
		if _, err := r.run(n/10 + 1); err != nil {
			return err
		}
		took, err := r.run(n)
		if err != nil {
			return err
		}
		fmt.Printf("ok go=%.3f\n", float64(took.Nanoseconds())/float64(n))
	}
	return r.order(0)
}

// order tells rank 1 how many operations there will be; 0 is the end.
func (r *rank) order(n int) error {
	want := r.answers + 1
	if err := r.RequestShort(1, onOrder, uint32(n)); err != nil {
		return err
	}
	return r.WaitUntil(func() bool { return r.answers >= want })
}

// run does n operations and returns what they took.
func (r *rank) run(n int) (time.Duration, error) {
	if err := r.order(n); err != nil {
		return 0, err
	}
	start := time.Now()
	err := r.do(n)
	return time.Since(start), err
}

func (r *rank) do(n int) (err error) {
	switch r.op {
	case PingPong:
		for i := 0; i < n && err == nil; i++ {
			want := r.answers + 1
			if err = r.RequestShort(1, onPing); err == nil {
				err = r.WaitUntil(func() bool { return r.answers >= want })
			}
		}
	case Flood:
		want := r.answers + 1
		for i := 0; i < n && err == nil; i++ {
			err = r.RequestShort(1, onSink)
		}
		if err == nil {
			err = r.WaitUntil(func() bool { return r.answers >= want })
		}
	case Poll:
		for i := 0; i < n && err == nil; i++ {
			err = r.Poll()
		}
	case Put:
		for i := 0; i < n && err == nil; i++ {
			binary.NativeEndian.PutUint64(r.word[:], uint64(i))
			err = r.Put(1, 0, r.word[:])
		}
	case Get:
		for i := 0; i < n && err == nil; i++ {
			err = r.Get(r.word[:], 1, 0)
		}
	case Barrier:
		err = r.barriers(n)
	}
	return err
}

func (r *rank) barriers(n int) (err error) {
	for i := 0; i < n && err == nil; i++ {
		err = r.barrier()
	}
	return err
}

// follow is rank 1's part.
func (r *rank) follow() error {
	for !r.over {
		err := r.WaitUntil(func() bool { return r.ordered })
		if err != nil {
			return err
		}
		r.ordered = false
		switch r.op {
		case PingPong, Flood:
			err = r.WaitUntil(func() bool { return r.came >= r.expected })
		case Barrier:
			err = r.barriers(r.expected)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
