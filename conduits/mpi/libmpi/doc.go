// Package libmpi is the networks of the mpi conduit that are real: Open MPI and MPICH.
//
// A program is compiled against neither. It opens, when it runs, a shared object that was
// compiled with one library's mpicc (shim/aqmpi.c, scripts/mpi-shims.sh), and calls the library
// through the table of functions that this returns, with one crossing from Go to C per poll.
// The shim owns every constant and handle of MPI. Which library it is is chosen when the job
// starts: it must be that of the launcher.
//
// The package has a second use. In a job that mpiexec has started, and no launcher of this
// project, MPI is what the ranks find each other by: Connect returns it as a core.Bootstrap.
//
// MPI is initialised by whoever comes first, the program or this package; who has initialised
// finalises. What the package sends travels on communicators of its own, so a program may use
// MPI beside it, if it says so by Beside, is linked with MPI, or initialises MPI itself: MPI calls of a
// process must not overlap unless MPI_THREAD_MULTIPLE is provided.
package libmpi
