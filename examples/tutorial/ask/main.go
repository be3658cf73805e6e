// Ask is the second step of the tutorial (docs/tutorial.md): active messages. Rank 0 asks every
// rank for the square of its number.
//
//	aqrun -n 4 ask
package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

const (
	onAsk    core.HandlerIndex = core.ClientHandlers + iota // request: a number
	onAnswer                                                // reply: its square
)

func main() { aqueduct.Run(ask) }

func ask(job *core.Job) error {
	var answers int
	var sum uint32
	ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onAsk, Name: "ask", Func: func(t *core.Token, args []uint32, _ []byte) {
			if err := t.ReplyShort(onAnswer, args[0]*args[0]); err != nil {
				panic(err)
			}
		}},
		{Index: onAnswer, Name: "answer", Func: func(_ *core.Token, args []uint32, _ []byte) {
			answers, sum = answers+1, sum+args[0]
		}},
	}})
	if err != nil || job.Rank() != 0 {
		return err // the other ranks answer inside the final barrier
	}
	for r := range job.Size() {
		if err := ep.RequestShort(core.Rank(r), onAsk, uint32(r)); err != nil {
			return err
		}
	}
	if err := ep.WaitUntil(func() bool { return answers >= job.Size() }); err != nil {
		return err
	}
	_, err = fmt.Printf("the squares of %d ranks add up to %d\n", job.Size(), sum)
	return err
}
