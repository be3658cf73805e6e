//go:build !cgo

package libmpi

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/core"
)

var errWithout = errors.New("this program was built without cgo, which calling an MPI library takes; build it with CGO_ENABLED=1 and a C compiler")

func (*family) probe() error { return errWithout }

func open(string, *mpi.Spec) (mpi.Transport, error) { return nil, errWithout }

// Connect joins the job of the mpiexec that has started this process; here it fails.
func Connect() (core.Bootstrap, error) { return nil, errWithout }

// Hold has MPI stay initialised when a job ends; here there is none.
func Hold() (release func() error) { return func() error { return nil } }

// Describe says what MPI this process uses: here none, "".
func Describe() string { return "" }
