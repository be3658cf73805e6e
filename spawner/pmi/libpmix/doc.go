// Package libpmix calls the client library of PMIx, the Process Management Interface for Exascale, by which Open MPI's mpiexec,
// PRRTE's prterun and srun --mpi=pmix bring processes together. What a process and its launcher say to each other is
// private to that library. So it is opened when a program runs (libpmix.so.2, of OpenPMIx 3 or newer) and never linked: programs are built
// without its headers, and run without it under other launchers.
//
// Only the least of it is called: a store of keys and values, a fence, and the end of the job.
package libpmix
