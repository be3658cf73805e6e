// Ring passes a token around all ranks by active messages: each rank adds its number and
// sends the sum on, and rank 0 checks it when the token has come home.
//
//	aqrun -n 4 ring 1000
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

const onToken core.HandlerIndex = 128

const usage = "usage: ring [rounds], at least 1"

func main() { aqueduct.Run(ring) }

// rounds reads the command line. A mistake ends the job with status 2.
func rounds(args []string) (int, error) {
	if len(args) == 0 {
		return 3, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || len(args) > 1 {
		return 0, &core.ExitError{Status: 2, Reason: usage}
	}
	return n, nil
}

func ring(job *core.Job) error {
	if slices.ContainsFunc(os.Args[1:], func(a string) bool { return a == "-h" || a == "--help" }) {
		if job.Rank() == 0 {
			fmt.Println(usage)
		}
		return nil
	}
	rounds, err := rounds(os.Args[1:])
	if err != nil {
		return err
	}
	var arrived int // tokens that came here
	var sum uint32  // what the latest carried
	ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{
		Index: onToken, Name: "token",
		Func: func(_ *core.Token, args []uint32, _ []byte) { arrived, sum = arrived+1, args[0] },
	}}})
	if err != nil {
		return err
	}
	me, n := int(job.Rank()), job.Size()
	next := core.Rank((me + 1) % n)
	if _, err := fmt.Printf("hello from rank %d of %d\n", me, n); err != nil {
		return err
	}
	for round := 1; round <= rounds; round++ {
		if me == 0 {
			if err := ep.RequestShort(next, onToken, sum); err != nil {
				return err
			}
		}
		if err := ep.WaitUntil(func() bool { return arrived >= round }); err != nil {
			return err
		}
		if me != 0 {
			if err := ep.RequestShort(next, onToken, sum+uint32(me)); err != nil {
				return err
			}
		}
	}
	if me != 0 {
		return nil
	}
	if want := uint32(rounds * n * (n - 1) / 2); sum != want {
		return fmt.Errorf("the token carries %d after %d rounds; want %d", sum, rounds, want)
	}
	_, err = fmt.Printf("the token went round %d times and carries %d\n", rounds, sum)
	return err
}
