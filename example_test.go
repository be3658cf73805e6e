package aqueduct_test

import (
	"fmt"
	"log"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// A program hands its function to Run. The options say how the job runs when no launcher does: here as four goroutines.
func ExampleRun() {
	aqueduct.Run(func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			fmt.Println(job.Size(), "ranks")
		}
		return ep.Barrier()
	}, aqueduct.Goroutines(4))
	// Output: 4 ranks
}

// In virtual time: what a message takes on a cluster of 2003, in every run, to the picosecond.
func ExampleLaunch_model() {
	err := aqueduct.Launch(func(job *core.Job) error {
		const onPing, onPong = core.ClientHandlers, core.ClientHandlers + 1
		var back int
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onPing, Func: func(t *core.Token, _ []uint32, _ []byte) {
				if err := t.ReplyShort(onPong); err != nil {
					panic(err)
				}
			}},
			{Index: onPong, Func: func(*core.Token, []uint32, []byte) { back++ }},
		}})
		if err != nil || job.Rank() != 0 {
			return err
		}
		var start core.Time
		for trip := range 2 { // the first one connects
			start = job.Now()
			if err := ep.RequestShort(1, onPing); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return back > trip }); err != nil {
				return err
			}
		}
		fmt.Println("there and back in", job.Now()-start)
		return nil
	}, aqueduct.Model("sci/d339", 2))
	if err != nil {
		log.Fatal(err)
	}
	// Output: there and back in 9.98304µs
}

// Launch returns what ended the job. One rank's error ends the waits of all.
func ExampleLaunch_failure() {
	err := aqueduct.Launch(func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			return &core.ExitError{Status: 3, Reason: "no such file"}
		}
		return ep.Barrier()
	}, aqueduct.Model("loopback", 3))
	fmt.Println(core.StatusOf(err), err)
	// Output: 3 no such file
}
