// Mpimix uses Aqueduct and MPI in one program. Each rank sends the square of its number, counted from
// 1, to its right neighbour by an active message; then MPI_Allreduce sums what has arrived. Either
// may initialise MPI: Aqueduct when it attaches, or the program before that, which then also
// finalises it.
//
//	aqrun --mpi openmpi -n 4 mpimix
//	mpiexec -n 4 mpimix mpi-first
//
// What calls MPI is C, in shim/mix.c, compiled for the library and opened when the program runs, so that
// the program is linked with no library.
//
// Aqueduct is told that the program calls MPI, too. MPI is initialised with MPI_THREAD_SERIALIZED at least. So the program calls it only where none of its
// goroutines is in a call of Aqueduct's, and lets all messages arrive first: a rank that is blocked in
// MPI serves nobody's.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/core"
)

const usage = "usage: mpimix [mpi-first]"

const onSquare core.HandlerIndex = 128

func main() {
	libmpi.Beside()
	if !slices.Equal(os.Args[1:], []string{"mpi-first"}) || !overMPI() {
		aqueduct.Run(mix) // which says what is wrong
		return
	}
	if err := begin(); err != nil {
		fmt.Fprintln(os.Stderr, "mpimix:", err)
		os.Exit(1)
	}
	aqueduct.Run(mix, aqueduct.Conduit("mpi")) // an end by failure does not return
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "mpimix:", err)
		os.Exit(1)
	}
}

func mix(job *core.Job) error {
	if slices.ContainsFunc(os.Args[1:], func(a string) bool { return a == "-h" || a == "--help" }) {
		if job.Rank() == 0 {
			fmt.Println(usage)
		}
		return nil
	}
	if args := os.Args[1:]; len(args) > 0 && !slices.Equal(args, []string{"mpi-first"}) {
		return &core.ExitError{Status: 2, Reason: usage}
	}
	if !overMPI() {
		return &core.ExitError{Status: 2, Reason: "mpimix runs over an MPI library: start it with aqrun --mpi, or mpiexec"}
	}
	return squares(job)
}

// squares is what the example is about.
func squares(job *core.Job) error {
	var arrived bool
	var value uint64
	ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{
		Index: onSquare, Name: "square",
		Func: func(_ *core.Token, args []uint32, _ []byte) { arrived, value = true, uint64(args[0]) },
	}}})
	if err != nil {
		return err
	}
	me, n := uint64(job.Rank()), uint64(job.Size())
	if err := ep.RequestShort(core.Rank((me+1)%n), onSquare, uint32((me+1)*(me+1))); err != nil {
		return err
	}
	if err := ep.WaitUntil(func() bool { return arrived }); err != nil {
		return err
	}
	// Nobody enters MPI while another rank still waits for a message of Aqueduct's.
	if err := ep.Barrier(); err != nil {
		return err
	}
	processes, err := sum(&value)
	if err != nil {
		return err
	}
	if want := n * (n + 1) * (2*n + 1) / 6; processes != int(n) || value != want {
		return fmt.Errorf("MPI sums %d over %d processes; want %d over %d", value, processes, want, n)
	}
	if me == 0 {
		_, err = fmt.Printf("%s\nAqueduct brought a square to each of %d ranks; MPI sums them to %d\n", libmpi.Describe(), n, value)
	}
	return err
}
