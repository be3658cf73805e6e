// Package libmpi is the networks of the mpi conduit that are real: Open MPI and MPICH.
//
// A program is compiled against neither. When it runs it opens a shim: a shared object that was
// compiled with one library's mpicc (shim/aqmpi.c, scripts/mpi-shims.sh). The shim returns a table
// of functions, through which the program calls the library, with one crossing from Go to C per
// poll. The shim owns every constant and handle of MPI. The library is chosen when the job
// starts: it must be that of the launcher.
//
// The package has a second use. In a job that mpiexec has started, without a launcher of this
// project, the ranks find each other by MPI: Connect returns it as a core.Bootstrap.
//
// MPI is initialised by whoever comes first, the program or this package; who has initialised
// finalises. What the package sends travels on communicators of its own, so a program may use
// MPI beside it, if it says so by Beside, is linked with MPI, or initialises MPI itself: MPI calls of a
// process must not overlap unless MPI_THREAD_MULTIPLE is provided.
package libmpi
