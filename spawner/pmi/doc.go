// Package pmi brings ranks together whose launcher speaks the Process Management Interface, in one of two forms. PMI is spoken by mpiexec
// of MPICH and of what comes from it (Hydra), Slurm's srun --mpi=pmi2, and Flux; PMIx by mpiexec of Open MPI, PRRTE's prterun,
// and srun --mpi=pmix. The ranks need no aqrun.
//
// # Protocols
//
// A launcher that speaks PMI gives each process a stream socket, whose descriptor is in PMI_FD, its rank in PMI_RANK and the number of ranks in
// PMI_SIZE. This package speaks version 1.1: lines of at most 1024 bytes, cmd=NAME and key=value, a reply to each
// (MPICH, src/pmi/maint/pmi-1.1.txt). Launchers that speak PMI-2 speak that as well, since a process chooses the version
// by its first line, which is one of PMI-1 in either: Slurm's plugin pmi2 does (pmi1.c of it), as does Hydra.
//
// One that speaks PMIx gives each process PMIX_NAMESPACE and PMIX_RANK. How it is spoken to is known to the library of PMIx
// alone, which package libpmix opens.
//
// # Calls
//
// Either launcher is a store of keys and values and a barrier. In it ranks find out who shares a host: rank 0 reads what all say
// of theirs, and tells all. The lowest rank of a host opens a socket, whose address it gives to the others by the
// store. The connections to it carry what ranks of a host give to an Exchange, the descriptors of ShareFD, and how
// ranks of a host hear of the end of one.
//
// So the launcher has no part in an Exchange or a Barrier of a job on one host. In one on several, the lowest rank of
// each publishes what those of its host give, all enter the launcher's barrier, and the lowest get what the others' hosts gave. By PMI it is encoded in base64
// and cut into pieces, since values are text of limited length; the number of the round is part of the keys, since a key has
// a value once. That costs a lowest rank a line for every 700 bytes of all contributions together. Values stay with the launcher until the
// job ends.
//
// Ranks share a host if they have the same shm.HostIdentity.
//
// # How the job ends
//
// Abort prints the reason. A rank that has called it leaves by Exit, which asks the launcher to end the job with the
// status: the launcher, not a connection, tells the others, by a signal. Under Slurm srun would exit with 137 then, whatever the
// status. So there Abort also tells the ranks of the host, whose Done yields it, and the launcher is asked only if the job has
// several hosts.
//
// If a rank dies, Hydra and Open MPI end all others. Slurm does not, unless srun has --kill-on-bad-exit. So when a connection within a
// host ends that nobody has closed, and the launcher has not ended this process a second later, it ends the job. A rank
// that is alone on its host is missed by none: srun --kill-on-bad-exit is for that.
//
// That a rank ends before it joins neither Hydra nor Slurm notices, whatever its status, and Open MPI only if that is not 0. The others wait for
// it as long as spawner.EnvStartTimeout says. Then they name it and fail.
package pmi
