package libmpi

import "sync/atomic"

// beside is set once the program has said that it calls MPI itself.
var beside atomic.Bool

// Beside says that the program calls MPI itself while a job runs. It is called before the job begins, and has
// this package initialise MPI with MPI_THREAD_MULTIPLE, so that calls of both may overlap. Otherwise
// this package asks for MPI_THREAD_SERIALIZED, which spares every call the library's locks, and the
// program may not call MPI.
//
// A program that is linked with an MPI library, or has opened one with RTLD_GLOBAL before the job begins,
// need not say so. Nor need one that initialises MPI itself: the level is then the program's choice.
func Beside() { beside.Store(true) }
