// Package pmi brings ranks together whose launcher speaks the Process Management Interface, PMI: mpiexec of MPICH and of what
// comes from it (Hydra), Slurm's srun --mpi=pmi2, and Flux. They need no aqrun.
//
// # Protocol
//
// A launcher gives each process a stream socket, whose descriptor is in PMI_FD, its rank in PMI_RANK and the number of ranks in
// PMI_SIZE. This package speaks version 1.1: lines of at most 1024 bytes, cmd=NAME and key=value, a reply to each
// (MPICH, src/pmi/maint/pmi-1.1.txt). Launchers that speak PMI-2 speak that as well, since a process chooses the version
// by its first line, which is one of PMI-1 in either: Slurm's plugin pmi2 does (pmi1.c of it), as does Hydra.
//
// # Calls
//
// Exchange puts what each rank gives into the launcher's store of keys and values, enters the launcher's barrier, and gets
// what the others gave. It is encoded in base64 and cut into pieces, since values are text of limited length; the number of the
// Exchange is part of the keys, since a key has a value once. So an Exchange costs each rank a line for every 700 bytes
// of all contributions together. Values stay with the launcher until the job ends.
//
// Ranks share a host if they have the same spawner.HostIdentity. The lowest of a host opens a spawner.Gathering, whose address
// it gives to the others by the store. The connections to it carry the descriptors of ShareFD, and are how ranks of a host
// hear of the end of one.
//
// # How the job ends
//
// Abort prints the reason. A rank that has called it leaves by Exit, which asks the launcher to end the job with the
// status: the launcher, not a connection, tells the others, by a signal. Under Slurm srun would exit with 137 then, whatever the
// status. So there Abort also tells the ranks of the host, whose Done yields it, and the launcher is asked only if the job has
// several hosts.
//
// If a rank dies, Hydra ends all others. Slurm does not, unless srun has --kill-on-bad-exit. So when a connection within a
// host ends that nobody has closed, and the launcher has not ended this process a second later, it ends the job. A rank
// that is alone on its host is missed by none: srun --kill-on-bad-exit is for that.
package pmi
