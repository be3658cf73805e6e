// Hello is the first step of the tutorial (docs/tutorial.md): a job.
//
//	aqrun -n 4 hello
package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func main() { aqueduct.Run(hello) }

// hello is what every rank does.
func hello(job *core.Job) error {
	if _, err := job.Attach(core.AttachSpec{}); err != nil {
		return err
	}
	_, err := fmt.Printf("hello from rank %d of %d\n", job.Rank(), job.Size())
	return err
}
