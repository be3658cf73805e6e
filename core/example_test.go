package core_test

import (
	"fmt"
	"log"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	"github.com/aqueduct-go/aqueduct/core"
)

// job runs a program on three ranks that are goroutines. A program of its own has aqueduct.Run instead.
func job(body func(*core.Job) error) {
	if err := core.RunGoroutines(3, core.Config{Conduit: "loopback"}, body); err != nil {
		log.Fatal(err)
	}
}

// Rank 0 sends every rank a number, whose handler replies with its square.
func ExampleContext_RequestShort() {
	job(func(job *core.Job) error {
		const onAsk, onAnswer = core.ClientHandlers, core.ClientHandlers + 1
		var answers int
		var sum uint32
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onAsk, Func: func(t *core.Token, args []uint32, _ []byte) {
				if err := t.ReplyShort(onAnswer, args[0]*args[0]); err != nil {
					panic(err)
				}
			}},
			{Index: onAnswer, Func: func(_ *core.Token, args []uint32, _ []byte) {
				answers, sum = answers+1, sum+args[0]
			}},
		}})
		if err != nil || job.Rank() != 0 {
			return err // the others answer inside the final barrier
		}
		for r := range job.Size() {
			if err := ep.RequestShort(core.Rank(r), onAsk, uint32(r)); err != nil {
				return err
			}
		}
		if err := ep.WaitUntil(func() bool { return answers >= job.Size() }); err != nil {
			return err
		}
		fmt.Println("the squares add up to", sum)
		return nil
	})
	// Output: the squares add up to 5
}

// A Long puts its payload into the segment of its destination before the handler runs.
func ExampleContext_RequestLong() {
	job(func(job *core.Job) error {
		const onText = core.ClientHandlers
		var text string
		ep, err := job.Attach(core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{{
			Index: onText, Name: "text", Flags: core.AllowLong | core.AllowRequest,
			Func: func(t *core.Token, _ []uint32, data []byte) {
				text = fmt.Sprintf("%q at %d from rank %d", data, t.Offset(), t.Src())
			},
		}}})
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			return ep.RequestLong(0, onText, []byte("water"), 4096)
		}
		if job.Rank() != 0 {
			return nil
		}
		if err := ep.WaitUntil(func() bool { return text != "" }); err != nil {
			return err
		}
		fmt.Println(text)
		return nil
	})
	// Output: "water" at 4096 from rank 1
}

// The caller learns how much one message carries, and builds the payload where it leaves from.
func ExampleContext_Prepare() {
	job(func(job *core.Job) error {
		const onLine = core.ClientHandlers
		var line string
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{
			Index: onLine, Func: func(_ *core.Token, _ []uint32, data []byte) { line = string(data) },
		}}})
		if err != nil || job.Rank() > 1 {
			return err
		}
		if job.Rank() == 1 {
			buf, err := ep.Prepare(0, core.Offer{Kind: core.Medium, Least: 8, Most: 64})
			if err != nil {
				return err
			}
			return ep.Commit(onLine, copy(buf, "a line"))
		}
		if err := ep.WaitUntil(func() bool { return line != "" }); err != nil {
			return err
		}
		fmt.Println(line)
		return nil
	})
	// Output: a line
}
